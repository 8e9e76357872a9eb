// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* setsockopt() and getsockopt(): what is set reads back, the rest is refused. */
#include "harness.h"

static const struct {
	int level, name;
} booleans[] = {
	{ SOL_SOCKET, SO_KEEPALIVE }, { SOL_SOCKET, SO_OOBINLINE },
	{ SOL_SOCKET, SO_REUSEADDR }, { IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_CORK },
};

static void boolean_values(void)
{
	int fd = new_socket();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(booleans); i++) {
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 0);
		set_int(fd, booleans[i].level, booleans[i].name, 1);
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 1);
		set_int(fd, booleans[i].level, booleans[i].name, 0);
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 0);
		/* Any other number is 1. */
		set_int(fd, booleans[i].level, booleans[i].name, 42);
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 1);
		set_int(fd, booleans[i].level, booleans[i].name, 0);
	}
}

static void connected_values(void)
{
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(booleans); i++) {
		set_int(fd, booleans[i].level, booleans[i].name, 1);
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 1);
		set_int(fd, booleans[i].level, booleans[i].name, 0);
		expect_eq(get_int(fd, booleans[i].level, booleans[i].name), 0);
	}
	send_pat(fd, 100);
	peer_recv(100);
}

static void kind(void)
{
	int fd = new_socket(), l = new_listener(1);

	expect_eq(get_int(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	expect_eq(get_int(fd, SOL_SOCKET, SO_DOMAIN), AF_INET);
	expect_eq(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	expect_eq(get_int(l, SOL_SOCKET, SO_ACCEPTCONN), 1);
	expect_eq(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
}

static void not_settable(void)
{
	static const int names[] = { SO_TYPE, SO_ERROR, SO_ACCEPTCONN,
				     SO_DOMAIN, SO_PROTOCOL };
	int fd = new_socket(), one = 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		expect_err(setsockopt(fd, SOL_SOCKET, names[i], &one,
				      sizeof(one)), ENOPROTOOPT);
}

static int sysctl_int(const char *path)
{
	FILE *f = fopen(path, "r");
	int v = -1;

	if (!f || fscanf(f, "%d", &v) != 1)
		fail("can't read %s", path);
	fclose(f);
	return v;
}

static void buffer_sizes(void)
{
	static const int sizes[] = { 8192, 20000, 65536, 131072 };
	int rmax = sysctl_int("/proc/sys/net/core/rmem_max");
	int wmax = sysctl_int("/proc/sys/net/core/wmem_max");
	int fd = new_socket();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		set_int(fd, SOL_SOCKET, SO_RCVBUF, sizes[i]);
		set_int(fd, SOL_SOCKET, SO_SNDBUF, sizes[i]);
		expect_eq(get_int(fd, SOL_SOCKET, SO_RCVBUF),
			  2 * (sizes[i] < rmax ? sizes[i] : rmax));
		expect_eq(get_int(fd, SOL_SOCKET, SO_SNDBUF),
			  2 * (sizes[i] < wmax ? sizes[i] : wmax));
	}
	/* Bounded below and above. */
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 1);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 1);
	expect_range(get_int(fd, SOL_SOCKET, SO_RCVBUF), 1000, 8192);
	expect_range(get_int(fd, SOL_SOCKET, SO_SNDBUF), 1000, 16384);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 1 << 30);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 1 << 30);
	expect_eq(get_int(fd, SOL_SOCKET, SO_RCVBUF), 2LL * rmax);
	expect_eq(get_int(fd, SOL_SOCKET, SO_SNDBUF), 2LL * wmax);
}

static void smallest_buffers_work(void)
{
	int fd = conn_open_bufs(1, 1, 1, 1);

	peer_start(P_RECV, 100000, 0, 0);
	send_pat(fd, 100000);
	expect_eq(peer_join(), 100000);
	peer_start(P_SEND, 100000, 0, 0);
	recv_pat(fd, 100000);
	expect_eq(peer_join(), 100000);
}

static void buffers_change_while_connected(void)
{
	static const int sizes[] = { 5000, 200000, 20000, 1, 100000 };
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		set_int(fd, SOL_SOCKET, SO_RCVBUF, sizes[i]);
		set_int(fd, SOL_SOCKET, SO_SNDBUF, sizes[i]);
		peer_setopt(SOL_SOCKET, SO_RCVBUF, sizes[i]);
		peer_start(P_ECHO, 200000, 30000, 0);
		{
			size_t n;

			for (n = 0; n < 200000; n += 1000) {
				send_pat(fd, 1000);
				recv_pat(fd, 1000);
			}
		}
		expect_eq(peer_join(), 200000);
	}
}

static void linger_values(void)
{
	int fd = new_socket();
	struct linger l = { 9, 9 };
	socklen_t len = sizeof(l);

	expect_ret(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len), 0);
	expect_eq(l.l_onoff, 0);
	set_linger(fd, 5, 12);
	expect_ret(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len), 0);
	expect_eq(len, sizeof(l));
	expect_eq(l.l_onoff, 1);
	expect_eq(l.l_linger, 12);
	set_linger(fd, 0, 0);
	expect_ret(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len), 0);
	expect_eq(l.l_onoff, 0);
	expect_err(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, 4), EINVAL);
}

static void timeout_values(void)
{
	static const int names[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	int fd = new_socket();
	size_t i;

	for (i = 0; i < 2; i++) {
		struct timeval tv = { 9, 9 };
		socklen_t len = sizeof(tv);

		expect_ret(getsockopt(fd, SOL_SOCKET, names[i], &tv, &len), 0);
		expect_eq(tv.tv_sec, 0);
		expect_eq(tv.tv_usec, 0);
		set_timeo(fd, names[i], 2500);
		expect_ret(getsockopt(fd, SOL_SOCKET, names[i], &tv, &len), 0);
		expect_eq(tv.tv_sec, 2);
		expect_eq(tv.tv_usec, 500000);
		tv = (struct timeval){ 1, 1000000 };
		expect_err(setsockopt(fd, SOL_SOCKET, names[i], &tv,
				      sizeof(tv)), EDOM);
		expect_err(setsockopt(fd, SOL_SOCKET, names[i], &tv, 4),
			   EINVAL);
	}
}

static void lowat_values(void)
{
	int fd = new_socket(), one = 1;

	expect_eq(get_int(fd, SOL_SOCKET, SO_RCVLOWAT), 1);
	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 500);
	expect_eq(get_int(fd, SOL_SOCKET, SO_RCVLOWAT), 500);
	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 0);
	expect_eq(get_int(fd, SOL_SOCKET, SO_RCVLOWAT), 1);
	expect_eq(get_int(fd, SOL_SOCKET, SO_SNDLOWAT), 1);
	expect_err(setsockopt(fd, SOL_SOCKET, SO_SNDLOWAT, &one, sizeof(one)),
		   ENOPROTOOPT);
}

static void keepalive_values(void)
{
	static const struct { int name, max; } t[] = {
		{ TCP_KEEPIDLE, 32767 }, { TCP_KEEPINTVL, 32767 },
		{ TCP_KEEPCNT, 127 },
	};
	int fd = new_socket();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		int bad[] = { 0, -1, t[i].max + 1 };
		size_t k;

		expect_true(get_int(fd, IPPROTO_TCP, t[i].name) > 0);
		set_int(fd, IPPROTO_TCP, t[i].name, 17);
		expect_eq(get_int(fd, IPPROTO_TCP, t[i].name), 17);
		set_int(fd, IPPROTO_TCP, t[i].name, t[i].max);
		expect_eq(get_int(fd, IPPROTO_TCP, t[i].name), t[i].max);
		for (k = 0; k < 3; k++)
			expect_err(setsockopt(fd, IPPROTO_TCP, t[i].name,
					      &bad[k], sizeof(int)), EINVAL);
		expect_eq(get_int(fd, IPPROTO_TCP, t[i].name), t[i].max);
	}
}

/* A healthy idle connection outlives its probes. */
static void keepalive_idle(void)
{
	int fd = conn_open();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 1);
	expect_ret(poll(&p, 1, env.family == AF_INET ? 1200 : 5000), 0);
	expect_eq(so_error(fd), 0);
	send_pat(fd, 10);
	peer_recv(10);
	peer_send(10);
	recv_pat(fd, 10);
}

static void maxseg(void)
{
	int fd = conn_open();

	expect_range(get_int(fd, IPPROTO_TCP, TCP_MAXSEG), 256, 1 << 20);
	expect_true(get_int(new_socket(), IPPROTO_TCP, TCP_MAXSEG) > 0);
}

static void unknown(void)
{
	int fd = new_socket(), v = 1;
	socklen_t len = sizeof(v);

	expect_err(setsockopt(fd, SOL_SOCKET, 9999, &v, len), ENOPROTOOPT);
	expect_err(getsockopt(fd, SOL_SOCKET, 9999, &v, &len), ENOPROTOOPT);
	expect_err(setsockopt(fd, IPPROTO_TCP, 9999, &v, len), ENOPROTOOPT);
	expect_err(getsockopt(fd, IPPROTO_TCP, 9999, &v, &len), ENOPROTOOPT);
	expect_err(setsockopt(fd, 9999, 1, &v, len), ENOPROTOOPT);
	/* TCP on some kernels: EOPNOTSUPP here */
	expect_ret(getsockopt(fd, 9999, 1, &v, &len), -1);
	expect_true(errno == ENOPROTOOPT || errno == EOPNOTSUPP);
	/* The numbers of one level mean nothing on another. */
	expect_err(setsockopt(fd, IPPROTO_UDP, TCP_NODELAY, &v, len),
		   ENOPROTOOPT);
	expect_eq(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 0);
}

static void bad_length(void)
{
	int fd = new_socket(), v = 1;
	socklen_t len;
	char byte = 0x77;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(booleans); i++) {
		int lv = booleans[i].level, nm = booleans[i].name;

		expect_err(setsockopt(fd, lv, nm, &v, 0), EINVAL);
		expect_err(setsockopt(fd, lv, nm, &v, 3), EINVAL);
		expect_err(setsockopt(fd, lv, nm, &v, -1), EINVAL);
		expect_eq(get_int(fd, lv, nm), 0);
		len = -1;
		expect_err(getsockopt(fd, lv, nm, &v, &len), EINVAL);
		/* A short answer is cut, not refused. */
		len = 1;
		byte = 0x77;
		expect_ret(getsockopt(fd, lv, nm, &byte, &len), 0);
		expect_eq(len, 1);
		expect_eq(byte, 0);
		len = 0;
		expect_ret(getsockopt(fd, lv, nm, &v, &len), 0);
		expect_eq(len, 0);
	}
}

static void long_length(void)
{
	struct { int v; char more[60]; } big = { .v = 1 };
	int fd = new_socket();
	socklen_t len = sizeof(big);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(booleans); i++) {
		expect_ret(setsockopt(fd, booleans[i].level, booleans[i].name,
				      &big, sizeof(big)), 0);
		len = sizeof(big);
		expect_ret(getsockopt(fd, booleans[i].level, booleans[i].name,
				      &big, &len), 0);
		expect_eq(len, sizeof(int));
		expect_eq(big.v, 1);
	}
}

static void bad_pointer(void)
{
	int fd = new_socket(), v;
	socklen_t len = sizeof(v);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(booleans); i++) {
		int lv = booleans[i].level, nm = booleans[i].name;

		expect_err(setsockopt(fd, lv, nm, NULL, 4), EFAULT);
		expect_err(setsockopt(fd, lv, nm, (void *)8, 4), EFAULT);
		expect_err(getsockopt(fd, lv, nm, NULL, &len), EFAULT);
		expect_err(getsockopt(fd, lv, nm, &v, NULL), EFAULT);
		expect_eq(get_int(fd, lv, nm), 0);
	}
	expect_err(setsockopt(fd, SOL_SOCKET, SO_LINGER, NULL, 8), EFAULT);
	expect_err(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, NULL, 4), EFAULT);
}

/* ---- names in every state -------------------------------------------------- */

static void names_by_state(void)
{
	int fd = conn_open();
	struct sockaddr_in me = sa_of(fd), peer = sa_peer(fd), sa;
	unsigned char raw[16];
	socklen_t len = sizeof(sa);

	memset(raw, 0xee, sizeof(raw));
	len = 4;
	expect_ret(getsockname(fd, (void *)raw, &len), 0);
	expect_eq(len, sizeof(sa));
	expect_eq(raw[4], 0xee);
	len = -1;
	expect_err(getsockname(fd, (void *)raw, &len), EINVAL);
	len = sizeof(sa);
	expect_err(getpeername(fd, NULL, &len), EFAULT);

	peer_shutdown(SHUT_WR);
	wait_bits(fd, POLLRDHUP);
	expect_eq(sa_of(fd).sin_port, me.sin_port);
	expect_eq(sa_peer(fd).sin_port, peer.sin_port);
	peer_abort();
	wait_bits(fd, POLLERR);
	len = sizeof(sa);
	expect_err(getpeername(fd, (void *)&sa, &len), ENOTCONN);
}

const struct test_case options_cases[] = {
	{ "options.boolean_values", boolean_values, NULL, 0 },
	{ "options.connected_values", connected_values, peer_serve, T_SWAP },
	{ "options.kind", kind, NULL, 0 },
	{ "options.not_settable", not_settable, NULL, 0 },
	{ "options.buffer_sizes", buffer_sizes, NULL, 0 },
	{ "options.smallest_buffers_work", smallest_buffers_work, peer_serve,
	  T_SWAP },
	{ "options.buffers_change_while_connected",
	  buffers_change_while_connected, peer_serve, 0 },
	{ "options.linger_values", linger_values, NULL, 0 },
	{ "options.timeout_values", timeout_values, NULL, 0 },
	{ "options.lowat_values", lowat_values, NULL, 0 },
	{ "options.keepalive_values", keepalive_values, NULL, 0 },
	{ "options.keepalive_idle", keepalive_idle, peer_serve, 0 },
	{ "options.maxseg", maxseg, peer_serve, 0 },
	{ "options.unknown", unknown, NULL, 0 },
	{ "options.bad_length", bad_length, NULL, 0 },
	{ "options.long_length", long_length, NULL, 0 },
	{ "options.bad_pointer", bad_pointer, NULL, 0 },
	{ "options.names_by_state", names_by_state, peer_serve, T_SWAP },
};
TABLE_END(options);
