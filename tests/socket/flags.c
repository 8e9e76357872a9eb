// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* MSG_* flags of send and receive. */
#include "harness.h"

static void peek(void)
{
	int fd = conn_open();
	char buf[200];

	peer_send(100);
	wait_inq(fd, 100);
	/* As often as one likes, any part, nothing is taken. */
	expect_ret(recv(fd, buf, 200, MSG_PEEK), 100);
	pat_check(buf, 0, 100);
	expect_ret(recv(fd, buf, 200, MSG_PEEK), 100);
	pat_check(buf, 0, 100);
	expect_ret(recv(fd, buf, 10, MSG_PEEK), 10);
	pat_check(buf, 0, 10);
	expect_ret(recv(fd, buf, 30, 0), 30);
	expect_ret(recv(fd, buf, 200, MSG_PEEK), 70);
	pat_check(buf, 30, 70);
	pos[fd].rx = 30;
	recv_pat(fd, 70);
	expect_err(recv(fd, buf, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
}

static void peek_across_messages(void)
{
	int fd = conn_open();
	char *buf = malloc(100000);
	size_t n = 20000 + 1 + 7000 + 3000;

	peer_send(20000);
	peer_send(1);
	peer_send(7000);
	peer_send(3000);
	wait_inq(fd, n);
	expect_ret(recv(fd, buf, 100000, MSG_PEEK), n);
	pat_check(buf, 0, n);
	expect_ret(recv(fd, buf, 20005, MSG_PEEK), 20005);
	pat_check(buf, 0, 20005);
	recv_pat(fd, 19999);
	expect_ret(recv(fd, buf, 10, MSG_PEEK), 10);
	pat_check(buf, 19999, 10);
	recv_pat(fd, n - 19999);
	free(buf);
}

static void peek_blocks(void)
{
	int fd = conn_open();
	char buf[10];
	struct worker w = { .fd = fd, .buf = buf, .len = 10,
			    .flags = MSG_PEEK };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_send(3);
	worker_join(&w);
	expect_range(w.ret, 1, 3);
	pat_check(buf, 0, w.ret);
	recv_pat(fd, 3);
	/* at the end of the stream */
	peer_shutdown(SHUT_WR);
	expect_ret(recv(fd, buf, 10, MSG_PEEK), 0);
	expect_ret(recv(fd, buf, 10, MSG_PEEK), 0);
}

static void peek_before_reset(void)
{
	int fd = conn_open();
	char buf[10];

	peer_abort();
	wait_bits(fd, POLLERR);
	expect_err(recv(fd, buf, 10, MSG_PEEK), ECONNRESET);
	expect_ret(recv(fd, buf, 10, MSG_PEEK), 0);
}

static void waitall(void)
{
	int fd = conn_open();
	char buf[3000];
	struct worker w = { .fd = fd, .buf = buf, .len = 3000,
			    .flags = MSG_WAITALL };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_send(1000);
	peer_send(1999);
	expect_eq(peer_call(P_SENT, 0, 0, 0), 0);
	wait_blocked(w.tid, SYS_recvfrom);
	expect_true(!w.done);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, 3000);
	pat_check(buf, 0, 3000);
}

static void waitall_large(void)
{
	int fd = conn_open();
	size_t n = 3 << 20;	/* more than the buffers hold */
	char *buf = malloc(n);

	peer_start(P_SEND, n, 0, 0);
	expect_ret(recv(fd, buf, n, MSG_WAITALL), n);
	pat_check(buf, 0, n);
	expect_eq(peer_join(), n);
	free(buf);
}

static void waitall_eof(void)
{
	int fd = conn_open();
	char buf[100];

	peer_send(40);
	peer_shutdown(SHUT_WR);
	expect_ret(recv(fd, buf, 100, MSG_WAITALL), 40);
	pat_check(buf, 0, 40);
	expect_ret(recv(fd, buf, 100, MSG_WAITALL), 0);
}

static void waitall_signal(void)
{
	int fd = conn_open();
	char buf[100];
	struct worker w = { .fd = fd, .buf = buf, .len = 100,
			    .flags = MSG_WAITALL };

	count_signal(SIGUSR1, false);
	peer_send(40);
	wait_inq(fd, 40);
	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	/* What there was counts. */
	expect_eq(w.ret, 40);
	pat_check(buf, 0, 40);
}

static void waitall_timeout(void)
{
	int fd = conn_open();
	char buf[100];
	int64_t t0;

	set_timeo(fd, SO_RCVTIMEO, 100);
	peer_send(40);
	wait_inq(fd, 40);
	t0 = now_ms();
	expect_ret(recv(fd, buf, 100, MSG_WAITALL), 40);
	expect_true(now_ms() - t0 >= 80);
	expect_err(recv(fd, buf, 100, MSG_WAITALL), EAGAIN);
}

static void waitall_dontwait(void)
{
	int fd = conn_open();
	char buf[100];

	peer_send(40);
	wait_inq(fd, 40);
	expect_ret(recv(fd, buf, 100, MSG_WAITALL | MSG_DONTWAIT), 40);
}

static void waitall_reset(void)
{
	int fd = conn_open();
	char buf[100];
	struct worker w = { .fd = fd, .buf = buf, .len = 100,
			    .flags = MSG_WAITALL };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_abort();
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, ECONNRESET);
	expect_ret(recv(fd, buf, 1, 0), 0);
}

static void waitall_peek(void)
{
	int fd = conn_open();
	char buf[100];
	struct worker w = { .fd = fd, .buf = buf, .len = 100,
			    .flags = MSG_WAITALL | MSG_PEEK };

	peer_send(60);
	wait_inq(fd, 60);
	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_send(40);
	worker_join(&w);
	expect_eq(w.ret, 100);
	pat_check(buf, 0, 100);
	recv_pat(fd, 100);
}

/* TCP throws the bytes away and says how many. */
static void trunc_discards(void)
{
	int fd = conn_open();
	char buf[100];

	memset(buf, 0x5a, sizeof(buf));
	peer_send(100);
	wait_inq(fd, 100);
	expect_ret(recv(fd, buf, 30, MSG_TRUNC), 30);
	expect_eq(buf[0], 0x5a);
	expect_eq(buf[29], 0x5a);
	expect_ret(recv(fd, NULL, 20, MSG_TRUNC), 20);
	pos[fd].rx = 50;
	recv_pat(fd, 50);
}

static void errqueue_is_empty(void)
{
	int fd = conn_open();
	char buf[100];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	peer_send(50);
	wait_inq(fd, 50);
	/* never payload */
	expect_err(recvmsg(fd, &m, MSG_ERRQUEUE), EAGAIN);
	recv_pat(fd, 50);
}

static void harmless_flags(void)
{
	int fd = conn_open();
	char buf[100];
	struct iovec iov = { buf, 10 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	pat_fill(buf, 0, 10);
	expect_ret(send(fd, buf, 10, MSG_EOR | MSG_NOSIGNAL | MSG_DONTROUTE),
		   10);
	peer_recv(10);
	peer_send(10);
	wait_inq(fd, 10);
	expect_ret(recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_NOSIGNAL), 10);
	pat_check(buf, 0, 10);
	expect_eq(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC | MSG_OOB |
				 MSG_ERRQUEUE), 0);
}

static void no_ancillary_data(void)
{
	int fd = conn_open();
	char buf[10], control[100];
	struct iovec iov = { buf, 10 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct sockaddr_in sa;

	m.msg_name = &sa;
	m.msg_namelen = sizeof(sa);
	peer_send(10);
	wait_inq(fd, 10);
	expect_ret(recvmsg(fd, &m, 0), 10);
	expect_eq(m.msg_controllen, 0);
	expect_eq(m.msg_namelen, 0);
}

static void sigpipe(void)
{
	int fd = conn_open();
	struct iovec iov = { "x", 1 };

	count_signal(SIGPIPE, false);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	expect_eq(sig_count, 0);
	expect_err(send(fd, "x", 1, 0), EPIPE);
	expect_eq(sig_count, 1);
	expect_err(write(fd, "x", 1), EPIPE);
	expect_eq(sig_count, 2);
	expect_err(writev(fd, &iov, 1), EPIPE);
	expect_eq(sig_count, 3);
}

const struct test_case flags_cases[] = {
	{ "flags.peek", peek, peer_serve, T_SWAP },
	{ "flags.peek_across_messages", peek_across_messages, peer_serve, 0 },
	{ "flags.peek_blocks", peek_blocks, peer_serve, 0 },
	{ "flags.peek_before_reset", peek_before_reset, peer_serve, 0 },
	{ "flags.waitall", waitall, peer_serve, 0 },
	{ "flags.waitall_large", waitall_large, peer_serve, T_SWAP },
	{ "flags.waitall_eof", waitall_eof, peer_serve, T_SWAP },
	{ "flags.waitall_signal", waitall_signal, peer_serve, 0 },
	{ "flags.waitall_timeout", waitall_timeout, peer_serve, 0 },
	{ "flags.waitall_dontwait", waitall_dontwait, peer_serve, 0 },
	{ "flags.waitall_reset", waitall_reset, peer_serve, 0 },
	{ "flags.waitall_peek", waitall_peek, peer_serve, 0 },
	{ "flags.trunc_discards", trunc_discards, peer_serve, 0 },
	{ "flags.errqueue_is_empty", errqueue_is_empty, peer_serve, 0 },
	{ "flags.harmless_flags", harmless_flags, peer_serve, 0 },
	{ "flags.no_ancillary_data", no_ancillary_data, peer_serve, 0 },
	{ "flags.sigpipe", sigpipe, peer_serve, T_SWAP },
};
TABLE_END(flags);
