// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ioctl() and fcntl(): queue lengths, modes, owners, SIGIO. */
#include "harness.h"

#include <linux/sockios.h>

static int get(int fd, unsigned long req)
{
	int v = -1;

	expect_ret(ioctl(fd, req, &v), 0);
	return v;
}

static void inq(void)
{
	int fd = conn_open();

	expect_eq(get(fd, SIOCINQ), 0);
	peer_send(10);
	wait_inq(fd, 10);
	expect_eq(get(fd, FIONREAD), 10);
	peer_send(5000);
	wait_inq(fd, 5010);
	recv_pat(fd, 4010);
	expect_eq(get(fd, SIOCINQ), 1000);
	/* The end of the stream is not a byte. */
	peer_shutdown(SHUT_WR);
	wait_bits(fd, POLLRDHUP);
	expect_eq(get(fd, SIOCINQ), 1000);
	recv_pat(fd, 1000);
	expect_eq(get(fd, SIOCINQ), 0);
}

static void outq(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n;

	expect_eq(get(fd, SIOCOUTQ), 0);
	expect_eq(get(fd, SIOCOUTQNSD), 0);
	send_pat(fd, 100);
	wait_outq0(fd);
	n = flood(fd, 64 << 20);
	expect_range(get(fd, SIOCOUTQ), 1, n);
	expect_range(get(fd, SIOCOUTQNSD), 1, get(fd, SIOCOUTQ));
	peer_recv(100 + n);
	wait_outq0(fd);
	expect_eq(get(fd, SIOCOUTQNSD), 0);
}

static void by_state(void)
{
	int fd = new_socket(), l = new_listener(1), v;

	expect_eq(get(fd, SIOCINQ), 0);
	expect_eq(get(fd, SIOCOUTQ), 0);
	expect_err(ioctl(l, SIOCINQ, &v), EINVAL);
	expect_err(ioctl(l, SIOCOUTQ, &v), EINVAL);
	expect_err(ioctl(l, SIOCOUTQNSD, &v), EINVAL);
	expect_eq(get(fd, SIOCATMARK), 0);
	fd = conn_open();
	peer_abort();
	wait_bits(fd, POLLERR);
	expect_eq(get(fd, SIOCINQ), 0);
	expect_eq(get(fd, SIOCOUTQ), 0);
	expect_eq(get(fd, SIOCATMARK), 0);
}

static void bad(void)
{
	int fd = conn_open(), v = 0;

	expect_err(ioctl(fd, SIOCINQ, NULL), EFAULT);
	expect_err(ioctl(fd, SIOCOUTQ, (void *)8), EFAULT);
	expect_err(ioctl(fd, SIOCOUTQNSD, NULL), EFAULT);
	expect_err(ioctl(fd, SIOCATMARK, NULL), EFAULT);
	expect_err(ioctl(fd, FIONBIO, NULL), EFAULT);
	expect_err(ioctl(fd, 0x12345678, &v), ENOTTY);
}

static void fionbio(void)
{
	int fd = conn_open(), on = 1, off = 0;
	char c;

	expect_ret(ioctl(fd, FIONBIO, &on), 0);
	expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	expect_err(recv(fd, &c, 1, 0), EAGAIN);
	expect_ret(ioctl(fd, FIONBIO, &off), 0);
	expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	set_nonblock(fd, true);
	expect_err(recv(fd, &c, 1, MSG_PEEK), EAGAIN);
	peer_send(1);
	wait_inq(fd, 1);
	expect_ret(recv(fd, &c, 1, 0), 1);
}

static void wait_signals(int more_than)
{
	int64_t until = now_ms() + WAIT_MS;

	while (sig_count <= more_than) {
		if (now_ms() > until)
			fail("no SIGIO, %d so far", (int)sig_count);
		nap();
	}
}

static void sigio(void)
{
	int fd = conn_open(), on = 1, seen;

	count_signal(SIGIO, true);
	expect_ret(fcntl(fd, F_SETOWN, getpid()), 0);
	expect_ret(fcntl(fd, F_SETFL, O_ASYNC), 0);
	seen = sig_count;
	peer_send(1);
	wait_signals(seen);
	wait_inq(fd, 1);
	recv_pat(fd, 1);
	/* off */
	expect_ret(fcntl(fd, F_SETFL, 0), 0);
	seen = sig_count;
	peer_send(1);
	wait_inq(fd, 1);
	expect_eq(sig_count, seen);
	/* by ioctl */
	expect_ret(ioctl(fd, FIOASYNC, &on), 0);
	expect_eq(fcntl(fd, F_GETFL) & O_ASYNC, O_ASYNC);
	peer_shutdown(SHUT_WR);
	wait_signals(seen);
}

static void sigio_listener(void)
{
	int l = new_listener(5), c = new_socket(), seen;

	count_signal(SIGIO, true);
	expect_ret(fcntl(l, F_SETOWN, getpid()), 0);
	expect_ret(fcntl(l, F_SETFL, O_ASYNC), 0);
	seen = sig_count;
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	wait_signals(seen);
}

const struct test_case ioctl_cases[] = {
	{ "ioctl.inq", inq, peer_serve, T_SWAP },
	{ "ioctl.outq", outq, peer_serve, T_SWAP },
	{ "ioctl.by_state", by_state, peer_serve, 0 },
	{ "ioctl.bad", bad, peer_serve, 0 },
	{ "ioctl.fionbio", fionbio, peer_serve, 0 },
	{ "ioctl.sigio", sigio, peer_serve, 0 },
	{ "ioctl.sigio_listener", sigio_listener, NULL, 0 },
};
TABLE_END(ioctl);
