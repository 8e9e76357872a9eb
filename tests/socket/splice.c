// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* sendfile() and splice(): the kernel moves the bytes. */
#include "harness.h"

#include <sys/sendfile.h>

static int pattern_file(uint64_t off, size_t n)
{
	int fd = expect_ok(memfd_create("pattern", MFD_CLOEXEC));
	char *buf = malloc(n);

	pat_fill(buf, off, n);
	expect_ret(pwrite(fd, buf, n, 0), n);
	free(buf);
	return fd;
}

static void sendfile_out(void)
{
	static const size_t n[] = { 1, 100, 4096, 5000, 65536, 1 << 20 };
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		int f = pattern_file(pos[fd].tx, n[i]);
		off_t off = 0;

		peer_start(P_RECV, n[i], 0, 0);
		while (off < (off_t)n[i])
			expect_true(sendfile(fd, f, &off, n[i] - off) > 0);
		expect_eq(peer_join(), n[i]);
		pos[fd].tx += n[i];
		close(f);
	}
}

static void sendfile_in(void)
{
	int fd = conn_open();

	peer_start(P_FILE, 300001, 0, 0);
	recv_pat(fd, 300001);
	expect_eq(peer_join(), 300001);
}

static void sendfile_part(void)
{
	int fd = conn_open(), f = pattern_file(0, 10000);
	off_t off = 0;

	expect_ret(sendfile(fd, f, &off, 3000), 3000);
	expect_eq(off, 3000);
	/* more than the file has */
	expect_ret(sendfile(fd, f, &off, 100000), 7000);
	expect_ret(sendfile(fd, f, &off, 100), 0);
	peer_recv(10000);
}

/* The file's pages may change or go when the bytes have arrived. */
static void sendfile_then_truncate(void)
{
	int fd = conn_open(), f = pattern_file(0, 200000);
	off_t off = 0;

	peer_start(P_RECV, 200000, 0, 0);
	while (off < 200000)
		expect_true(sendfile(fd, f, &off, 200000 - off) > 0);
	expect_eq(peer_join(), 200000);
	wait_outq0(fd);
	expect_ret(ftruncate(f, 0), 0);
	close(f);
	pos[fd].tx = 200000;
	send_pat(fd, 10);
	peer_recv(10);
}

static void sendfile_nonblocking(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	int f = pattern_file(0, 8 << 20);
	off_t off = 0;
	int calm = 0;

	set_nonblock(fd, true);
	while (calm < 50) {
		ssize_t r = sendfile(fd, f, &off, (8 << 20) - off);

		if (r < 0) {
			expect_eq(errno, EAGAIN);
			calm++;
			nap();
		} else {
			calm = 0;
			expect_true(r > 0);
		}
	}
	expect_range(off, 1, (8 << 20) - 1);
	peer_recv(off);
}

static void sendfile_shut(void)
{
	int fd = conn_open(), f = pattern_file(0, 100);
	off_t off = 0;

	expect_ret(shutdown(fd, SHUT_WR), 0);
	expect_err(sendfile(fd, f, &off, 100), EPIPE);
	expect_eq(off, 0);
}

static void splice_in(void)
{
	int fd = conn_open(), p[2];
	size_t done = 0, total = 100000;
	static char buf[1 << 16];

	expect_ret(pipe(p), 0);
	peer_start(P_SEND, total, 0, 0);
	while (done < total) {
		long n = expect_ok(splice(fd, NULL, p[1], NULL, 30000, 0));
		long k = 0;

		expect_true(n > 0);
		while (k < n) {
			long r = expect_ok(read(p[0], buf, n - k));

			pat_check(buf, pos[fd].rx, r);
			pos[fd].rx += r;
			k += r;
		}
		done += n;
	}
	expect_eq(peer_join(), total);
	/* The socket's own mode counts; SPLICE_F_NONBLOCK is for the pipe. */
	set_nonblock(fd, true);
	expect_err(splice(fd, NULL, p[1], NULL, 100, 0), EAGAIN);
	set_nonblock(fd, false);
	peer_shutdown(SHUT_WR);
	expect_ret(splice(fd, NULL, p[1], NULL, 100, 0), 0);
}

static void splice_out(void)
{
	int fd = conn_open(), p[2];
	char buf[30000];

	expect_ret(pipe(p), 0);
	pat_fill(buf, 0, sizeof(buf));
	expect_ret(write(p[1], buf, sizeof(buf)), sizeof(buf));
	peer_start(P_RECV, sizeof(buf), 0, 0);
	{
		size_t left = sizeof(buf);

		while (left)
			left -= expect_ok(splice(p[0], NULL, fd, NULL, left,
						 0));
	}
	expect_eq(peer_join(), sizeof(buf));
}

/* Bytes in the pipe stay good when the socket they came from is gone. */
static void splice_outlives_socket(void)
{
	int fd = conn_open(), p[2];
	char buf[4000];
	long n;

	expect_ret(pipe(p), 0);
	peer_send(4000);
	wait_inq(fd, 4000);
	n = expect_ok(splice(fd, NULL, p[1], NULL, 4000, 0));
	expect_range(n, 1, 4000);
	close(fd);
	fd = conn_open();
	peer_send(4000);
	recv_pat(fd, 4000);
	expect_ret(read(p[0], buf, 4000), n);
	pat_check(buf, 0, n);
}

static void splice_echo(void)
{
	int fd = conn_open(), s = conn_open(), p[2], i;

	/* socket to pipe to another socket, as proxies do */
	expect_ret(pipe(p), 0);
	for (i = 0; i < 20; i++) {
		long n, k;

		/* the peer's end of the first connection sends */
		expect_eq(peer_call(P_USE, 0, 0, 0), 0);
		peer_send(5000);
		wait_inq(fd, 5000);
		for (k = 0; k < 5000; k += n) {
			long m = 0;

			n = expect_ok(splice(fd, NULL, p[1], NULL, 5000 - k,
					     SPLICE_F_MOVE));
			while (m < n)
				m += expect_ok(splice(p[0], NULL, s, NULL,
						      n - m, SPLICE_F_MOVE));
		}
		expect_eq(peer_call(P_USE, 1, 0, 0), 1);
		peer_recv(5000);
	}
}

const struct test_case splice_cases[] = {
	{ "splice.sendfile_out", sendfile_out, peer_serve, T_SWAP },
	{ "splice.sendfile_in", sendfile_in, peer_serve, 0 },
	{ "splice.sendfile_part", sendfile_part, peer_serve, 0 },
	{ "splice.sendfile_then_truncate", sendfile_then_truncate, peer_serve,
	  0 },
	{ "splice.sendfile_nonblocking", sendfile_nonblocking, peer_serve, 0 },
	{ "splice.sendfile_shut", sendfile_shut, peer_serve, 0 },
	{ "splice.in", splice_in, peer_serve, T_SWAP },
	{ "splice.out", splice_out, peer_serve, 0 },
	{ "splice.outlives_socket", splice_outlives_socket, peer_serve, 0 },
	{ "splice.echo", splice_echo, peer_serve, 0 },
};
TABLE_END(splice);
