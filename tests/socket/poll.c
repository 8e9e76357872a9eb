// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* poll() and select(): TCP's bits in every state, and wake-ups. */
#include "harness.h"

#include <sys/select.h>

#define RESET_BITS (POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP)

static void unconnected(void)
{
	int fd = new_socket();

	expect_poll(fd, POLLOUT | POLLHUP);
	fd = bound_socket(my_addr(), 0);
	expect_poll(fd, POLLOUT | POLLHUP);
}

static void listening(void)
{
	int l = new_listener(5), c = new_socket();

	expect_poll(l, 0);
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	wait_poll(l, POLLIN);
	expect_ok(accept(l, NULL, NULL));
	expect_poll(l, 0);
	expect_ret(shutdown(l, SHUT_RDWR), 0);
	/* RCV_SHUTDOWN of a socket that no longer listens */
	wait_bits(l, POLLHUP);
}

static void established(void)
{
	int fd = conn_open();

	expect_poll(fd, POLLOUT);
	peer_send(10);
	wait_poll(fd, POLLIN | POLLOUT);
	recv_pat(fd, 9);
	expect_poll(fd, POLLIN | POLLOUT);
	recv_pat(fd, 1);
	expect_poll(fd, POLLOUT);
}

static void peer_shut(void)
{
	int fd = conn_open();

	peer_shutdown(SHUT_WR);
	wait_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
	expect_eof(fd);
	/* The end stays readable. */
	expect_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
	expect_eq(peer_call(P_POLL, POLLOUT, 0, 0), 0);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	wait_poll(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	expect_eq(peer_call(P_POLL, POLLIN | POLLOUT | POLLRDHUP | POLLHUP, 0,
			    0), 0);
}

static void own_shut_write(void)
{
	int fd = conn_open();

	expect_ret(shutdown(fd, SHUT_WR), 0);
	/* Writing does not block any more: it fails. */
	expect_poll(fd, POLLOUT);
	peer_send(1);
	wait_poll(fd, POLLIN | POLLOUT);
}

static void own_shut_read(void)
{
	int fd = conn_open();

	expect_ret(shutdown(fd, SHUT_RD), 0);
	expect_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
	expect_eof(fd);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	expect_poll(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

static void peer_closed(void)
{
	int fd = conn_open();

	peer_send(5);
	peer_close();
	wait_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
	recv_pat(fd, 5);
	expect_eof(fd);
	expect_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
}

static void reset(void)
{
	int fd = conn_open();
	char c;

	peer_abort();
	wait_poll(fd, RESET_BITS);
	expect_poll(fd, RESET_BITS);	/* looking changes nothing */
	expect_err(recv(fd, &c, 1, 0), ECONNRESET);
	expect_poll(fd, RESET_BITS & ~POLLERR);
	expect_ret(recv(fd, &c, 1, 0), 0);
}

static void reset_with_data_pending(void)
{
	int fd = conn_open();

	peer_send(10);
	wait_inq(fd, 10);
	peer_abort();
	wait_poll(fd, RESET_BITS);
}

static void full(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);
	struct worker w = { .fd = fd, .flags = POLLOUT };

	expect_poll(fd, 0);
	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	expect_true(!w.done);
	peer_recv(n);
	worker_join(&w);
	expect_eq(w.ret, POLLOUT);
}

static void reader_wakes(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .flags = POLLIN };

	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, POLLIN);
}

static void wakes_on_shutdown(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .flags = POLLIN | POLLRDHUP };

	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	peer_shutdown(SHUT_WR);
	worker_join(&w);
	expect_eq(w.ret, POLLIN | POLLRDHUP);
}

static void wakes_on_reset(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .flags = 0 };

	/* ERR and HUP come unasked. */
	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	peer_abort();
	worker_join(&w);
	expect_true(w.ret & (POLLERR | POLLHUP));
	wait_poll(fd, RESET_BITS);
}

static void wakes_on_own_shutdown(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .flags = POLLIN | POLLRDHUP };

	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	expect_ret(shutdown(fd, SHUT_RD), 0);
	worker_join(&w);
	expect_eq(w.ret, POLLIN | POLLRDHUP);
}

static void accept_wakes(void)
{
	int l = new_listener(5), c = new_socket();
	struct worker w = { .fd = l, .flags = POLLIN };

	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	worker_join(&w);
	expect_eq(w.ret, POLLIN);
}

static void connect_wakes(void)
{
	struct full_listener f;
	struct worker w = { .flags = POLLOUT };

	full_open(&f);
	w.fd = connect_nb(f.port);
	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	full_drain(&f, 1, NULL);
	worker_join(&w);
	expect_eq(w.ret, POLLOUT);
	expect_eq(so_error(w.fd), 0);
}

static void interrupted(void)
{
	struct worker w = { .fd = conn_open(), .flags = POLLIN };

	count_signal(SIGUSR1, false);
	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINTR);
}

/* ---- SO_RCVLOWAT ------------------------------------------------------------- */

static void lowat(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .flags = POLLIN };

	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 1000);
	peer_send(999);
	wait_inq(fd, 999);
	expect_poll(fd, POLLOUT);
	worker_start(&w, w_poll);
	wait_blocked(w.tid, -1);
	expect_true(!w.done);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, POLLIN);
	recv_pat(fd, 1);
	expect_poll(fd, POLLOUT);
	/* The end counts whatever the mark. */
	peer_shutdown(SHUT_WR);
	wait_poll(fd, POLLIN | POLLOUT | POLLRDHUP);
	recv_pat(fd, 999);
}

static void lowat_recv(void)
{
	int fd = conn_open();
	char buf[200];
	struct worker w = { .fd = fd, .buf = buf, .len = 200 };

	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 100);
	peer_send(60);
	wait_inq(fd, 60);
	/* A non-blocking receive takes less. */
	expect_ret(recv(fd, buf, 60, MSG_DONTWAIT), 60);
	/*
	 * (A receive that has taken some bytes and sleeps for the rest is not
	 * tried: TCP's wake-up counts only what is still in the queue.)
	 */
	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_send(99);
	expect_eq(peer_call(P_SENT, 0, 0, 0), 0);
	wait_blocked(w.tid, SYS_recvfrom);
	expect_true(!w.done);
	peer_send(101);
	worker_join(&w);
	expect_range(w.ret, 100, 200);
	pat_check(buf, 60, w.ret);
	pos[fd].rx = 60 + w.ret;
	/* A buffer smaller than the mark is full earlier. */
	peer_send(20);
	wait_inq(fd, 200 - w.ret + 20);
	expect_ret(recv(fd, buf, 20, 0), 20);
}

/*
 * The mark is higher than what the buffers hold by default: the sender must
 * be given the room that it needs to get there.
 */
static void lowat_above_window(void)
{
	int fd = conn_open_bufs(0, 0, 0, 0), n = 200000;
	struct worker w = { .fd = fd, .flags = POLLIN };

	set_int(fd, SOL_SOCKET, SO_RCVLOWAT, n);
	peer_start(P_SEND, n, 0, 0);
	worker_start(&w, w_poll);
	worker_join(&w);
	expect_eq(w.ret, POLLIN);
	wait_inq(fd, n);
	recv_pat(fd, n);
	expect_eq(peer_join(), n);
}

/* ---- select ----------------------------------------------------------------- */

static int sel(int fd, bool *r, bool *w, bool *x)
{
	fd_set rs, ws, xs;
	struct timeval tv = { 0, 0 };
	int n;

	FD_ZERO(&rs);
	FD_ZERO(&ws);
	FD_ZERO(&xs);
	FD_SET(fd, &rs);
	FD_SET(fd, &ws);
	FD_SET(fd, &xs);
	n = expect_ok(select(fd + 1, &rs, &ws, &xs, &tv));
	*r = FD_ISSET(fd, &rs);
	*w = FD_ISSET(fd, &ws);
	*x = FD_ISSET(fd, &xs);
	return n;
}

static void select_states(void)
{
	int fd = conn_open();
	bool r, w, x;

	expect_eq(sel(fd, &r, &w, &x), 1);
	expect_true(!r && w && !x);
	peer_send(1);
	wait_inq(fd, 1);
	expect_eq(sel(fd, &r, &w, &x), 2);
	expect_true(r && w && !x);
	recv_pat(fd, 1);
	peer_oob();
	wait_bits(fd, POLLPRI);
	sel(fd, &r, &w, &x);
	expect_true(!r && w && x);
	peer_abort();
	wait_bits(fd, POLLERR);
	sel(fd, &r, &w, &x);
	expect_true(r && w);
}

static void select_waits(void)
{
	int fd = conn_open();
	struct timeval tv = { 0, 50000 };
	fd_set rs;

	FD_ZERO(&rs);
	FD_SET(fd, &rs);
	expect_ret(select(fd + 1, &rs, NULL, NULL, &tv), 0);
	peer_start(P_SEND, 1, 0, 0);
	FD_SET(fd, &rs);
	tv = (struct timeval){ WAIT_MS / 1000, 0 };
	expect_ret(select(fd + 1, &rs, NULL, NULL, &tv), 1);
	expect_eq(peer_join(), 1);
}

const struct test_case poll_cases[] = {
	{ "poll.unconnected", unconnected, NULL, 0 },
	{ "poll.listening", listening, NULL, 0 },
	{ "poll.established", established, peer_serve, T_SWAP },
	{ "poll.peer_shut", peer_shut, peer_serve, T_SWAP },
	{ "poll.own_shut_write", own_shut_write, peer_serve, T_SWAP },
	{ "poll.own_shut_read", own_shut_read, peer_serve, 0 },
	{ "poll.peer_closed", peer_closed, peer_serve, T_SWAP },
	{ "poll.reset", reset, peer_serve, T_SWAP },
	{ "poll.reset_with_data_pending", reset_with_data_pending, peer_serve,
	  0 },
	{ "poll.full", full, peer_serve, T_SWAP },
	{ "poll.reader_wakes", reader_wakes, peer_serve, 0 },
	{ "poll.wakes_on_shutdown", wakes_on_shutdown, peer_serve, 0 },
	{ "poll.wakes_on_reset", wakes_on_reset, peer_serve, 0 },
	{ "poll.wakes_on_own_shutdown", wakes_on_own_shutdown, peer_serve, 0 },
	{ "poll.accept_wakes", accept_wakes, NULL, 0 },
	{ "poll.connect_wakes", connect_wakes, NULL, 0 },
	{ "poll.interrupted", interrupted, peer_serve, 0 },
	{ "poll.lowat", lowat, peer_serve, T_SWAP },
	{ "poll.lowat_recv", lowat_recv, peer_serve, 0 },
	{ "poll.lowat_above_window", lowat_above_window, peer_serve, T_SWAP },
	{ "poll.select_states", select_states, peer_serve, 0 },
	{ "poll.select_waits", select_waits, peer_serve, 0 },
};
TABLE_END(poll);
