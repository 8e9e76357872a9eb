// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* epoll: level, edge, one-shot, exclusive; added early; no wake-up lost. */
#include "harness.h"

#include <sys/epoll.h>

#define EP_ALL (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP)

static int ep_new(int fd, uint32_t events)
{
	int ep = expect_ok(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = { .events = events, .data.fd = fd };

	expect_ret(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	return ep;
}

static void ep_mod(int ep, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	expect_ret(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev), 0);
}

/* The events within ms milliseconds, 0 if none. */
static uint32_t ep_get(int ep, int ms)
{
	struct epoll_event ev[2];
	int n = expect_ok(epoll_wait(ep, ev, 2, ms));

	expect_true(n < 2);
	return n ? ev[0].events : 0;
}

static void level(void)
{
	int fd = conn_open(), ep = ep_new(fd, EPOLLIN);

	expect_eq(ep_get(ep, 0), 0);
	peer_send(10);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN);
	/* as long as there is something */
	expect_eq(ep_get(ep, 0), EPOLLIN);
	wait_inq(fd, 10);
	recv_pat(fd, 9);
	expect_eq(ep_get(ep, 0), EPOLLIN);
	recv_pat(fd, 1);
	expect_eq(ep_get(ep, 0), 0);
}

static void edge(void)
{
	int fd = conn_open(), ep = ep_new(fd, EP_ALL | EPOLLET);

	expect_eq(ep_get(ep, WAIT_MS), EPOLLOUT);
	expect_eq(ep_get(ep, 0), 0);
	peer_send(10);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN | EPOLLOUT);
	wait_inq(fd, 10);
	/* told once, until something new comes, read or not */
	expect_eq(ep_get(ep, 0), 0);
	peer_send(1);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN | EPOLLOUT);
	recv_pat(fd, 11);
	peer_shutdown(SHUT_WR);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN | EPOLLOUT | EPOLLRDHUP);
}

static void edge_writable(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	int ep = ep_new(fd, EPOLLOUT | EPOLLET);
	size_t n;

	expect_eq(ep_get(ep, WAIT_MS), EPOLLOUT);
	n = flood(fd, 64 << 20);
	/* While flooding it may have become writable in between. */
	while (ep_get(ep, 0))
		;
	expect_poll(fd, 0);
	peer_recv(n);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLOUT);
}

static void oneshot(void)
{
	int fd = conn_open(), ep = ep_new(fd, EPOLLIN | EPOLLONESHOT);

	peer_send(1);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN);
	peer_send(1);
	wait_inq(fd, 2);
	expect_eq(ep_get(ep, 0), 0);
	ep_mod(ep, fd, EPOLLIN | EPOLLONESHOT);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN);
	expect_eq(ep_get(ep, 0), 0);
}

static void w_epoll(struct worker *w)
{
	struct epoll_event ev;

	w->ret = epoll_wait(w->fd, &ev, 1, w->len);
	w->err = errno;
	w->flags = w->ret > 0 ? (int)ev.events : 0;
}

/* Several sleepers: one event wakes at least one, and they add up. */
static void exclusive(void)
{
	int l = new_listener(5), c, i, awake = 0;
	struct worker w[3];
	int64_t until = now_ms() + WAIT_MS;

	for (i = 0; i < 3; i++) {
		w[i] = (struct worker){ .len = WAIT_MS };
		w[i].fd = ep_new(l, EPOLLIN | EPOLLEXCLUSIVE);
		worker_start(&w[i], w_epoll);
		wait_blocked(w[i].tid, -1);
	}
	c = new_socket();
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	while (!awake && now_ms() < until) {
		for (i = 0; i < 3; i++)
			awake += w[i].done;
		nap();
	}
	expect_true(awake >= 1);
	for (i = 0; i < 3; i++)
		if (w[i].done)
			expect_eq(w[i].flags, EPOLLIN);
}

static void states(void)
{
	int fd = conn_open(), ep = ep_new(fd, EP_ALL);

	expect_eq(ep_get(ep, 0), EPOLLOUT);
	peer_abort();
	wait_bits(fd, POLLERR);
	expect_eq(ep_get(ep, 0), EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP |
		  EPOLLRDHUP);
	ep = ep_new(new_socket(), EP_ALL);
	expect_eq(ep_get(ep, 0), EPOLLOUT | EPOLLHUP);
	ep = ep_new(new_listener(1), EP_ALL);
	expect_eq(ep_get(ep, 0), 0);
}

static void added_before_connect(void)
{
	int l = new_listener(5), fd = new_socket_nb(), s;
	int ep = ep_new(fd, EP_ALL | EPOLLET);

	expect_eq(ep_get(ep, 0), EPOLLOUT | EPOLLHUP);
	expect_eq(ep_get(ep, 0), 0);
	expect_err(connect_to(fd, my_addr(), port_of(l)), EINPROGRESS);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLOUT);
	expect_eq(so_error(fd), 0);
	s = expect_ok(accept(l, NULL, NULL));
	pos[fd] = pos[s] = (struct stream_pos){ 0 };
	send_pat(s, 5);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN | EPOLLOUT);
	ep_mod(ep, fd, EPOLLIN);
	expect_eq(ep_get(ep, 0), EPOLLIN);
	expect_ret(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), 0);
	expect_eq(ep_get(ep, 0), 0);
	expect_err(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), ENOENT);
}

static void added_before_refusal(void)
{
	int fd = new_socket_nb(), ep;

	ep = ep_new(fd, EP_ALL | EPOLLET);
	expect_eq(ep_get(ep, 0), EPOLLOUT | EPOLLHUP);
	expect_err(connect_to(fd, my_addr(), free_port()), EINPROGRESS);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN | EPOLLOUT | EPOLLERR |
		  EPOLLHUP | EPOLLRDHUP);
	expect_eq(so_error(fd), ECONNREFUSED);
}

static void added_before_listen(void)
{
	int l = bound_socket(my_addr(), 0), c = new_socket();
	int ep = ep_new(l, EPOLLIN);

	expect_eq(ep_get(ep, 0), EPOLLHUP);
	expect_ret(listen(l, 5), 0);
	expect_eq(ep_get(ep, 0), 0);
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN);
	expect_ok(accept(l, NULL, NULL));
	expect_eq(ep_get(ep, 0), 0);
}

static void two_sets(void)
{
	int fd = conn_open();
	int a = ep_new(fd, EPOLLIN), b = ep_new(fd, EPOLLIN | EPOLLET);

	peer_send(1);
	expect_eq(ep_get(a, WAIT_MS), EPOLLIN);
	expect_eq(ep_get(b, WAIT_MS), EPOLLIN);
	expect_eq(ep_get(b, 0), 0);
	recv_pat(fd, 1);
	expect_eq(ep_get(a, 0), 0);
}

static void nested(void)
{
	int fd = conn_open(), in = ep_new(fd, EPOLLIN);
	int out = ep_new(in, EPOLLIN);

	expect_eq(ep_get(out, 0), 0);
	peer_send(1);
	expect_eq(ep_get(out, WAIT_MS), EPOLLIN);
	recv_pat(fd, 1);
	expect_eq(ep_get(out, 0), 0);
}

static void closed_while_watched(void)
{
	int fd = conn_open(), ep = ep_new(fd, EPOLLIN);
	struct worker w = { .fd = ep, .len = WAIT_MS };

	worker_start(&w, w_epoll);
	wait_blocked(w.tid, -1);
	/* The entry goes with the last descriptor; the peer sees the end. */
	close(fd);
	peer_eof(0);
	fd = conn_open();
	expect_ret(epoll_ctl(ep, EPOLL_CTL_ADD, fd,
			     &(struct epoll_event){ .events = EPOLLIN }), 0);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, 1);
}

static void lowat(void)
{
	int fd = conn_open(), ep = ep_new(fd, EPOLLIN | EPOLLET);

	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 100);
	peer_send(99);
	wait_inq(fd, 99);
	expect_eq(ep_get(ep, 0), 0);
	peer_send(1);
	expect_eq(ep_get(ep, WAIT_MS), EPOLLIN);
	recv_pat(fd, 100);
}

/* ---- one message at a time: a lost wake-up stops it ----------------------- */

#define ROUNDS 5000

static void ping(int fd, int size)
{
	peer_start(P_ECHO, (int64_t)ROUNDS * size, 64, 0);
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static void pong_blocking(void)
{
	int fd = conn_open(), i;

	ping(fd, 1);
	for (i = 0; i < ROUNDS; i++) {
		send_pat(fd, 1);
		recv_pat(fd, 1);
	}
	expect_eq(peer_join(), ROUNDS);
}

static void pong_edge(void)
{
	int fd = conn_open(), i, ep;
	char c;

	set_nonblock(fd, true);
	ep = ep_new(fd, EPOLLIN | EPOLLET);
	ping(fd, 1);
	for (i = 0; i < ROUNDS; i++) {
		send_pat(fd, 1);
		while (recv(fd, &c, 1, 0) != 1) {
			expect_eq(errno, EAGAIN);
			if (!ep_get(ep, WAIT_MS))
				fail("round %d: no event, a wake-up is lost",
				     i);
		}
		pat_check(&c, i, 1);
	}
	expect_eq(peer_join(), ROUNDS);
}

/* Waits for the event first, as servers do. */
static void pong_level(void)
{
	int fd = conn_open(), i, ep = ep_new(fd, EPOLLIN);

	ping(fd, 7);
	for (i = 0; i < ROUNDS; i++) {
		send_pat(fd, 7);
		if (!ep_get(ep, WAIT_MS))
			fail("round %d: no event, a wake-up is lost", i);
		recv_pat(fd, 7);
	}
	expect_eq(peer_join(), ROUNDS * 7);
}

const struct test_case epoll_cases[] = {
	{ "epoll.level", level, peer_serve, 0 },
	{ "epoll.edge", edge, peer_serve, T_SWAP },
	{ "epoll.edge_writable", edge_writable, peer_serve, T_SWAP },
	{ "epoll.oneshot", oneshot, peer_serve, 0 },
	{ "epoll.exclusive", exclusive, NULL, 0 },
	{ "epoll.states", states, peer_serve, 0 },
	{ "epoll.added_before_connect", added_before_connect, NULL, 0 },
	{ "epoll.added_before_refusal", added_before_refusal, NULL, 0 },
	{ "epoll.added_before_listen", added_before_listen, NULL, 0 },
	{ "epoll.two_sets", two_sets, peer_serve, 0 },
	{ "epoll.nested", nested, peer_serve, 0 },
	{ "epoll.closed_while_watched", closed_while_watched, peer_serve, 0 },
	{ "epoll.lowat", lowat, peer_serve, 0 },
	{ "epoll.pong_blocking", pong_blocking, peer_serve, T_SLOW },
	{ "epoll.pong_edge", pong_edge, peer_serve, T_SLOW },
	{ "epoll.pong_level", pong_level, peer_serve, T_SLOW },
};
TABLE_END(epoll);
