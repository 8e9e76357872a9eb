// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The end of a connection: orderly, half, aborted, lingering, in a hurry. */
#include "harness.h"

#define RESET_BITS (POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

static void data_then_close(void)
{
	static const size_t n[] = { 0, 1, 5000, 100000, 1 << 20 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		int fd = conn_open();

		peer_start(P_RECV_EOF, 0, 0, 0);
		send_pat(fd, n[i]);
		expect_ret(close(fd), 0);
		expect_eq(peer_join(), n[i]);
	}
}

static void peer_data_then_close(void)
{
	int fd = conn_open();

	peer_start(P_SEND, 50000, 0, 0);
	recv_pat(fd, 1);
	expect_eq(peer_join(), 50000);
	peer_close();
	recv_pat(fd, 49999);
	expect_eof(fd);
	expect_eof(fd);
}

/* close() doesn't wait: what it leaves is sent by the kernel. */
static void close_with_data_queued(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);

	expect_ret(close(fd), 0);
	peer_eof(n);
}

static void unread_data_resets(void)
{
	int fd = conn_open();

	peer_send(10);
	wait_inq(fd, 10);
	expect_ret(close(fd), 0);
	expect_eq(peer_call(P_POLL, RESET_BITS, 0, 0), 0);
	expect_eq(peer_call(P_RECV, 1, 0, 0), -ECONNRESET);
	expect_eq(peer_call(P_RECV, 1, 0, 0), 0);
}

/* Part of it was read: still a reset. */
static void partly_read_data_resets(void)
{
	int fd = conn_open();

	peer_send(10);
	recv_pat(fd, 9);
	expect_ret(close(fd), 0);
	expect_eq(peer_call(P_POLL, RESET_BITS, 0, 0), 0);
	expect_eq(peer_call(P_GETERR, 0, 0, 0), ECONNRESET);
}

static void linger0_aborts(void)
{
	int fd = conn_open();

	set_linger(fd, 1, 0);
	expect_ret(close(fd), 0);
	expect_eq(peer_call(P_RECV, 1, 0, 0), -ECONNRESET);
	expect_eq(peer_call(P_SEND, 1, 0, 0), -EPIPE);
}

static void linger0_drops_queue(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);

	flood(fd, 64 << 20);
	set_linger(fd, 1, 0);
	expect_ret(close(fd), 0);
	expect_eq(peer_call(P_POLL, RESET_BITS, 0, 0), 0);
}

static void w_close(struct worker *w)
{
	w->ret = close(w->fd);
	w->err = errno;
}

static void linger_waits(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);
	struct worker w = { .fd = fd };

	set_linger(fd, 1, 60);
	worker_start(&w, w_close);
	wait_blocked(w.tid, SYS_close);
	expect_true(!w.done);
	peer_eof(n);
	worker_join(&w);
	expect_eq(w.ret, 0);
}

static void linger_runs_out(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);
	int64_t t0 = now_ms();

	set_linger(fd, 1, 1);
	close(fd);
	expect_range(now_ms() - t0, 900, WAIT_MS);
	/* TCP goes on sending what is left. */
	peer_eof(n);
}

static void linger_idle(void)
{
	int fd = conn_open();
	int64_t t0 = now_ms();

	send_pat(fd, 1000);
	wait_outq0(fd);
	set_linger(fd, 1, 100);
	expect_ret(close(fd), 0);
	expect_true(now_ms() - t0 < WAIT_MS);
	peer_eof(1000);
}

static void linger_nonblocking(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);

	/* O_NONBLOCK changes nothing for close(): a signal ends the wait. */
	struct worker w = { .fd = fd };

	set_nonblock(fd, true);
	set_linger(fd, 1, 60);
	count_signal(SIGUSR1, false);
	worker_start(&w, w_close);
	wait_blocked(w.tid, SYS_close);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	peer_eof(n);
}

/* ---- shutdown ------------------------------------------------------------- */

static void half_close(void)
{
	int fd = conn_open();

	send_pat(fd, 1000);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	peer_eof(1000);
	/* The other direction still flows, both small and large. */
	peer_send(10);
	recv_pat(fd, 10);
	peer_start(P_SEND, 300000, 0, 0);
	recv_pat(fd, 300000);
	expect_eq(peer_join(), 300000);
	peer_close();
	expect_eof(fd);
}

static void half_closed_by_peer(void)
{
	int fd = conn_open();

	peer_shutdown(SHUT_WR);
	expect_eof(fd);
	peer_start(P_RECV, 300000, 0, 0);
	send_pat(fd, 300000);
	expect_eq(peer_join(), 300000);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	peer_eof(0);
}

static void shut_write_fails_send(void)
{
	int fd = conn_open();

	expect_ret(shutdown(fd, SHUT_WR), 0);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL | MSG_OOB), EPIPE);
	expect_eq(so_error(fd), 0);
	expect_ret(shutdown(fd, SHUT_WR), 0);	/* again is no fault */
	peer_send(3);
	recv_pat(fd, 3);
}

static void shut_write_sends_queue(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);

	expect_ret(shutdown(fd, SHUT_WR), 0);
	peer_eof(n);
	peer_send(5);
	recv_pat(fd, 5);
}

static void shut_read(void)
{
	int fd = conn_open();
	char c;

	peer_send(10);
	wait_inq(fd, 10);
	expect_ret(shutdown(fd, SHUT_RD), 0);
	/* What was there can be read, then it ends without waiting. */
	recv_pat(fd, 10);
	expect_ret(recv(fd, &c, 1, 0), 0);
	/* Writing goes on. */
	send_pat(fd, 1000);
	peer_recv(1000);
}

static void shut_read_wakes(void)
{
	char c;
	struct worker w = { .fd = conn_open(), .buf = &c, .len = 1 };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	expect_ret(shutdown(w.fd, SHUT_RD), 0);
	worker_join(&w);
	expect_eq(w.ret, 0);
}

static void shut_write_wakes_sender(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	char *buf = calloc(1, 1 << 20);
	struct worker w = { .fd = fd, .buf = buf, .len = 1 << 20 };

	flood(fd, 64 << 20);
	worker_start(&w, w_send);
	wait_blocked(w.tid, SYS_sendto);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	worker_join(&w);
	expect_true(w.ret < 1 << 20);
	if (w.ret < 0)
		expect_eq(w.err, EPIPE);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	free(buf);
}

static void shut_both(void)
{
	int fd = conn_open();

	send_pat(fd, 10);
	expect_ret(shutdown(fd, SHUT_RDWR), 0);
	expect_poll(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	expect_eof(fd);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	peer_eof(10);
	peer_close();
}

static void shut_bad_how(void)
{
	int fd = conn_open();

	expect_err(shutdown(fd, 3), EINVAL);
	expect_err(shutdown(fd, -1), EINVAL);
	expect_err(shutdown(fd, 1 << 20), EINVAL);
	send_pat(fd, 1);
	peer_recv(1);
}

/* ---- errors and their order ------------------------------------------------- */

static void recv_tells_once(void)
{
	int fd = conn_open();
	char c;

	peer_abort();
	expect_err(recv(fd, &c, 1, 0), ECONNRESET);
	expect_ret(recv(fd, &c, 1, 0), 0);
	expect_ret(recv(fd, &c, 1, MSG_DONTWAIT), 0);
	expect_eq(so_error(fd), 0);
	expect_err(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
}

static void send_tells_once(void)
{
	int fd = conn_open();
	char c;

	peer_abort();
	wait_bits(fd, POLLERR);
	count_signal(SIGPIPE, false);
	expect_err(send(fd, "x", 1, 0), ECONNRESET);
	expect_eq(sig_count, 0);
	expect_err(send(fd, "x", 1, 0), EPIPE);
	expect_eq(sig_count, 1);
	expect_ret(recv(fd, &c, 1, 0), 0);
}

static void so_error_tells_once(void)
{
	int fd = conn_open();
	char c;

	peer_abort();
	wait_bits(fd, POLLERR);
	expect_eq(so_error(fd), ECONNRESET);
	expect_eq(so_error(fd), 0);
	expect_poll(fd, RESET_BITS & ~POLLERR);
	expect_ret(recv(fd, &c, 1, 0), 0);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

/* What had arrived before the reset can be read first. */
static void data_before_reset(void)
{
	int fd = conn_open();
	char c;

	peer_send(100);
	wait_inq(fd, 100);
	peer_abort();
	wait_bits(fd, POLLERR);
	recv_pat(fd, 100);
	expect_err(recv(fd, &c, 1, 0), ECONNRESET);
	expect_ret(recv(fd, &c, 1, 0), 0);
}

/* The peer has closed: the first send may succeed, in the end it is EPIPE. */
static void send_after_peer_close(void)
{
	int fd = conn_open();
	int64_t until = now_ms() + WAIT_MS;

	peer_close();
	expect_eof(fd);
	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
		expect_true(now_ms() < until);
		nap();
	}
	expect_eq(errno, EPIPE);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	expect_eof(fd);
}

static void reader_wakes_on_close(void)
{
	char c;
	struct worker w = { .fd = conn_open(), .buf = &c, .len = 1 };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_close();
	worker_join(&w);
	expect_eq(w.ret, 0);
}

static void reader_wakes_on_reset(void)
{
	char c;
	struct worker w = { .fd = conn_open(), .buf = &c, .len = 1 };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_abort();
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, ECONNRESET);
}

/* The peer closes without reading: that is a reset for a blocked sender. */
static void sender_wakes_on_close(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	char *buf = calloc(1, 1 << 20);
	struct worker w = { .fd = fd, .buf = buf, .len = 1 << 20 };

	flood(fd, 64 << 20);
	worker_start(&w, w_send);
	wait_blocked(w.tid, SYS_sendto);
	peer_close();
	worker_join(&w);
	if (w.ret < 0)
		expect_eq(w.err, ECONNRESET);
	else
		expect_true(w.ret < 1 << 20);
	wait_bits(fd, POLLHUP | POLLRDHUP);
	free(buf);
}

/* close() in one thread, recv() in another: it ends when the peer ends. */
static void close_under_reader(void)
{
	char c;
	struct worker w = { .fd = conn_open(), .buf = &c, .len = 1 };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	expect_ret(close(w.fd), 0);
	expect_err(recv(w.fd, &c, 1, 0), EBADF);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, 1);
	peer_eof(0);
}

static void simultaneous(void)
{
	int i;

	for (i = 0; i < 30; i++) {
		int fd = conn_open();

		peer_start(i % 3 ? P_CLOSE : P_SHUTDOWN, SHUT_WR, 0, 0);
		if (i % 2)
			shutdown(fd, SHUT_WR);
		expect_eq(peer_join(), 0);
		if (i % 2)
			expect_eof(fd);
		close(fd);
	}
}

static void abort_both(void)
{
	int i;

	for (i = 0; i < 30; i++) {
		int fd = conn_open();

		set_linger(fd, 1, 0);
		peer_start(P_ABORT, 0, 0, 0);
		close(fd);
		expect_eq(peer_join(), 0);
	}
}

const struct test_case close_cases[] = {
	{ "close.data_then_close", data_then_close, peer_serve, T_SWAP },
	{ "close.peer_data_then_close", peer_data_then_close, peer_serve, 0 },
	{ "close.close_with_data_queued", close_with_data_queued, peer_serve,
	  T_SWAP },
	{ "close.unread_data_resets", unread_data_resets, peer_serve, T_SWAP },
	{ "close.partly_read_data_resets", partly_read_data_resets, peer_serve,
	  0 },
	{ "close.linger0_aborts", linger0_aborts, peer_serve, T_SWAP },
	{ "close.linger0_drops_queue", linger0_drops_queue, peer_serve, 0 },
	{ "close.linger_waits", linger_waits, peer_serve, T_SWAP },
	{ "close.linger_runs_out", linger_runs_out, peer_serve, 0 },
	{ "close.linger_idle", linger_idle, peer_serve, 0 },
	{ "close.linger_nonblocking", linger_nonblocking, peer_serve, 0 },
	{ "close.half_close", half_close, peer_serve, T_SWAP },
	{ "close.half_closed_by_peer", half_closed_by_peer, peer_serve, 0 },
	{ "close.shut_write_fails_send", shut_write_fails_send, peer_serve,
	  0 },
	{ "close.shut_write_sends_queue", shut_write_sends_queue, peer_serve,
	  0 },
	{ "close.shut_read", shut_read, peer_serve, 0 },
	{ "close.shut_read_wakes", shut_read_wakes, peer_serve, 0 },
	{ "close.shut_write_wakes_sender", shut_write_wakes_sender, peer_serve,
	  0 },
	{ "close.shut_both", shut_both, peer_serve, T_SWAP },
	{ "close.shut_bad_how", shut_bad_how, peer_serve, 0 },
	{ "close.recv_tells_once", recv_tells_once, peer_serve, T_SWAP },
	{ "close.send_tells_once", send_tells_once, peer_serve, T_SWAP },
	{ "close.so_error_tells_once", so_error_tells_once, peer_serve, 0 },
	{ "close.data_before_reset", data_before_reset, peer_serve, T_SWAP },
	{ "close.send_after_peer_close", send_after_peer_close, peer_serve,
	  T_SWAP },
	{ "close.reader_wakes_on_close", reader_wakes_on_close, peer_serve,
	  T_SWAP },
	{ "close.reader_wakes_on_reset", reader_wakes_on_reset, peer_serve,
	  0 },
	{ "close.sender_wakes_on_close", sender_wakes_on_close, peer_serve,
	  T_SWAP },
	{ "close.close_under_reader", close_under_reader, peer_serve, 0 },
	{ "close.simultaneous", simultaneous, peer_serve, 0 },
	{ "close.abort_both", abort_both, peer_serve, 0 },
};
TABLE_END(close);
