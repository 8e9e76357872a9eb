// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Urgent data as TCP has it: one byte, a mark, SIGURG, POLLPRI. */
#include "harness.h"

#include <linux/sockios.h>

static int at_mark(int fd)
{
	int v = -1;

	expect_ret(ioctl(fd, SIOCATMARK, &v), 0);
	return v;
}

static void basic(void)
{
	int fd = conn_open();
	char c = 0;

	peer_send(10);
	peer_oob();
	wait_bits(fd, POLLPRI);
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	pat_check(&c, 10, 1);
	/* once only */
	expect_err(recv(fd, &c, 1, MSG_OOB), EINVAL);
	/* the stream goes on without it */
	wait_inq(fd, 10);
	recv_pat(fd, 10);
	pos[fd].rx++;
	peer_send(10);
	recv_pat(fd, 10);
}

static void out(void)
{
	int fd = conn_open();
	char c;

	send_pat(fd, 10);
	pat_fill(&c, 10, 1);
	expect_ret(send(fd, &c, 1, MSG_OOB), 1);
	pos[fd].tx++;
	send_pat(fd, 10);
	expect_eq(peer_call(P_POLL, POLLIN | POLLOUT | POLLPRI, 0, 0), 0);
	peer_recv(10);
	expect_eq(peer_call(P_SKIP, 1, 0, 0), 0);
	peer_recv(10);
}

static void nothing_there(void)
{
	int fd = conn_open();
	char c;

	expect_err(recv(fd, &c, 1, MSG_OOB), EINVAL);
	peer_send(10);
	wait_inq(fd, 10);
	expect_err(recv(fd, &c, 1, MSG_OOB), EINVAL);
	expect_eq(at_mark(fd), 0);
	recv_pat(fd, 10);
	expect_err(recv(new_socket(), &c, 1, MSG_OOB), EINVAL);
}

static void peek(void)
{
	int fd = conn_open();
	char c = 0;

	peer_oob();
	wait_bits(fd, POLLPRI);
	expect_ret(recv(fd, &c, 1, MSG_OOB | MSG_PEEK), 1);
	pat_check(&c, 0, 1);
	c = 0;
	expect_ret(recv(fd, &c, 1, MSG_OOB | MSG_PEEK), 1);
	pat_check(&c, 0, 1);
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	expect_err(recv(fd, &c, 1, MSG_OOB | MSG_PEEK), EINVAL);
}

static void recvmsg_flag(void)
{
	int fd = conn_open();
	char c[10];
	struct iovec iov = { c, sizeof(c) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	peer_oob();
	wait_bits(fd, POLLPRI);
	expect_ret(recvmsg(fd, &m, MSG_OOB), 1);
	expect_eq(m.msg_flags & MSG_OOB, MSG_OOB);
}

/* A read doesn't cross the mark. */
static void mark_stops_read(void)
{
	int fd = conn_open();
	char buf[100];

	peer_send(10);
	peer_oob();
	peer_send(20);
	wait_bits(fd, POLLPRI);
	wait_inq(fd, 10);
	expect_eq(peer_call(P_SENT, 0, 0, 0), 0);
	expect_eq(at_mark(fd), 0);
	expect_ret(recv(fd, buf, 5, 0), 5);
	expect_eq(at_mark(fd), 0);
	expect_ret(recv(fd, buf + 5, 95, 0), 5);
	pat_check(buf, 0, 10);
	expect_eq(at_mark(fd), 1);
	expect_ret(recv(fd, buf, 100, 0), 20);
	pat_check(buf, 11, 20);
	expect_eq(at_mark(fd), 0);
}

static void inline_byte(void)
{
	int fd = conn_open();
	char buf[100];

	set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	peer_send(10);
	peer_oob();
	peer_send(20);
	wait_bits(fd, POLLPRI);
	wait_inq(fd, 31);
	expect_err(recv(fd, buf, 1, MSG_OOB), EINVAL);
	expect_ret(recv(fd, buf, 100, 0), 10);
	expect_eq(at_mark(fd), 1);
	expect_ret(recv(fd, buf + 10, 90, 0), 21);
	pat_check(buf, 0, 31);
	expect_eq(at_mark(fd), 0);
}

static void mark_at_start(void)
{
	int fd = conn_open(), n = -1;
	char buf[100];

	peer_oob();
	wait_bits(fd, POLLPRI);
	expect_eq(at_mark(fd), 1);
	peer_send(20);
	wait_bits(fd, POLLIN);
	/* FIONREAD counts up to the mark: nothing. */
	expect_ret(ioctl(fd, FIONREAD, &n), 0);
	expect_eq(n, 0);
	expect_ret(recv(fd, buf, 100, 0), 20);
	pat_check(buf, 1, 20);
	expect_eq(at_mark(fd), 0);
}

/* The last byte of a longer send is the urgent one. */
static void last_byte(void)
{
	int p[2];
	char buf[100];

	local_pair(p);
	pat_fill(buf, 0, 5);
	expect_ret(send(p[0], buf, 5, MSG_OOB), 5);
	wait_bits(p[1], POLLPRI);
	expect_ret(recv(p[1], buf, 100, MSG_OOB), 1);
	pat_check(buf, 4, 1);
	wait_inq(p[1], 4);
	expect_ret(recv(p[1], buf, 100, 0), 4);
	pat_check(buf, 0, 4);
}

static void poll_bits(void)
{
	int fd = conn_open();
	char c;

	peer_oob();
	wait_poll(fd, POLLOUT | POLLPRI);
	expect_poll(fd, POLLOUT | POLLPRI);
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	wait_poll(fd, POLLOUT);
	set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	peer_oob();
	wait_poll(fd, POLLIN | POLLOUT | POLLPRI);
}

static void poll_wakes(void)
{
	struct worker w = { .fd = conn_open(), .flags = POLLPRI };

	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	peer_oob();
	worker_join(&w);
	expect_eq(w.ret, POLLPRI);
}

static void wait_signal(int n)
{
	int64_t until = now_ms() + WAIT_MS;

	while (sig_count < n) {
		if (now_ms() > until)
			fail("no signal, %d so far", (int)sig_count);
		nap();
	}
}

static void sigurg(void)
{
	int fd = conn_open();
	char c;

	count_signal(SIGURG, false);
	peer_oob();
	wait_bits(fd, POLLPRI);
	expect_eq(sig_count, 0);	/* nobody owns it yet */
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	expect_ret(fcntl(fd, F_SETOWN, getpid()), 0);
	expect_ret(fcntl(fd, F_GETOWN), getpid());
	peer_oob();
	wait_signal(1);
	wait_bits(fd, POLLPRI);
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	pat_check(&c, 1, 1);
}

static void between_large(void)
{
	int fd = conn_open(), i;
	char c;

	for (i = 0; i < 5; i++) {
		peer_start(P_SEND, 70000, 0, 0);
		recv_pat(fd, 70000);
		expect_eq(peer_join(), 70000);
		peer_oob();
		wait_bits(fd, POLLPRI);
		expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
		pat_check(&c, pos[fd].rx, 1);
		pos[fd].rx++;
	}
	peer_close();
	expect_eof(fd);
}

static void then_close(void)
{
	int fd = conn_open();
	char c;

	peer_send(5);
	peer_oob();
	peer_close();
	wait_bits(fd, POLLPRI | POLLRDHUP);
	expect_ret(recv(fd, &c, 1, MSG_OOB), 1);
	pat_check(&c, 5, 1);
	recv_pat(fd, 5);
	expect_eof(fd);
}

const struct test_case oob_cases[] = {
	{ "oob.basic", basic, peer_serve, T_SWAP },
	{ "oob.out", out, peer_serve, T_SWAP },
	{ "oob.nothing_there", nothing_there, peer_serve, 0 },
	{ "oob.peek", peek, peer_serve, 0 },
	{ "oob.recvmsg_flag", recvmsg_flag, peer_serve, 0 },
	{ "oob.mark_stops_read", mark_stops_read, peer_serve, T_SWAP },
	{ "oob.inline", inline_byte, peer_serve, T_SWAP },
	{ "oob.mark_at_start", mark_at_start, peer_serve, 0 },
	{ "oob.last_byte", last_byte, NULL, 0 },
	{ "oob.poll_bits", poll_bits, peer_serve, 0 },
	{ "oob.poll_wakes", poll_wakes, peer_serve, 0 },
	{ "oob.sigurg", sigurg, peer_serve, T_SWAP },
	{ "oob.between_large", between_large, peer_serve, 0 },
	{ "oob.then_close", then_close, peer_serve, 0 },
};
TABLE_END(oob);
