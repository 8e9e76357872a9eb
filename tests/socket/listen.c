// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* listen() and accept(): queues, waiting, what children inherit, closing. */
#include "harness.h"

static int client_of(int l)
{
	int fd = new_socket();

	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	return fd;
}

static void accept4_flags(void)
{
	int l = new_listener(5), c[3], s;

	set_nonblock(l, true);
	c[0] = client_of(l);
	wait_poll(l, POLLIN);
	s = expect_ok(accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	expect_eq(fcntl(s, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	expect_eq(fcntl(s, F_GETFD), FD_CLOEXEC);
	c[1] = client_of(l);
	wait_poll(l, POLLIN);
	/* The listener's own flags are not handed down. */
	s = expect_ok(accept4(l, NULL, NULL, 0));
	expect_eq(fcntl(s, F_GETFL) & O_NONBLOCK, 0);
	expect_eq(fcntl(s, F_GETFD), 0);
	c[2] = client_of(l);
	wait_poll(l, POLLIN);
	expect_err(accept4(l, NULL, NULL, 0x40), EINVAL);
	expect_ok(accept(l, NULL, NULL));
	(void)c;
}

static void accept_address(void)
{
	struct sockaddr_in sa = { 0 };
	int l = new_listener(5), c = client_of(l);
	socklen_t len = 4;
	unsigned char raw[sizeof(sa)];

	/* Too little room: cut off, but the whole length is told. */
	memset(raw, 0xee, sizeof(raw));
	expect_ok(accept(l, (void *)raw, &len));
	expect_eq(len, sizeof(sa));
	memcpy(&sa, raw, 4);
	expect_eq(sa.sin_family, AF_INET);
	expect_eq(sa.sin_port, htons(port_of(c)));
	expect_eq(raw[4], 0xee);

	c = client_of(l);
	len = 0;
	expect_ok(accept(l, (void *)raw, &len));
	expect_eq(raw[4], 0xee);

	c = client_of(l);
	len = -1;
	expect_err(accept(l, (void *)&sa, &len), EINVAL);
	len = sizeof(sa);
	c = client_of(l);
	expect_ok(accept(l, (void *)&sa, &len));
}

static void accept_eagain(void)
{
	int l = new_listener(5);

	set_nonblock(l, true);
	expect_err(accept(l, NULL, NULL), EAGAIN);
	client_of(l);
	wait_poll(l, POLLIN);
	expect_ok(accept(l, NULL, NULL));
	expect_err(accept(l, NULL, NULL), EAGAIN);
}

static void accept_timeout(void)
{
	int l = new_listener(5);
	int64_t t0 = now_ms();

	set_timeo(l, SO_RCVTIMEO, 100);
	expect_err(accept(l, NULL, NULL), EAGAIN);
	expect_true(now_ms() - t0 >= 80);
}

static void accept_interrupted(void)
{
	struct worker w = { .fd = new_listener(5) };

	count_signal(SIGUSR1, false);
	worker_start(&w, w_accept);
	wait_blocked(w.tid, SYS_accept);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINTR);
	/* With SA_RESTART it goes on waiting. */
	count_signal(SIGUSR1, true);
	worker_start(&w, w_accept);
	wait_blocked(w.tid, SYS_accept);
	kick(w.tid, SIGUSR1);
	while (!sig_count)
		nap();
	client_of(w.fd);
	worker_join(&w);
	expect_true(w.ret >= 0);
}

static void accept_wakes(void)
{
	struct worker w[4];
	int l = new_listener(5), i, k;
	int c[4];

	for (i = 0; i < 4; i++) {
		w[i] = (struct worker){ .fd = l };
		worker_start(&w[i], w_accept);
	}
	for (i = 0; i < 4; i++)
		wait_blocked(w[i].tid, SYS_accept);
	for (i = 0; i < 4; i++)
		c[i] = client_of(l);
	for (i = 0; i < 4; i++) {
		worker_join(&w[i]);
		expect_true(w[i].ret >= 0);
		for (k = 0; k < 4; k++)
			if (sa_peer(w[i].ret).sin_port == htons(port_of(c[k])))
				break;
		expect_true(k < 4);
	}
}

/* Clients beyond the backlog wait, are not refused, and are served in time. */
static void backlog(void)
{
	struct full_listener f;
	int fd[3], i, s[3];

	full_open(&f);
	for (i = 0; i < 3; i++)
		fd[i] = connect_nb(f.port);
	for (i = 0; i < 3; i++)
		expect_err(connect_to(fd[i], my_addr(), f.port), EALREADY);
	full_drain(&f, 3, s);
	for (i = 0; i < 3; i++) {
		wait_poll(fd[i], POLLOUT);
		expect_eq(so_error(fd[i]), 0);
	}
}

static void backlog_holds(void)
{
	int l = new_listener(16), c[16], i;

	/* So many fit without anybody accepting. */
	for (i = 0; i < 16; i++)
		c[i] = client_of(l);
	for (i = 0; i < 16; i++) {
		int s = expect_ok(accept(l, NULL, NULL));

		/* first come, first served */
		expect_eq(sa_peer(s).sin_port, htons(port_of(c[i])));
	}
	set_nonblock(l, true);
	expect_err(accept(l, NULL, NULL), EAGAIN);
}

static void backlog_odd_values(void)
{
	int l = new_listener(0);

	client_of(l);	/* 0 still holds one */
	expect_ok(accept(l, NULL, NULL));
	expect_ret(listen(l, -1), 0);
	expect_ret(listen(l, 1 << 30), 0);
	client_of(l);
	client_of(l);
	client_of(l);
}

static void children_closed(void)
{
	int l = new_listener(8), c[4], i;
	char b;

	for (i = 0; i < 4; i++)
		c[i] = client_of(l);
	close(l);
	for (i = 0; i < 4; i++) {
		wait_poll(c[i], POLLIN | POLLOUT | POLLERR | POLLHUP |
			  POLLRDHUP);
		expect_err(recv(c[i], &b, 1, 0), ECONNRESET);
		expect_ret(recv(c[i], &b, 1, 0), 0);
	}
}

static void children_closed_with_data(void)
{
	int l = new_listener(8), c = client_of(l);
	char b[100] = "";

	expect_ret(send(c, b, sizeof(b), 0), sizeof(b));
	wait_outq0(c);
	close(l);
	wait_bits(c, POLLERR);
	expect_err(recv(c, b, 1, 0), ECONNRESET);
}

static void shutdown_wakes(void)
{
	struct worker w = { .fd = new_listener(5) };
	uint16_t port = port_of(w.fd);

	worker_start(&w, w_accept);
	wait_blocked(w.tid, SYS_accept);
	expect_ret(shutdown(w.fd, SHUT_RDWR), 0);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINVAL);
	expect_err(accept(w.fd, NULL, NULL), EINVAL);
	expect_err(connect_to(new_socket(), my_addr(), port), ECONNREFUSED);
}

static void shutdown_write_is_nothing(void)
{
	int l = new_listener(5);

	expect_ret(shutdown(l, SHUT_WR), 0);
	client_of(l);
	expect_ok(accept(l, NULL, NULL));
}

static void shutdown_then_listen(void)
{
	uint16_t port = free_port();
	int l = bound_socket(my_addr(), port);

	expect_ret(listen(l, 5), 0);
	expect_ret(shutdown(l, SHUT_RD), 0);
	expect_eq(get_int(l, SOL_SOCKET, SO_ACCEPTCONN), 0);
	expect_ret(listen(l, 5), 0);
	expect_eq(port_of(l), port);
	client_of(l);
	expect_ok(accept(l, NULL, NULL));
}

/* close() doesn't wake an accept() in another thread; a signal does. */
static void close_leaves_accept(void)
{
	struct worker w = { .fd = new_listener(5) };

	count_signal(SIGUSR1, false);
	worker_start(&w, w_accept);
	wait_blocked(w.tid, SYS_accept);
	expect_ret(close(w.fd), 0);
	wait_blocked(w.tid, SYS_accept);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINTR);
}

static void unbound(void)
{
	int l = new_socket(), c = new_socket();

	expect_ret(listen(l, 5), 0);
	expect_true(port_of(l) != 0);
	expect_eq(sa_of(l).sin_addr.s_addr, 0);
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	expect_ok(accept(l, NULL, NULL));
}

static void several(void)
{
	int l[6], c[6], i, s;

	for (i = 0; i < 6; i++)
		l[i] = new_listener(5);
	for (i = 0; i < 6; i++)
		c[i] = client_of(l[i]);
	for (i = 5; i >= 0; i--) {
		s = expect_ok(accept(l[i], NULL, NULL));
		expect_eq(sa_peer(s).sin_port, htons(port_of(c[i])));
		expect_eq(port_of(s), port_of(l[i]));
	}
	/* One going away leaves the others. */
	close(l[2]);
	client_of(l[3]);
	expect_ok(accept(l[3], NULL, NULL));
}

static void listen_again(void)
{
	int l = new_listener(1);

	expect_ret(listen(l, 20), 0);
	expect_eq(get_int(l, SOL_SOCKET, SO_ACCEPTCONN), 1);
	client_of(l);
	client_of(l);
	client_of(l);
	client_of(l);
}

static void listener_calls(void)
{
	int l = new_listener(5);
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char c = 0;

	expect_err(recv(l, &c, 1, 0), ENOTCONN);
	expect_err(send(l, &c, 1, MSG_NOSIGNAL), EPIPE);
	expect_err(getpeername(l, (void *)&sa, &len), ENOTCONN);
	expect_eq(so_error(l), 0);
}

static void inheritance(void)
{
	int l = new_socket(), c = new_socket(), s;
	struct sockaddr_in sa = sa_make(my_addr(), 0);
	struct linger lg = { 0 };
	socklen_t len = sizeof(lg);
	int rcv, snd;

	set_int(l, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(l, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(l, IPPROTO_TCP, TCP_KEEPIDLE, 111);
	set_int(l, IPPROTO_TCP, TCP_KEEPINTVL, 22);
	set_int(l, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_int(l, SOL_SOCKET, SO_RCVBUF, 30000);
	set_int(l, SOL_SOCKET, SO_SNDBUF, 40000);
	set_int(l, SOL_SOCKET, SO_OOBINLINE, 1);
	set_int(l, SOL_SOCKET, SO_RCVLOWAT, 5);
	set_linger(l, 1, 7);
	rcv = get_int(l, SOL_SOCKET, SO_RCVBUF);
	snd = get_int(l, SOL_SOCKET, SO_SNDBUF);
	expect_ret(bind(l, (void *)&sa, sizeof(sa)), 0);
	expect_ret(listen(l, 5), 0);
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	expect_eq(get_int(s, IPPROTO_TCP, TCP_NODELAY), 1);
	expect_eq(get_int(s, SOL_SOCKET, SO_KEEPALIVE), 1);
	expect_eq(get_int(s, IPPROTO_TCP, TCP_KEEPIDLE), 111);
	expect_eq(get_int(s, IPPROTO_TCP, TCP_KEEPINTVL), 22);
	expect_eq(get_int(s, IPPROTO_TCP, TCP_KEEPCNT), 3);
	expect_eq(get_int(s, SOL_SOCKET, SO_RCVBUF), rcv);
	expect_eq(get_int(s, SOL_SOCKET, SO_SNDBUF), snd);
	expect_eq(get_int(s, SOL_SOCKET, SO_OOBINLINE), 1);
	expect_eq(get_int(s, SOL_SOCKET, SO_RCVLOWAT), 5);
	expect_eq(get_int(s, SOL_SOCKET, SO_ACCEPTCONN), 0);
	expect_ret(getsockopt(s, SOL_SOCKET, SO_LINGER, &lg, &len), 0);
	expect_eq(lg.l_onoff, 1);
	expect_eq(lg.l_linger, 7);
	/* The client's end has none of that. */
	expect_eq(get_int(c, IPPROTO_TCP, TCP_NODELAY), 0);
	expect_eq(get_int(c, SOL_SOCKET, SO_KEEPALIVE), 0);
}

/* All that a client sent before it closed is there, then the end. */
static void closed_before_accept(void)
{
	int l = new_listener(5), c = client_of(l), s;

	pos[c] = (struct stream_pos){ 0 };
	send_pat(c, 5000);
	close(c);
	s = expect_ok(accept(l, NULL, NULL));
	pos[s] = (struct stream_pos){ 0 };
	recv_pat(s, 5000);
	expect_eof(s);
}

static void reset_before_accept(void)
{
	int l = new_listener(5), c = client_of(l), s;
	char b;

	set_linger(c, 1, 0);
	close(c);
	/* TCP hands out even the dead. */
	s = expect_ok(accept(l, NULL, NULL));
	wait_bits(s, POLLERR);
	expect_err(recv(s, &b, 1, 0), ECONNRESET);
	expect_ret(recv(s, &b, 1, 0), 0);
}

static void close_race(void)
{
	int round, i;

	/* Clients come while the listener goes: each is told, none hangs. */
	for (round = 0; round < 20; round++) {
		int l = new_listener(8), c[8];
		uint16_t port = port_of(l);
		struct sockaddr_in sa = sa_make(my_addr(), port);
		char b;

		for (i = 0; i < 8; i++) {
			c[i] = new_socket_nb();
			if (connect(c[i], (void *)&sa, sizeof(sa)))
				expect_true(errno == EINPROGRESS ||
					    errno == ECONNREFUSED);
			if (i == round % 8)
				close(l);
		}
		for (i = 0; i < 8; i++) {
			wait_bits(c[i], POLLHUP);
			expect_true(recv(c[i], &b, 1, 0) <= 0);
			expect_true(errno == ECONNRESET ||
				    errno == ECONNREFUSED);
			close(c[i]);
		}
	}
}

const struct test_case listen_cases[] = {
	{ "listen.accept4_flags", accept4_flags, NULL, 0 },
	{ "listen.accept_address", accept_address, NULL, 0 },
	{ "listen.accept_eagain", accept_eagain, NULL, 0 },
	{ "listen.accept_timeout", accept_timeout, NULL, 0 },
	{ "listen.accept_interrupted", accept_interrupted, NULL, 0 },
	{ "listen.accept_wakes", accept_wakes, NULL, 0 },
	{ "listen.backlog", backlog, NULL, 0 },
	{ "listen.backlog_holds", backlog_holds, NULL, 0 },
	{ "listen.backlog_odd_values", backlog_odd_values, NULL, 0 },
	{ "listen.children_closed", children_closed, NULL, 0 },
	{ "listen.children_closed_with_data", children_closed_with_data, NULL,
	  0 },
	{ "listen.shutdown_wakes", shutdown_wakes, NULL, 0 },
	{ "listen.shutdown_write_is_nothing", shutdown_write_is_nothing, NULL,
	  0 },
	{ "listen.shutdown_then_listen", shutdown_then_listen, NULL, 0 },
	{ "listen.close_leaves_accept", close_leaves_accept, NULL, 0 },
	{ "listen.unbound", unbound, NULL, 0 },
	{ "listen.several", several, NULL, 0 },
	{ "listen.listen_again", listen_again, NULL, 0 },
	{ "listen.listener_calls", listener_calls, NULL, 0 },
	{ "listen.inheritance", inheritance, NULL, 0 },
	{ "listen.closed_before_accept", closed_before_accept, NULL, 0 },
	{ "listen.reset_before_accept", reset_before_accept, NULL, 0 },
	{ "listen.close_race", close_race, NULL, 0 },
};
TABLE_END(listen);
