// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The RDMA device goes away under sockets in every state. Right: each call
 * returns with an error, poll() says ERR and HUP, the removal does not wait for
 * the users, and the listeners work again when the device is back.
 */
#include "lab.h"

#include <sys/epoll.h>

#define ROUNDS 10

static unsigned int seed;

/* The errors that the end of the device gives to a connection. */
static bool device_errno(int err)
{
	return err == ECONNRESET || err == ENETDOWN;
}

static void expect_device_error(const char *who, long ret, int err)
{
	if (ret != -1 || !device_errno(err))
		fail("%s: returned %ld, errno %d (%s)", who, ret, err,
		     strerror(err));
}

/* Soon, and without a call on the socket. */
static void expect_err_hup(const char *who, int fd)
{
	int64_t until = now_ms() + LIMIT_MS;
	short got;

	while (((got = poll_now(fd)) & (POLLERR | POLLHUP)) !=
	       (POLLERR | POLLHUP)) {
		if (now_ms() > until)
			fail("%s: poll() shows %#x", who, got);
		nap();
	}
}

static void expect_dead(const char *who, int fd)
{
	char c;
	long r;

	expect_err_hup(who, fd);
	r = recv(fd, &c, 1, MSG_DONTWAIT);
	expect_device_error(who, r, errno);
	r = send(fd, &c, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (r != -1 || errno != EPIPE)
		fail("%s: send after the error: %ld, errno %d", who, r, errno);
	close(fd);
}

static void finish_worker(const char *who, struct worker *w)
{
	int64_t until = now_ms() + LIMIT_MS;

	while (!w->done) {
		if (now_ms() > until)
			fail("%s: still blocked", who);
		nap();
	}
	worker_join(w);
}

/* Sends, or receives, until the connection fails. */
static void w_pump_out(struct worker *w)
{
	do
		w->ret = send(w->fd, w->buf, w->len, MSG_NOSIGNAL);
	while (w->ret > 0);
	w->err = errno;
}

static void w_pump_in(struct worker *w)
{
	do
		w->ret = recv(w->fd, w->buf, w->len, 0);
	while (w->ret > 0);
	w->err = errno;
}

static char out_buf[65536], in_buf[65536], one[1];

static void expect_works(int lfd)
{
	int c = new_socket(), s;
	char b;

	note_step("a connection through the old listener");
	expect_ret(connect_to(c, my_addr(), port_of(lfd)), 0);
	s = expect_ok(accept(lfd, NULL, NULL));
	expect_ret(send(c, "x", 1, 0), 1);
	expect_ret(recv(s, &b, 1, 0), 1);
	expect_ret(send(s, "y", 1, 0), 1);
	expect_ret(recv(c, &b, 1, 0), 1);
	close(c);
	close(s);
}

struct scene {
	int idle[2], sending[2], reading[2], full[2], half[2], fin[2];
	int unread[2], lfd, child, silent_lfd, nb, unresolved;
	struct full_listener busy;
	struct worker out, in, reader, writer, acceptor, connector, poller;
	int ep;
};

static void watch(struct scene *s, int fd)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.fd = fd,
	};

	expect_ret(epoll_ctl(s->ep, EPOLL_CTL_ADD, fd, &ev), 0);
}

static void start(struct worker *w, void (*fn)(struct worker *), int fd,
		  void *buf, size_t len)
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->buf = buf;
	w->len = len;
	worker_start(w, fn);
}

static void set_scene(struct scene *s)
{
	struct sockaddr_in nowhere;
	int closing[2];

	note_step("set the scene");
	memset(s, 0, sizeof(*s));
	s->ep = expect_ok(epoll_create1(0));
	s->lfd = new_listener(8);
	s->silent_lfd = new_listener(8);
	local_pair(s->idle);
	local_pair(s->unread);
	expect_ret(send(s->unread[1], "abc", 3, 0), 3);
	local_pair(s->sending);
	local_pair(s->reading);
	local_pair(s->full);
	local_pair(s->half);
	local_pair(s->fin);
	shutdown(s->half[0], SHUT_WR);
	expect_eof(s->half[1]);
	close(s->fin[0]);	/* FIN_WAIT2 without a user */
	expect_eof(s->fin[1]);
	local_pair(closing);	/* TIME_WAIT, or what is before it */
	close(closing[0]);
	close(closing[1]);
	s->child = new_socket();	/* accepted by nobody */
	expect_ret(connect_to(s->child, my_addr(), port_of(s->lfd)), 0);
	full_open(&s->busy);
	s->nb = connect_nb(s->busy.port);

	/* Nobody answers to the address: in rdma_cm's hands. */
	nowhere = sa_make(my_addr(), 7);
	nowhere.sin_addr.s_addr += htonl(76);
	s->unresolved = new_socket_nb();
	expect_err(connect(s->unresolved, (void *)&nowhere, sizeof(nowhere)),
		   EINPROGRESS);

	watch(s, s->idle[0]);
	watch(s, s->half[0]);
	watch(s, s->half[1]);
	watch(s, s->fin[1]);
	watch(s, s->nb);
	watch(s, s->child);
	flood(s->full[0], 64 << 20);
	start(&s->out, w_pump_out, s->sending[0], out_buf, sizeof(out_buf));
	start(&s->in, w_pump_in, s->sending[1], in_buf, sizeof(in_buf));
	start(&s->reader, w_recv, s->reading[0], one, 1);
	start(&s->writer, w_send, s->full[0], out_buf, sizeof(out_buf));
	start(&s->acceptor, w_accept, s->silent_lfd, NULL, 0);
	s->connector.sa = sa_make(my_addr(), s->busy.port);
	s->connector.fd = new_socket();
	worker_start(&s->connector, w_connect);
	memset(&s->poller, 0, sizeof(s->poller));
	s->poller.fd = s->reading[1];
	s->poller.flags = POLLIN;
	worker_start(&s->poller, w_poll);
	wait_blocked(s->reader.tid, SYS_recvfrom);
	wait_blocked(s->writer.tid, SYS_sendto);
	wait_blocked(s->acceptor.tid, SYS_accept);
	wait_blocked(s->connector.tid, SYS_connect);
}

/* Everybody who watched has an edge with ERR and HUP. */
static void expect_edges(struct scene *s)
{
	int64_t until = now_ms() + LIMIT_MS;
	struct epoll_event got[16];
	int left = 6, seen[1024] = { 0 }, i, n;

	note_step("the edges");
	while (left) {
		n = expect_ok(epoll_wait(s->ep, got, 16, 100));
		for (i = 0; i < n; i++)
			if ((got[i].events & (EPOLLERR | EPOLLHUP)) ==
			    (EPOLLERR | EPOLLHUP) && !seen[got[i].data.fd]++)
				left--;
		if (now_ms() > until)
			fail("%d sockets of 6 had no edge with ERR and HUP",
			     left);
	}
	close(s->ep);
}

static void expect_scene_over(struct scene *s)
{
	int i, c;

	expect_edges(s);
	note_step("every state has ended");
	finish_worker("sender", &s->out);
	expect_device_error("sender", s->out.ret, s->out.err);
	finish_worker("receiver", &s->in);
	expect_device_error("receiver", s->in.ret, s->in.err);
	finish_worker("recv", &s->reader);
	expect_device_error("recv", s->reader.ret, s->reader.err);
	finish_worker("send", &s->writer);
	/* a part may have been taken before */
	if (s->writer.ret <= 0)
		expect_device_error("send", s->writer.ret, s->writer.err);
	finish_worker("connect", &s->connector);
	/* The listener may have lost the device a moment before. */
	if (s->connector.ret != -1 || s->connector.err != ECONNREFUSED)
		expect_device_error("connect", s->connector.ret,
				    s->connector.err);
	finish_worker("poll", &s->poller);
	if (s->poller.ret < 0 ||
	    (s->poller.ret & (POLLERR | POLLHUP)) != (POLLERR | POLLHUP))
		fail("poll returned %#lx", s->poller.ret);
	expect_dead("idle", s->idle[0]);
	expect_dead("idle, accepted", s->idle[1]);
	/* has read the end already: as with TCP only sending fails */
	expect_err_hup("half-closed", s->half[1]);
	expect_err(send(s->half[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	close(s->half[1]);
	expect_dead("half-closed, the closer", s->half[0]);
	expect_dead("client of a full backlog", s->busy.fill[0]);
	expect_dead("not accepted", s->child);
	expect_err_hup("data unread", s->unread[0]);
	close(s->unread[0]);
	expect_dead("data unread, the sender", s->unread[1]);
	expect_err_hup("peer closed", s->fin[1]);
	close(s->fin[1]);
	expect_err_hup("connect, non-blocking", s->nb);
	i = so_error(s->nb);
	if (!device_errno(i) && i != ECONNREFUSED)
		fail("connect, non-blocking: SO_ERROR %d (%s)", i, strerror(i));
	expect_err_hup("address unknown", s->unresolved);
	expect_true(so_error(s->unresolved));
	/* Those in the queue are given out, as TCP does, and are dead. */
	c = expect_ok(accept(s->lfd, NULL, NULL));
	expect_dead("un-accepted", c);

	close(s->nb);
	close(s->unresolved);
	close(s->connector.fd);
	close(s->sending[0]);
	close(s->sending[1]);
	close(s->reading[0]);
	close(s->reading[1]);
	close(s->full[0]);
	close(s->full[1]);
	for (i = 1; i < s->busy.nfill; i++)
		close(s->busy.fill[i]);
	close(s->busy.lfd);
}

static void without_device(struct scene *s)
{
	int fd = new_socket();

	note_step("no device");
	expect_err(connect_to(fd, my_addr(), port_of(s->lfd)), ENETUNREACH);
	close(fd);
	fd = new_listener(1);
	close(fd);
	expect_true(!s->acceptor.done);
}

static void with_device_again(struct scene *s)
{
	int c = new_socket();

	device_add();
	note_step("the blocked accept() gets the first connection");
	expect_ret(connect_to(c, my_addr(), port_of(s->silent_lfd)), 0);
	finish_worker("accept", &s->acceptor);
	if (s->acceptor.ret < 0)
		fail("accept: errno %d", s->acceptor.err);
	close(s->acceptor.ret);
	close(c);
	expect_works(s->lfd);
	expect_works(s->silent_lfd);
	close(s->lfd);
	close(s->silent_lfd);
}

static void every_state(void)
{
	static struct scene s;
	int i;

	device_needed();
	seed = getpid();
	for (i = 0; i < ROUNDS; i++) {
		set_scene(&s);
		nap_us(rand_r(&seed) % 50000);
		device_delete();
		expect_scene_over(&s);
		without_device(&s);
		with_device_again(&s);
	}
	wait_no_sockets(LIMIT_MS);
}

/* ---- connect() at every stage ---------------------------------------------- */

/* 24 connects begun 0 to 3 ms before the removal: each one ends. */
static void connecting(void)
{
	int fd[24], i, k, lfd;

	device_needed();
	seed = getpid();
	for (k = 0; k < ROUNDS; k++) {
		lfd = new_listener(64);
		note_step("connect");
		for (i = 0; i < 24; i++) {
			fd[i] = connect_nb(port_of(lfd));
			nap_us(rand_r(&seed) % 3000);
		}
		device_delete();
		note_step("every connect ends");
		for (i = 0; i < 24; i++) {
			expect_err_hup("connect", fd[i]);
			expect_true(so_error(fd[i]));
			close(fd[i]);
		}
		device_add();
		/* those in the queue are dead; the last one works */
		set_nonblock(lfd, true);
		while ((i = accept(lfd, NULL, NULL)) >= 0)
			close(i);
		set_nonblock(lfd, false);
		expect_works(lfd);
		close(lfd);
	}
	wait_no_sockets(LIMIT_MS);
}

/* The user closes everything while the device goes. */
static void closing(void)
{
	int fd[16][2], i, k;

	device_needed();
	seed = getpid();
	for (k = 0; k < ROUNDS; k++) {
		pid_t pid;
		int st;

		note_step("connections");
		for (i = 0; i < 16; i++) {
			local_pair(fd[i]);
			if (i & 1)
				send(fd[i][0], out_buf, 20000, MSG_DONTWAIT);
			if (i & 2)
				set_linger(fd[i][0], 1, i & 4 ? 0 : 5);
		}
		pid = expect_ok(fork());
		if (!pid) {
			nap_us(rand_r(&seed) % 5000);
			execlp("timeout", "timeout", "20", "rdma", "link",
			       "delete", "rxe0", NULL);
			_exit(127);
		}
		note_step("close while the device goes");
		nap_us(rand_r(&seed) % 40000);
		for (i = 0; i < 32; i++)
			close(fd[i / 2][i % 2]);
		expect_ret(waitpid(pid, &st, 0), pid);
		expect_eq(st, 0);
		device_add();
	}
	wait_no_sockets(LIMIT_MS);
}

/* Nothing but a listener: nothing keeps the device. */
static void listener_only(void)
{
	int lfd, k;

	device_needed();
	lfd = new_listener(4);
	for (k = 0; k < 3; k++) {
		device_delete();
		expect_eq(poll_now(lfd), 0);
		device_add();
		expect_works(lfd);
	}
	device_delete();
	close(lfd);
	wait_no_sockets(LIMIT_MS);
	device_add();
}

const struct test_case removal_cases[] = {
	{ "removal.every_state", every_state, NULL, T_SLOW },
	{ "removal.connecting", connecting, NULL, T_SLOW },
	{ "removal.closing", closing, NULL, T_SLOW },
	{ "removal.listener_only", listener_only, NULL, 0 },
};
TABLE_END(removal);
