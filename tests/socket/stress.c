// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many connections at a time and one after the other. */
#include "harness.h"

#include <sys/epoll.h>

#define MANY 64
#define EACH 20000

/* ---- 64 connections served by one epoll loop -------------------------------- */

static void many_server(void)
{
	int l = new_listener(MANY), ep, open_conns = 0, seen = 0;
	struct epoll_event ev = { .events = EPOLLIN };
	static char buf[16384];

	set_nonblock(l, true);
	ep = expect_ok(epoll_create1(0));
	ev.data.fd = l;
	expect_ret(epoll_ctl(ep, EPOLL_CTL_ADD, l, &ev), 0);
	ctl_put("port", port_of(l));
	while (seen < MANY || open_conns) {
		struct epoll_event got[16];
		int i, n = expect_ok(epoll_wait(ep, got, 16, WAIT_MS));

		if (!n)
			fail("no event: %d of %d came, %d are open", seen,
			     MANY, open_conns);
		for (i = 0; i < n; i++) {
			int fd = got[i].data.fd;
			ssize_t r, s, o;

			if (fd == l) {
				fd = accept(l, NULL, NULL);
				if (fd < 0) {
					expect_eq(errno, EAGAIN);
					continue;
				}
				ev.data.fd = fd;
				expect_ret(epoll_ctl(ep, EPOLL_CTL_ADD, fd,
						     &ev), 0);
				seen++;
				open_conns++;
				continue;
			}
			r = expect_ok(recv(fd, buf, sizeof(buf), 0));
			if (!r) {
				close(fd);
				open_conns--;
				continue;
			}
			for (o = 0; o < r; o += s)
				s = expect_ok(send(fd, buf + o, r - o, 0));
		}
	}
	ctl_sync("done");
}

static void many_client(void)
{
	uint16_t port = ctl_get("port");
	int fd[MANY], i, k;

	for (i = 0; i < MANY; i++) {
		fd[i] = new_socket();
		expect_ret(connect_to(fd[i], env.addr, port), 0);
		pos[fd[i]].tx = pos[fd[i]].rx = i * 1000;
	}
	for (k = 0; k < 4; k++) {
		for (i = 0; i < MANY; i++)
			send_pat(fd[i], EACH / 4);
		for (i = MANY - 1; i >= 0; i--)
			recv_pat(fd[i], EACH / 4);
	}
	for (i = 0; i < MANY; i++) {
		shutdown(fd[i], SHUT_WR);
		expect_eof(fd[i]);
		close(fd[i]);
	}
	ctl_sync("done");
}

/* ---- one after the other ------------------------------------------------- */

#define CHURN 500

static void churn_server(void)
{
	int l = new_listener(16), i;
	char buf[200];

	ctl_put("port", port_of(l));
	for (i = 0; i < CHURN; i++) {
		int fd = expect_ok(accept(l, NULL, NULL));

		expect_ret(recv(fd, buf, 100, MSG_WAITALL), 100);
		pat_check(buf, i, 100);
		expect_ret(send(fd, buf, 100, 0), 100);
		/* who closes first alternates */
		if (i % 2)
			expect_eof(fd);
		close(fd);
	}
}

static void churn_client(void)
{
	uint16_t port = ctl_get("port");
	char buf[200];
	int i;

	for (i = 0; i < CHURN; i++) {
		int fd = new_socket();

		expect_ret(connect_to(fd, env.addr, port), 0);
		pat_fill(buf, i, 100);
		expect_ret(send(fd, buf, 100, 0), 100);
		expect_ret(recv(fd, buf, 100, MSG_WAITALL), 100);
		pat_check(buf, i, 100);
		if (!(i % 2))
			expect_eof(fd);
		close(fd);
	}
}

static void churn_nothing_sent(void)
{
	int l = new_listener(16), i;

	for (i = 0; i < 200; i++) {
		int c = new_socket(), s;

		expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
		s = expect_ok(accept(l, NULL, NULL));
		/* every order and manner of ending */
		if (i & 1)
			set_linger(c, 1, 0);
		if (i & 2)
			set_linger(s, 1, 0);
		close(i & 4 ? c : s);
		close(i & 4 ? s : c);
	}
}

static void churn_refused(void)
{
	uint16_t port = free_port();
	int i, fd = new_socket();

	for (i = 0; i < 200; i++) {
		expect_err(connect_to(fd, my_addr(), port), ECONNREFUSED);
		if (i % 10 == 0) {
			close(fd);
			fd = new_socket();
		}
	}
}

/* Closed before anything is known about the outcome. */
static void churn_hasty(void)
{
	int l = new_listener(64), i, n = 0;
	struct sockaddr_in sa = sa_make(my_addr(), port_of(l));

	set_nonblock(l, true);
	for (i = 0; i < 200; i++) {
		int c = new_socket_nb(), s;

		if (connect(c, (void *)&sa, sizeof(sa)))
			expect_eq(errno, EINPROGRESS);
		close(c);
		while ((s = accept(l, NULL, NULL)) >= 0) {
			n++;
			close(s);
		}
		expect_eq(errno, EAGAIN);
	}
	/* The listener still works. */
	i = new_socket();
	expect_ret(connect_to(i, my_addr(), port_of(l)), 0);
	send(i, "!", 1, 0);
	for (;;) {
		char ch = 0;
		int s;

		wait_bits(l, POLLIN);
		s = expect_ok(accept(l, NULL, NULL));
		if (recv(s, &ch, 1, 0) == 1) {
			expect_eq(ch, '!');
			break;
		}
		close(s);
	}
}

/* Both ends end each of many connections at the same time. */
static void simultaneous_server(void)
{
	int l = new_listener(MANY), fd[MANY], i;

	ctl_put("port", port_of(l));
	for (i = 0; i < MANY; i++)
		fd[i] = expect_ok(accept(l, NULL, NULL));
	ctl_sync("all up");
	for (i = 0; i < MANY; i++)
		close(fd[i]);
	ctl_sync("all down");
}

static void simultaneous_client(void)
{
	uint16_t port = ctl_get("port");
	int fd[MANY], i;

	for (i = 0; i < MANY; i++) {
		fd[i] = new_socket();
		expect_ret(connect_to(fd[i], env.addr, port), 0);
	}
	ctl_sync("all up");
	for (i = 0; i < MANY; i++)
		close(fd[i]);
	ctl_sync("all down");
}

/* The process ends with many connections open, some with data unread. */
static void mass_exit(void)
{
	int l = new_listener(MANY), s[32], i;
	uint16_t port = port_of(l);
	pid_t pid = expect_ok(fork());

	if (!pid) {
		for (i = 0; i < 32; i++) {
			int c = new_socket();

			expect_ret(connect_to(c, my_addr(), port), 0);
			if (i % 2)
				send(c, "abc", 3, 0);
		}
		for (;;)
			pause();
	}
	for (i = 0; i < 32; i++) {
		s[i] = expect_ok(accept(l, NULL, NULL));
		if (i % 3 == 0)
			send(s[i], "abc", 3, 0);
	}
	kill(pid, SIGKILL);
	expect_ret(waitpid(pid, NULL, 0), pid);
	for (i = 0; i < 32; i++) {
		char buf[10];
		ssize_t r;

		wait_bits(s[i], POLLRDHUP);
		while ((r = recv(s[i], buf, sizeof(buf), 0)) > 0)
			;
		if (r)
			expect_eq(errno, ECONNRESET);
		close(s[i]);
	}
}

/* Random lengths, random pauses of either side, both ways. */
static void random_server(void)
{
	int l = new_listener(1), fd;

	ctl_put("port", port_of(l));
	fd = expect_ok(accept(l, NULL, NULL));
	pos[fd] = (struct stream_pos){ 0 };
	srandom(7);
	while (pos[fd].rx < 1 << 20) {
		size_t n = 1 + random() % 9000;

		if (n > (1 << 20) - pos[fd].rx)
			n = (1 << 20) - pos[fd].rx;
		recv_pat(fd, n);
		send_pat(fd, n);
	}
	expect_eof(fd);
}

static void w_random_out(struct worker *w)
{
	unsigned int seed = 11;
	size_t left = 1 << 20;

	while (left) {
		size_t n = 1 + rand_r(&seed) % 20000;

		n = n < left ? n : left;
		send_pat(w->fd, n);
		left -= n;
	}
}

static void random_client(void)
{
	uint16_t port = ctl_get("port");
	int fd = new_socket();
	struct worker w = { .fd = fd };
	unsigned int seed = 13;
	size_t left = 1 << 20;

	expect_ret(connect_to(fd, env.addr, port), 0);
	pos[fd] = (struct stream_pos){ 0 };
	worker_start(&w, w_random_out);
	while (left) {
		size_t n = 1 + rand_r(&seed) % 30000;

		n = n < left ? n : left;
		recv_pat(fd, n);
		left -= n;
	}
	worker_join(&w);
	close(fd);
}

const struct test_case stress_cases[] = {
	{ "stress.many_connections", many_client, many_server, T_SLOW },
	{ "stress.churn", churn_client, churn_server, T_SLOW },
	{ "stress.churn_nothing_sent", churn_nothing_sent, NULL, T_SLOW },
	{ "stress.churn_refused", churn_refused, NULL, 0 },
	{ "stress.churn_hasty", churn_hasty, NULL, 0 },
	{ "stress.simultaneous_close", simultaneous_client,
	  simultaneous_server, 0 },
	{ "stress.mass_exit", mass_exit, NULL, 0 },
	{ "stress.random", random_client, random_server, 0 },
};
TABLE_END(stress);
