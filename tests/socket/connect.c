// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* connect(): blocking or not, refused, interrupted, timed out, undone. */
#include "harness.h"

#include <arpa/inet.h>
#include <sched.h>

static struct in_addr ip(const char *s)
{
	struct in_addr a;

	inet_pton(AF_INET, s, &a);
	return a;
}

static void swap_bytes(int a, int b)
{
	pos[a] = pos[b] = (struct stream_pos){ 0 };
	send_pat(a, 100);
	recv_pat(b, 100);
	send_pat(b, 100);
	recv_pat(a, 100);
}

/* Names of both ends, told over the control channel, agree. */
static void names_client(void)
{
	int fd = new_socket();
	uint16_t port = ctl_get("port");

	expect_ret(connect_to(fd, env.addr, port), 0);
	expect_eq(sa_peer(fd).sin_port, htons(port));
	expect_eq(sa_peer(fd).sin_addr.s_addr, env.addr.s_addr);
	ctl_put("client addr", sa_of(fd).sin_addr.s_addr);
	ctl_put("client port", port_of(fd));
	expect_err(connect_to(fd, env.addr, port), EISCONN);
	ctl_sync("done");
}

static void names_server(void)
{
	int l = new_listener(5), fd;
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	uint32_t addr;
	uint16_t port;

	ctl_put("port", port_of(l));
	fd = expect_ok(accept(l, (void *)&from, &len));
	expect_eq(len, sizeof(from));
	expect_eq(from.sin_family, AF_INET);
	addr = ctl_get("client addr");
	port = ctl_get("client port");
	expect_eq(from.sin_addr.s_addr, addr);
	expect_eq(from.sin_port, htons(port));
	expect_eq(sa_peer(fd).sin_addr.s_addr, addr);
	expect_eq(sa_peer(fd).sin_port, htons(port));
	expect_eq(sa_of(fd).sin_addr.s_addr, env.addr.s_addr);
	expect_eq(port_of(fd), port_of(l));
	ctl_sync("done");
}

static void nonblocking(void)
{
	int l = new_listener(5), fd = connect_nb(port_of(l)), s;
	int64_t until = now_ms() + WAIT_MS;

	/* EALREADY while it lasts, 0 once when it is done, then EISCONN. */
	while (connect_to(fd, my_addr(), port_of(l))) {
		expect_eq(errno, EALREADY);
		expect_true(now_ms() < until);
		nap();
	}
	expect_err(connect_to(fd, my_addr(), port_of(l)), EISCONN);
	expect_eq(so_error(fd), 0);
	expect_poll(fd, POLLOUT);
	s = expect_ok(accept(l, NULL, NULL));
	set_nonblock(fd, false);
	swap_bytes(fd, s);
}

static void nonblocking_poll(void)
{
	int l = new_listener(5), fd = connect_nb(port_of(l));
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	expect_ret(poll(&p, 1, WAIT_MS), 1);
	expect_eq(p.revents, POLLOUT);
	expect_eq(so_error(fd), 0);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	expect_err(connect_to(fd, my_addr(), port_of(l)), EISCONN);
	expect_eq(sa_peer(fd).sin_port, htons(port_of(l)));
}

/* The listener's queue is full: a connect that doesn't end by itself. */
static void connecting(void)
{
	struct full_listener f;
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char c = 0;
	int fd, s;

	full_open(&f);
	fd = connect_nb(f.port);
	expect_err(connect_to(fd, my_addr(), f.port), EALREADY);
	expect_poll(fd, 0);
	expect_eq(so_error(fd), 0);
	expect_true(port_of(fd) != 0);
	expect_err(getpeername(fd, (void *)&sa, &len), ENOTCONN);
	expect_err(send(fd, &c, 1, 0), EAGAIN);
	expect_err(recv(fd, &c, 1, 0), EAGAIN);
	expect_err(listen(fd, 1), EINVAL);
	expect_err(connect_to(fd, my_addr(), f.port), EALREADY);
	full_drain(&f, 1, &s);
	wait_poll(fd, POLLOUT);
	expect_ret(connect_to(fd, my_addr(), f.port), 0);
	set_nonblock(fd, false);
	swap_bytes(fd, s);
}

static void refused(void)
{
	uint16_t port = free_port();
	int fd = new_socket(), l, s;

	expect_err(connect_to(fd, my_addr(), port), ECONNREFUSED);
	expect_eq(so_error(fd), 0);
	expect_err(connect_to(fd, my_addr(), port), ECONNREFUSED);
	/* The same socket can still be used. */
	l = new_listener(5);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	swap_bytes(fd, s);
}

static void refused_nonblocking(void)
{
	int fd = connect_nb(free_port()), l, s;

	wait_poll(fd, POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	expect_err(connect_to(fd, my_addr(), free_port()), ECONNREFUSED);
	/* Told once; this starts a new one. */
	l = new_listener(5);
	expect_err(connect_to(fd, my_addr(), port_of(l)), EINPROGRESS);
	wait_poll(fd, POLLOUT);
	expect_eq(so_error(fd), 0);
	s = expect_ok(accept(l, NULL, NULL));
	set_nonblock(fd, false);
	swap_bytes(fd, s);
}

static void refused_so_error(void)
{
	int fd = connect_nb(free_port()), l;
	char c;

	wait_bits(fd, POLLERR);
	expect_eq(so_error(fd), ECONNREFUSED);
	expect_eq(so_error(fd), 0);
	wait_poll(fd, POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	expect_ret(recv(fd, &c, 1, 0), 0);
	expect_err(send(fd, &c, 1, 0), EPIPE);
	/* TCP says ECONNABORTED once here, then starts a new one. */
	l = new_listener(5);
	if (connect_to(fd, my_addr(), port_of(l)) && errno == ECONNABORTED)
		expect_err(connect_to(fd, my_addr(), port_of(l)), EINPROGRESS);
	wait_poll(fd, POLLOUT);
	expect_eq(so_error(fd), 0);
}

/* The error of a refused connect comes from recv() if that asks first. */
static void refused_recv(void)
{
	int fd = connect_nb(free_port());
	char c;

	wait_bits(fd, POLLERR);
	expect_err(recv(fd, &c, 1, 0), ECONNREFUSED);
	expect_ret(recv(fd, &c, 1, 0), 0);
	expect_eq(so_error(fd), 0);
}

static void refused_after_close(void)
{
	int l = new_listener(5), fd;
	uint16_t port = port_of(l);

	fd = new_socket();
	expect_ret(connect_to(fd, my_addr(), port), 0);
	close(expect_ok(accept(l, NULL, NULL)));
	close(l);
	fd = new_socket();
	expect_err(connect_to(fd, my_addr(), port), ECONNREFUSED);
}

/* Bound but not listening is refused too. */
static void refused_bound_only(void)
{
	int b = bound_socket(my_addr(), 0), fd = new_socket();

	expect_err(connect_to(fd, my_addr(), port_of(b)), ECONNREFUSED);
}

static void port_zero(void)
{
	expect_err(connect_to(new_socket(), my_addr(), 0), ECONNREFUSED);
}

static void interrupted(void)
{
	struct full_listener f;
	struct worker w = { 0 };
	int s;

	full_open(&f);
	count_signal(SIGUSR1, false);
	w.fd = new_socket();
	w.sa = sa_make(my_addr(), f.port);
	worker_start(&w, w_connect);
	wait_blocked(w.tid, SYS_connect);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINTR);
	expect_eq(sig_count, 1);
	/* It goes on in the background. */
	expect_poll(w.fd, 0);
	full_drain(&f, 1, &s);
	wait_poll(w.fd, POLLOUT);
	expect_eq(so_error(w.fd), 0);
	expect_ret(connect_to(w.fd, my_addr(), f.port), 0);
	expect_err(connect_to(w.fd, my_addr(), f.port), EISCONN);
	swap_bytes(w.fd, s);
}

static void restarted(void)
{
	struct full_listener f;
	struct worker w = { 0 };
	int s;

	full_open(&f);
	count_signal(SIGUSR1, true);
	w.fd = new_socket();
	w.sa = sa_make(my_addr(), f.port);
	worker_start(&w, w_connect);
	wait_blocked(w.tid, SYS_connect);
	kick(w.tid, SIGUSR1);
	while (!sig_count)
		nap();
	wait_blocked(w.tid, SYS_connect);
	full_drain(&f, 1, &s);
	worker_join(&w);
	expect_eq(w.ret, 0);
	swap_bytes(w.fd, s);
}

static void sndtimeo(void)
{
	struct full_listener f;
	int64_t t0;
	int fd;

	full_open(&f);
	fd = new_socket();
	set_timeo(fd, SO_SNDTIMEO, 200);
	t0 = now_ms();
	expect_err(connect_to(fd, my_addr(), f.port), EINPROGRESS);
	expect_true(now_ms() - t0 >= 150);
	expect_err(connect_to(fd, my_addr(), f.port), EALREADY);
	expect_poll(fd, 0);
}

static void close_connecting(void)
{
	struct full_listener f;
	int fd, other, s;

	full_open(&f);
	fd = connect_nb(f.port);
	other = connect_nb(f.port);
	expect_ret(close(fd), 0);
	full_drain(&f, 1, &s);
	wait_poll(other, POLLOUT);
	set_nonblock(other, false);
	swap_bytes(other, s);
	/* Whoever gave up has left nobody in the queue. */
	set_nonblock(f.lfd, true);
	expect_err(accept(f.lfd, NULL, NULL), EAGAIN);
}

static void shutdown_connecting(void)
{
	struct full_listener f;
	struct worker w = { 0 };

	full_open(&f);
	w.fd = new_socket();
	w.sa = sa_make(my_addr(), f.port);
	worker_start(&w, w_connect);
	wait_blocked(w.tid, SYS_connect);
	expect_ret(shutdown(w.fd, SHUT_RDWR), 0);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, ECONNRESET);
}

static void no_route(void)
{
	struct sockaddr_in sa = sa_make(ip("198.51.100.1"), 9);
	int u = expect_ok(socket(AF_INET, SOCK_DGRAM, 0));
	int fd;

	/* With a default route only an empty namespace is without one. */
	if (!connect(u, (void *)&sa, sizeof(sa)) &&
	    unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		skip_case("there is a default route and unshare() fails");
	fd = new_socket();
	expect_err(connect(fd, (void *)&sa, sizeof(sa)), ENETUNREACH);
	expect_eq(so_error(fd), 0);
	/* Not in the background either. */
	set_nonblock(fd, true);
	expect_err(connect(fd, (void *)&sa, sizeof(sa)), ENETUNREACH);
}

static void not_unicast(void)
{
	int fd = new_socket_nb();

	expect_err(connect_to(fd, ip("255.255.255.255"), 9), ENETUNREACH);
	expect_err(connect_to(fd, ip("224.0.0.1"), 9), ENETUNREACH);
	expect_eq(so_error(fd), 0);
	set_nonblock(fd, false);
	expect_err(connect_to(fd, my_addr(), free_port()), ECONNREFUSED);
}

static void bad_arguments(void)
{
	int l = new_listener(5), fd = new_socket();
	struct sockaddr_in sa = sa_make(my_addr(), port_of(l));

	expect_err(connect(fd, (void *)&sa, 1), EINVAL);
	expect_err(connect(fd, (void *)&sa, sizeof(sa) - 1), EINVAL);
	expect_err(connect(fd, (void *)&sa, -1), EINVAL);
	expect_err(connect(fd, NULL, sizeof(sa)), EFAULT);
	expect_err(connect(fd, (void *)8, sizeof(sa)), EFAULT);
	sa.sin_family = AF_INET6;
	expect_err(connect(fd, (void *)&sa, sizeof(sa)), EAFNOSUPPORT);
	sa.sin_family = AF_INET;
	expect_ret(connect(fd, (void *)&sa, sizeof(sa)), 0);
}

static int unspec(int fd)
{
	struct sockaddr_in sa = { .sin_family = AF_UNSPEC };

	return connect(fd, (void *)&sa, sizeof(sa));
}

static void disconnect(void)
{
	int fd = conn_open(), l, s;
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	expect_ret(unspec(fd), 0);
	expect_err(getpeername(fd, (void *)&sa, &len), ENOTCONN);
	/* The peer sees a reset. */
	expect_eq(peer_call(P_RECV, 1, 0, 0), -ECONNRESET);
	/* The socket can be connected again. */
	l = new_listener(5);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	swap_bytes(fd, s);
}

static void disconnect_unconnected(void)
{
	int fd = new_socket(), l;

	expect_ret(unspec(fd), 0);
	expect_ret(unspec(fd), 0);
	expect_poll(fd, POLLOUT | POLLHUP);
	l = new_listener(5);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
}

static void disconnect_listener(void)
{
	int l = new_listener(5);
	uint16_t port = port_of(l);

	expect_ret(unspec(l), 0);
	expect_eq(get_int(l, SOL_SOCKET, SO_ACCEPTCONN), 0);
	expect_err(connect_to(new_socket(), my_addr(), port), ECONNREFUSED);
}

static void listening_socket(void)
{
	int l = new_listener(5), m = new_listener(5);

	expect_err(connect_to(l, my_addr(), port_of(m)), EISCONN);
	expect_eq(get_int(l, SOL_SOCKET, SO_ACCEPTCONN), 1);
}

static void bound_first(void)
{
	int l = new_listener(5), fd = bound_socket(my_addr(), 0), s;
	uint16_t port = port_of(fd);
	struct sockaddr_in sa;

	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	expect_eq(port_of(fd), port);
	expect_eq(sa_peer(s).sin_port, htons(port));

	fd = bound_socket((struct in_addr){ 0 }, 0);
	port = port_of(fd);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	sa = sa_of(fd);
	expect_eq(sa.sin_port, htons(port));
	expect_true(sa.sin_addr.s_addr != 0);
	expect_eq(sa_peer(s).sin_addr.s_addr, sa.sin_addr.s_addr);
	/* Connected is bound. */
	sa = sa_make(my_addr(), 0);
	expect_err(bind(fd, (void *)&sa, sizeof(sa)), EINVAL);
	expect_err(listen(fd, 1), EINVAL);
}

/* A port that was asked for (not any, 0) stays after a refusal. */
static void refused_keeps_bound(void)
{
	uint16_t port = free_port();
	int fd = bound_socket(my_addr(), port), l;

	expect_err(connect_to(fd, my_addr(), free_port()), ECONNREFUSED);
	expect_eq(port_of(fd), port);
	l = new_listener(5);
	expect_ret(connect_to(fd, my_addr(), port_of(l)), 0);
	expect_eq(port_of(fd), port);
}

static void to_address(struct in_addr bind_to, struct in_addr to)
{
	int l = bound_socket(bind_to, 0), fd = new_socket(), s;

	expect_ret(listen(l, 5), 0);
	expect_ret(connect_to(fd, to, port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	expect_true(sa_of(s).sin_addr.s_addr != 0);
	expect_true(sa_peer(fd).sin_addr.s_addr != 0);
	expect_eq(sa_of(s).sin_addr.s_addr, sa_peer(fd).sin_addr.s_addr);
	expect_eq(sa_of(fd).sin_addr.s_addr, sa_peer(s).sin_addr.s_addr);
	swap_bytes(fd, s);
}

static void to_any(void)
{
	to_address((struct in_addr){ 0 }, (struct in_addr){ 0 });
}

static void to_loopback(void)
{
	to_address(ip("127.0.0.1"), ip("127.0.0.1"));
	to_address((struct in_addr){ 0 }, ip("127.0.0.1"));
	to_address(ip("127.0.0.3"), ip("127.0.0.3"));
}

static void to_any_loopback_listener(void)
{
	to_address(ip("127.0.0.1"), (struct in_addr){ 0 });
}

static void wrong_local_address(void)
{
	int l = bound_socket(ip("127.0.0.1"), 0);

	expect_ret(listen(l, 5), 0);
	/* The listener is for another address than this. */
	expect_err(connect_to(new_socket(), ip("127.0.0.2"), port_of(l)),
		   ECONNREFUSED);
}

const struct test_case connect_cases[] = {
	{ "connect.names", names_client, names_server, 0 },
	{ "connect.nonblocking", nonblocking, NULL, 0 },
	{ "connect.nonblocking_poll", nonblocking_poll, NULL, 0 },
	{ "connect.connecting", connecting, NULL, 0 },
	{ "connect.refused", refused, NULL, 0 },
	{ "connect.refused_nonblocking", refused_nonblocking, NULL, 0 },
	{ "connect.refused_so_error", refused_so_error, NULL, 0 },
	{ "connect.refused_recv", refused_recv, NULL, 0 },
	{ "connect.refused_after_close", refused_after_close, NULL, 0 },
	{ "connect.refused_bound_only", refused_bound_only, NULL, 0 },
	{ "connect.refused_keeps_bound", refused_keeps_bound, NULL, 0 },
	{ "connect.port_zero", port_zero, NULL, 0 },
	{ "connect.interrupted", interrupted, NULL, 0 },
	{ "connect.restarted", restarted, NULL, 0 },
	{ "connect.sndtimeo", sndtimeo, NULL, 0 },
	{ "connect.close_connecting", close_connecting, NULL, 0 },
	{ "connect.shutdown_connecting", shutdown_connecting, NULL, 0 },
	{ "connect.no_route", no_route, NULL, 0 },
	{ "connect.not_unicast", not_unicast, NULL, 0 },
	{ "connect.bad_arguments", bad_arguments, NULL, 0 },
	{ "connect.disconnect", disconnect, peer_serve, T_SWAP },
	{ "connect.disconnect_unconnected", disconnect_unconnected, NULL, 0 },
	{ "connect.disconnect_listener", disconnect_listener, NULL, 0 },
	{ "connect.listening_socket", listening_socket, NULL, 0 },
	{ "connect.bound_first", bound_first, NULL, 0 },
	{ "connect.to_any", to_any, NULL, 0 },
	{ "connect.to_loopback", to_loopback, NULL, 0 },
	{ "connect.to_any_loopback_listener", to_any_loopback_listener, NULL,
	  0 },
	{ "connect.wrong_local_address", wrong_local_address, NULL, 0 },
};
TABLE_END(connect);
