// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory: what a connection may hold, and that all of it comes back. */
#include "harness.h"

#include <sys/resource.h>

/*
 * Nobody reads: the bytes that the sender gets rid of are bounded by what
 * both ends were told to keep.
 */
static void bounded(int rcv, int snd)
{
	int fd = conn_open_bufs(0, snd, rcv, 0);
	size_t limit = 2 * (2 * (size_t)rcv + get_int(fd, SOL_SOCKET,
						      SO_SNDBUF)) + 65536;
	size_t n = flood(fd, 64 << 20);

	expect_range(n, 1, limit);
	peer_recv(n);
	close(fd);
}

static void rcvbuf_bounds(void)
{
	bounded(4096, 4096);
	bounded(65536, 65536);
	bounded(100000, 20000);
}

/* The same with one-byte sends: their overhead must count, or it is free. */
static void small_sends_bounded(void)
{
	int fd = conn_open_bufs(0, 8192, 8192, 0), calm = 0;
	int64_t until = now_ms() + 500;
	size_t n = 0;

	/* TCP never says no for long here: it takes a byte now and then. */
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	while (calm < 50 && n < 1 << 20 && now_ms() < until) {
		char c;

		pat_fill(&c, n, 1);
		if (send(fd, &c, 1, MSG_DONTWAIT) == 1) {
			n++;
			calm = 0;
		} else {
			expect_eq(errno, EAGAIN);
			calm++;
			nap();
		}
	}
	expect_range(n, 1, 131072);
	peer_recv(n);
}

static void small_rcvbuf_is_correct(void)
{
	int fd = conn_open_bufs(4096, 0, 4096, 0);

	peer_start(P_ECHO, 200000, 5000, 0);
	{
		size_t i;

		for (i = 0; i < 200000; i += 2000) {
			send_pat(fd, 2000);
			recv_pat(fd, 2000);
		}
	}
	expect_eq(peer_join(), 200000);
}

/* No right to lock memory is needed, and none is used up. */
static void no_memlock(void)
{
	int p[2], i;
	struct rlimit none = { 0, 0 };
	struct worker w = { 0 };
	size_t n = 2 << 20;
	char *buf = malloc(n);

	local_pair(p);
	expect_ret(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (!geteuid())
		expect_ret(setuid(65534), 0);
	for (i = 0; i < 2; i++) {
		pat_fill(buf, pos[p[i]].tx, n);
		w.fd = p[i];
		w.buf = buf;
		w.len = n;
		worker_start(&w, w_send);
		recv_pat(p[!i], n);
		worker_join(&w);
		expect_eq(w.ret, n);
	}
	free(buf);
}

/* The sender's memory goes as soon as send() is back. */
static void unmap_after_send(void)
{
	int fd = conn_open(), i;
	size_t n = 64 << 10;

	for (i = 0; i < 10; i++) {
		char *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		pat_fill(p, pos[fd].tx, n);
		expect_ret(send(fd, p, n, 0), n);
		pos[fd].tx += n;
		expect_ret(munmap(p, n), 0);
		peer_recv(n);
	}
}

static void unaligned(void)
{
	int fd = conn_open();
	size_t page = sysconf(_SC_PAGESIZE), i;
	char *buf = aligned_alloc(page, 4 * page);

	for (i = 0; i < 40; i++) {
		size_t off = (i * 103) % page, n = page + i * 131;

		pat_fill(buf + off, pos[fd].tx, n);
		expect_ret(send(fd, buf + off, n, 0), n);
		pos[fd].tx += n;
		peer_recv(n);
		peer_send(n);
		memset(buf, 0, 4 * page);
		expect_ret(recv(fd, buf + off, n, MSG_WAITALL), n);
		pat_check(buf + off, pos[fd].rx, n);
		pos[fd].rx += n;
		if (off)
			expect_eq(buf[off - 1], 0);
		expect_eq(buf[off + n], 0);
	}
	free(buf);
}

/* ---- all of it comes back --------------------------------------------------- */

/* Free pages that the CPUs keep in lists of their own: tens of MB, in KB. */
static long cpu_lists_kb(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long n, pages = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &n) == 1)
			pages += n;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* In KB: TCP's own account, or what the machine has lost (SDP's guest idles). */
static long used_kb(void)
{
	char line[256];
	long v = -1, kb = -1;
	FILE *f;

	if (env.family == AF_INET) {
		f = fopen("/proc/net/sockstat", "r");
		while (f && fgets(line, sizeof(line), f)) {
			char *m = strstr(line, " mem ");

			if (!strncmp(line, "TCP:", 4) && m)
				kb = atol(m + 5) *
					(sysconf(_SC_PAGESIZE) / 1024);
		}
	} else {
		f = fopen("/proc/meminfo", "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "MemAvailable: %ld", &v) == 1)
				kb = -v - cpu_lists_kb();
	}
	if (f)
		fclose(f);
	if (kb == -1)
		skip_case("the kernel doesn't tell how much memory is used");
	return kb;
}

/* Many connections full of unread data, closed in every manner. */
static void comes_back(void)
{
	enum { N = 150 };
	int p[N][2], i;
	int64_t until;
	/* All the connections take more than four times this. */
	long before, full, after, slack = 6144;

	/* What is allocated once, at first use, is not counted. */
	local_pair(p[0]);
	flood(p[0][0], 100000);
	close(p[0][0]);
	close(p[0][1]);
	before = used_kb();
	for (i = 0; i < N; i++) {
		char buf[20000] = "";

		local_pair(p[i]);
		expect_ret(send(p[i][0], buf, sizeof(buf), 0), sizeof(buf));
		expect_ret(send(p[i][1], buf, sizeof(buf), 0), sizeof(buf));
	}
	full = used_kb();
	for (i = 0; i < N; i++) {
		if (i % 3 == 1)
			set_linger(p[i][i & 1], 1, 0);
		if (i % 3 == 2)
			shutdown(p[i][0], SHUT_RDWR);
		close(p[i][0]);
		close(p[i][1]);
	}
	until = now_ms() + WAIT_MS;
	while ((after = used_kb()) > before + slack) {
		if (now_ms() > until)
			fail("used %ld KB more than before, %ld while open",
			     after - before, full - before);
		nap();
	}
}

const struct test_case memory_cases[] = {
	{ "memory.rcvbuf_bounds", rcvbuf_bounds, peer_serve, T_SWAP },
	{ "memory.small_sends_bounded", small_sends_bounded, peer_serve, 0 },
	{ "memory.small_rcvbuf_is_correct", small_rcvbuf_is_correct,
	  peer_serve, 0 },
	{ "memory.no_memlock", no_memlock, NULL, 0 },
	{ "memory.unmap_after_send", unmap_after_send, peer_serve, 0 },
	{ "memory.unaligned", unaligned, peer_serve, 0 },
	{ "memory.comes_back", comes_back, NULL, 0 },
};
TABLE_END(memory);
