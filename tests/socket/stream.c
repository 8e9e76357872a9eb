// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The byte stream: every size and shape of send and receive, in order, whole. */
#include "harness.h"

#include <linux/sockios.h>

static void sizes_out(void)
{
	static const size_t n[] = { 1, 2, 3, 15, 16, 17, 100, 1023, 1024, 1025,
		4079, 4080, 4081, 4095, 4096, 4097, 8175, 8176, 8177, 8192,
		16384, 32752, 61424, 61425, 61440, 65535, 65536, 65537, 131072,
		262144, 1000003, 1 << 20, 4 << 20 };
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		peer_start(P_RECV, n[i], 0, 0);
		send_pat(fd, n[i]);
		expect_eq(peer_join(), n[i]);
	}
}

static void sizes_in(void)
{
	static const size_t n[] = { 1, 2, 3, 15, 16, 17, 100, 1023, 1024, 1025,
		4079, 4080, 4081, 4096, 8176, 8177, 16384, 61424, 61425, 65535,
		65536, 65537, 262144, 1 << 20, 4 << 20 };
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		peer_start(P_SEND, n[i], 0, 0);
		recv_pat(fd, n[i]);
		expect_eq(peer_join(), n[i]);
	}
}

static void byte_at_a_time(void)
{
	int fd = conn_open(), i;

	peer_start(P_RECV, 2000, 0, 0);
	for (i = 0; i < 2000; i++)
		send_pat(fd, 1);
	expect_eq(peer_join(), 2000);
	peer_start(P_SEND, 2000, 0, 0);
	for (i = 0; i < 2000; i++)
		recv_pat(fd, 1);
	expect_eq(peer_join(), 2000);
}

static void random_sizes(void)
{
	int fd = conn_open();
	size_t left = 1 << 20, n;

	srandom(42);
	peer_start(P_RECV, left, 0, 0);
	while (left) {
		n = 1 + random() % (random() % 4 ? 3000 : 100000);
		n = n < left ? n : left;
		send_pat(fd, n);
		left -= n;
	}
	expect_eq(peer_join(), 1 << 20);
	left = 1 << 20;
	peer_start(P_SEND_SMALL, left, 7777, 0);
	while (left) {
		n = 1 + random() % 20000;
		n = n < left ? n : left;
		recv_pat(fd, n);
		left -= n;
	}
	expect_eq(peer_join(), 1 << 20);
}

static void w_send_pat(struct worker *w)
{
	send_pat(w->fd, w->len);
}

static void full_duplex(void)
{
	int fd = conn_open();
	struct worker w = { .fd = fd, .len = 2 << 20 };

	/* The peer echoes, so both directions are busy at a time. */
	peer_start(P_ECHO, w.len, 50000, 0);
	worker_start(&w, w_send_pat);
	recv_pat(fd, w.len);
	worker_join(&w);
	expect_eq(peer_join(), w.len);
}

static void ordered_messages(void)
{
	int fd = conn_open();

	peer_send(1);
	peer_send(5000);
	peer_send(3);
	peer_send(1);
	wait_inq(fd, 5005);
	recv_pat(fd, 5005);
	expect_err(recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT), EAGAIN);
}

static void recv_takes_what_is_there(void)
{
	int fd = conn_open();
	char buf[1000];

	peer_send(10);
	wait_inq(fd, 10);
	expect_ret(recv(fd, buf, sizeof(buf), 0), 10);
	pat_check(buf, 0, 10);
	peer_send(10);
	peer_send(20);
	wait_inq(fd, 30);
	/* A stream has no message borders. */
	expect_ret(recv(fd, buf, sizeof(buf), 0), 30);
	pat_check(buf, 10, 30);
	peer_send(30);
	wait_inq(fd, 30);
	expect_ret(recv(fd, buf, 7, 0), 7);
	expect_ret(recv(fd, buf + 7, 100, 0), 23);
	pat_check(buf, 40, 30);
}

static void blocked_reader_wakes(void)
{
	int fd = conn_open();
	char buf[100];
	struct worker w = { .fd = fd, .buf = buf, .len = sizeof(buf) };

	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	peer_send(1);
	worker_join(&w);
	expect_eq(w.ret, 1);
	pat_check(buf, 0, 1);
}

/* ---- iovecs ---------------------------------------------------------------- */

static size_t make_iov(struct iovec *iov, int n, char *base, size_t size)
{
	size_t off = 0;
	int i;

	for (i = 0; i < n; i++) {
		size_t len = i % 5 == 3 ? 0 : 1 + (i * 37) % (size / n);

		iov[i].iov_base = base + off;
		iov[i].iov_len = len;
		off += len;
	}
	return off;
}

static void iovecs(void)
{
	static const int counts[] = { 1, 2, 17, 1023, 1024 };
	static char buf[1 << 18];
	static struct iovec iov[1024];
	int fd = conn_open();
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		n = make_iov(iov, counts[i], buf, sizeof(buf) / 2);
		pat_fill(buf, pos[fd].tx, n);
		peer_start(P_RECV, n, 0, 0);
		expect_ret(writev(fd, iov, counts[i]), n);
		pos[fd].tx += n;
		expect_eq(peer_join(), n);

		peer_start(P_SEND, n, 0, 0);
		memset(buf, 0, n);
		{
			struct msghdr m = { .msg_iov = iov,
					    .msg_iovlen = counts[i] };

			expect_ret(recvmsg(fd, &m, MSG_WAITALL), n);
			expect_eq(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC), 0);
		}
		expect_eq(peer_join(), n);
		pat_check(buf, pos[fd].rx, n);
		pos[fd].rx += n;
	}
	/* readv splits what is there over the segments */
	peer_send(100);
	wait_inq(fd, 100);
	iov[0] = (struct iovec){ buf, 33 };
	iov[1] = (struct iovec){ buf + 33, 0 };
	iov[2] = (struct iovec){ buf + 33, 500 };
	expect_ret(readv(fd, iov, 3), 100);
	pat_check(buf, pos[fd].rx, 100);
}

static void iovecs_too_many(void)
{
	static struct iovec iov[1025];
	static char c;
	int fd = conn_open(), i;
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 1025 };

	for (i = 0; i < 1025; i++)
		iov[i] = (struct iovec){ &c, 1 };
	expect_err(writev(fd, iov, 1025), EINVAL);
	expect_err(readv(fd, iov, 1025), EINVAL);
	expect_err(sendmsg(fd, &m, 0), EMSGSIZE);
	expect_err(recvmsg(fd, &m, MSG_DONTWAIT), EMSGSIZE);
}

static void mmsg(void)
{
	static char buf[10][1000];
	struct mmsghdr mm[10];
	struct iovec iov[10];
	int fd = conn_open(), i;

	memset(mm, 0, sizeof(mm));
	for (i = 0; i < 10; i++) {
		iov[i] = (struct iovec){ buf[i], 100 * (i + 1) };
		mm[i].msg_hdr.msg_iov = &iov[i];
		mm[i].msg_hdr.msg_iovlen = 1;
		pat_fill(buf[i], pos[fd].tx, iov[i].iov_len);
		pos[fd].tx += iov[i].iov_len;
	}
	expect_ret(sendmmsg(fd, mm, 10, 0), 10);
	for (i = 0; i < 10; i++)
		expect_eq(mm[i].msg_len, 100 * (i + 1));
	peer_recv(5500);
	peer_send(5500);
	wait_inq(fd, 5500);
	memset(buf, 0, sizeof(buf));
	expect_ret(recvmmsg(fd, mm, 10, 0, NULL), 10);
	for (i = 0; i < 10; i++) {
		expect_eq(mm[i].msg_len, 100 * (i + 1));
		pat_check(buf[i], pos[fd].rx, iov[i].iov_len);
		pos[fd].rx += iov[i].iov_len;
	}
	expect_err(recvmmsg(fd, mm, 10, MSG_DONTWAIT, NULL), EAGAIN);
}

static void addresses_ignored(void)
{
	struct sockaddr_in sa = sa_make(my_addr(), 1);
	socklen_t len = sizeof(sa);
	int fd = conn_open();
	char c = 'x';

	pat_fill(&c, 0, 1);
	expect_ret(sendto(fd, &c, 1, 0, (void *)&sa, sizeof(sa)), 1);
	peer_recv(1);
	peer_send(1);
	expect_ret(recvfrom(fd, &c, 1, 0, (void *)&sa, &len), 1);
	expect_eq(len, 0);
}

/* ---- full and empty ---------------------------------------------------------- */

static void dontwait(void)
{
	int fd = conn_open();
	char c;

	expect_err(recv(fd, &c, 1, MSG_DONTWAIT), EAGAIN);
	expect_err(recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK), EAGAIN);
	expect_err(recv(fd, &c, 1, MSG_DONTWAIT | MSG_WAITALL), EAGAIN);
	set_nonblock(fd, true);
	expect_err(read(fd, &c, 1), EAGAIN);
	expect_ret(send(fd, "x", 1, MSG_DONTWAIT), 1);
}

static void fill_and_drain(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20), m;
	char c = 0;

	expect_true(n > 0 && n < 64 << 20);
	set_nonblock(fd, true);
	expect_err(send(fd, &c, 1, 0), EAGAIN);
	expect_poll(fd, 0);
	set_nonblock(fd, false);
	peer_recv(n);
	wait_poll(fd, POLLOUT);
	m = flood(fd, 64 << 20);
	expect_true(m > 0);
	peer_recv(m);
	wait_outq0(fd);
}

/* A non-blocking send of more than fits takes a part of it. */
static void partial_send(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = 8 << 20;
	char *buf = malloc(n);
	long r;

	pat_fill(buf, 0, n);
	r = expect_ok(send(fd, buf, n, MSG_DONTWAIT));
	expect_range(r, 1, n - 1);
	peer_recv(r);
	free(buf);
}

static void blocked_sender_wakes(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20), len = 100000;
	char *buf = malloc(len);
	struct worker w = { .fd = fd, .buf = buf, .len = len };

	pat_fill(buf, n, len);
	worker_start(&w, w_send);
	wait_blocked(w.tid, SYS_sendto);
	peer_recv(n + len);
	worker_join(&w);
	expect_eq(w.ret, len);
}

static void sender_interrupted(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20), len = 4 << 20;
	char *buf = malloc(len);
	struct worker w = { .fd = fd, .buf = buf, .len = len };

	count_signal(SIGUSR1, false);
	pat_fill(buf, n, len);
	worker_start(&w, w_send);
	wait_blocked(w.tid, SYS_sendto);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	/* Nothing or a little went in; that much and no more arrives. */
	if (w.ret < 0) {
		expect_eq(w.err, EINTR);
		w.ret = 0;
	}
	expect_true((size_t)w.ret < len);
	peer_recv(n + w.ret);

	n += w.ret;
	pos[fd].tx = n;
	n += flood(fd, 64 << 20);
	/* Some room is made while it is blocked: now a part is sent. */
	pat_fill(buf, pos[fd].tx, len);
	worker_start(&w, w_send);
	wait_blocked(w.tid, SYS_sendto);
	peer_recv(500000);
	wait_blocked(w.tid, SYS_sendto);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_range(w.ret, 1, len - 1);
	peer_start(P_RECV_EOF, 0, 0, 0);
	shutdown(fd, SHUT_WR);
	expect_true(peer_join() > 0);
}

static void recv_interrupted(void)
{
	char buf[100];
	struct worker w = { .fd = conn_open(), .buf = buf, .len = 100 };

	count_signal(SIGUSR1, false);
	worker_start(&w, w_recv);
	wait_blocked(w.tid, SYS_recvfrom);
	kick(w.tid, SIGUSR1);
	worker_join(&w);
	expect_eq(w.ret, -1);
	expect_eq(w.err, EINTR);
	peer_send(5);
	recv_pat(w.fd, 5);
}

static void stalled_reader(void)
{
	int fd = conn_open_bufs(20000, 0, 0, 30000);
	long n = peer_call(P_FLOOD, 0, 0, 0);

	expect_true(n > 0);
	recv_pat(fd, n);
	/* and again, so the window was really opened */
	n = peer_call(P_FLOOD, 0, 0, 0);
	expect_true(n > 0);
	recv_pat(fd, n);
	peer_start(P_SEND, 1 << 20, 0, 0);
	recv_pat(fd, 1 << 20);
	expect_eq(peer_join(), 1 << 20);
}

/* The window opens however small the steps in which it is read. */
static void stalled_reader_small_steps(void)
{
	int fd = conn_open_bufs(10000, 0, 0, 30000);
	size_t n = peer_call(P_FLOOD, 0, 0, 0), i;

	peer_start(P_SEND, 100000, 0, 0);
	for (i = 0; i + 100 <= n + 100000; i += 100)
		recv_pat(fd, 100);
	recv_pat(fd, n + 100000 - i);
	expect_eq(peer_join(), 100000);
}

/* One-byte messages, nobody reads: all that was taken arrives. */
static void small_messages_fill_window(void)
{
	int fd = conn_open_bufs(0, 20000, 20000, 0);
	size_t n = 0;
	int calm = 0;

	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	while (calm < 50 && n < 200000) {
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
	expect_true(n > 100);
	peer_recv(n);
	pos[fd].tx = n;
	peer_start(P_RECV, 50000, 0, 0);
	send_pat(fd, 50000);
	expect_eq(peer_join(), 50000);
}

/*
 * Both ends send before they read. As much as the default buffers of both
 * ends surely hold must not block: TCP's kernel buffers it.
 */
static void both_send_first(void)
{
	static const size_t n[] = { 1000, 4096, 16384, 32768, 65536 };
	int fd = conn_open();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		peer_start(P_SEND, n[i], 0, 0);
		send_pat(fd, n[i]);
		expect_eq(peer_join(), n[i]);
		peer_start(P_RECV, n[i], 0, 0);
		recv_pat(fd, n[i]);
		expect_eq(peer_join(), n[i]);
	}
}

/* Both directions full to the brim, then one end begins to read. */
static void both_full(void)
{
	int fd = conn_open_bufs(20000, 20000, 20000, 20000);
	size_t out = flood(fd, 64 << 20);
	long in = peer_call(P_FLOOD, 0, 0, 0);

	expect_true(in > 0);
	recv_pat(fd, in);
	peer_recv(out);
	peer_send(10000);
	recv_pat(fd, 10000);
}

/* ---- lengths of nothing, bad memory ------------------------------------------- */

static void zero_length(void)
{
	int fd = conn_open();
	struct msghdr m = { 0 };
	char c;

	expect_ret(send(fd, "", 0, 0), 0);
	expect_ret(write(fd, "", 0), 0);
	expect_ret(sendmsg(fd, &m, 0), 0);
	peer_send(5);
	wait_inq(fd, 5);
	expect_ret(recv(fd, &c, 0, 0), 0);
	expect_ret(read(fd, &c, 0), 0);
	/* None of that was sent or taken. */
	recv_pat(fd, 5);
	expect_eq(peer_call(P_POLL, POLLOUT, 0, 0), 0);
	send_pat(fd, 3);
	peer_recv(3);
}

/* Two pages, of which the second can't be touched. */
static char *half_mapped(size_t *page)
{
	char *p;

	*page = sysconf(_SC_PAGESIZE);
	p = mmap(NULL, 2 * *page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	expect_ret(munmap(p + *page, *page), 0);
	return p;
}

static void send_bad_memory(void)
{
	int fd = conn_open();
	size_t page, sent = 0;
	char *p = half_mapped(&page);
	struct iovec iov[2];
	ssize_t r;

	expect_err(send(fd, (void *)8, 100, 0), EFAULT);
	expect_err(send(fd, p + page, 100, 0), EFAULT);
	/*
	 * The fault comes after good bytes: those that were copied before may
	 * count (TCP copies in pieces), and exactly these are sent.
	 */
	pat_fill(p, 0, page);
	r = send(fd, p, page + 1000, 0);
	if (r < 0) {
		expect_eq(errno, EFAULT);
	} else {
		expect_range(r, 1, page);
		sent += r;
	}
	pat_fill(p, sent, page);
	iov[0] = (struct iovec){ p, 100 };
	iov[1] = (struct iovec){ p + page, 100 };
	r = writev(fd, iov, 2);
	if (r < 0) {
		expect_eq(errno, EFAULT);
	} else {
		expect_range(r, 1, 100);
		sent += r;
	}
	if (sent)
		peer_recv(sent);
	/* The stream goes on without a hole. */
	pos[fd].tx = sent;
	send_pat(fd, 20000);
	peer_recv(20000);
}

static void send_bad_memory_big(void)
{
	int fd = conn_open();
	size_t len = 1 << 20;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long r;

	/* A hole after 512 KB: much is sent, nothing beyond the hole is. */
	pat_fill(p, 0, len);
	expect_ret(munmap(p + len / 2, 4096), 0);
	peer_start(P_RECV, len / 4, 0, 0);
	r = expect_ok(send(fd, p, len, 0));
	expect_range(r, len / 4, len / 2);
	expect_eq(peer_join(), len / 4);
	if (r > (long)len / 4)
		peer_recv(r - len / 4);
	pos[fd].tx = r;
	send_pat(fd, 1000);
	peer_recv(1000);
}

static void recv_bad_memory(void)
{
	int fd = conn_open();
	size_t page, total = 20000;
	char *p = half_mapped(&page);
	struct iovec iov[2];
	ssize_t r;

	peer_send(total);
	wait_inq(fd, total);
	expect_err(recv(fd, (void *)8, 100, 0), EFAULT);
	expect_err(recv(fd, p + page, 100, 0), EFAULT);
	/* Nothing of that is lost. */
	recv_pat(fd, 10);
	r = recv(fd, p, page + 1000, 0);
	if (r < 0) {
		expect_eq(errno, EFAULT);
	} else {
		expect_range(r, 1, page);
		pat_check(p, pos[fd].rx, r);
		pos[fd].rx += r;
	}
	iov[0] = (struct iovec){ p, 100 };
	iov[1] = (struct iovec){ p + page, 100 };
	r = readv(fd, iov, 2);
	if (r < 0) {
		expect_eq(errno, EFAULT);
	} else {
		expect_range(r, 1, 100);
		pat_check(p, pos[fd].rx, r);
		pos[fd].rx += r;
	}
	recv_pat(fd, total - pos[fd].rx);
	expect_err(recv(fd, p, 1, MSG_DONTWAIT), EAGAIN);
}

static void recv_read_only_memory(void)
{
	int fd = conn_open();
	char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	peer_send(100);
	wait_inq(fd, 100);
	expect_err(recv(fd, p, 100, 0), EFAULT);
	expect_err(recv(fd, p, 100, MSG_PEEK), EFAULT);
	recv_pat(fd, 100);
}

/* The buffer may change as soon as send() is back. */
static void buffer_reused_at_once(void)
{
	int fd = conn_open(), i;
	size_t n = 40000;
	char *buf = malloc(n);

	for (i = 0; i < 20; i++) {
		pat_fill(buf, pos[fd].tx, n);
		peer_start(P_RECV, n, 0, 0);
		expect_ret(send(fd, buf, n, 0), n);
		memset(buf, 0xaa, n);
		expect_eq(peer_join(), n);
		pos[fd].tx += n;
	}
	free(buf);
}

/* ---- when it goes out --------------------------------------------------------- */

static int unsent(int fd)
{
	int n;

	expect_ret(ioctl(fd, SIOCOUTQNSD, &n), 0);
	return n;
}

/* Held back while corked, whole when uncorked. */
static void cork(void)
{
	int fd = conn_open(), i;

	set_int(fd, IPPROTO_TCP, TCP_CORK, 1);
	expect_eq(get_int(fd, IPPROTO_TCP, TCP_CORK), 1);
	for (i = 0; i < 10; i++)
		send_pat(fd, 10);
	expect_eq(unsent(fd), 100);
	expect_eq(peer_call(P_POLL, POLLOUT, 0, 0), 0);
	set_int(fd, IPPROTO_TCP, TCP_CORK, 0);
	expect_eq(peer_call(P_INQ, 100, 0, 0), 0);
	peer_recv(100);
	expect_eq(unsent(fd), 0);
	expect_eq(get_int(fd, IPPROTO_TCP, TCP_CORK), 0);
}

static void msg_more(void)
{
	int fd = conn_open();
	char buf[30];

	pat_fill(buf, 0, 30);
	expect_ret(send(fd, buf, 10, MSG_MORE), 10);
	expect_ret(send(fd, buf + 10, 10, MSG_MORE), 10);
	expect_eq(unsent(fd), 20);
	expect_eq(peer_call(P_POLL, POLLOUT, 0, 0), 0);
	/* The first send without it flushes. */
	expect_ret(send(fd, buf + 20, 10, 0), 10);
	expect_eq(peer_call(P_INQ, 30, 0, 0), 0);
	peer_recv(30);
}

/* What waits behind MSG_MORE is not lost at the end. */
static void msg_more_then_end(void)
{
	int fd = conn_open();
	char buf[10];

	pat_fill(buf, 0, 10);
	expect_ret(send(fd, buf, 10, MSG_MORE), 10);
	expect_ret(shutdown(fd, SHUT_WR), 0);
	peer_eof(10);
	fd = conn_open();
	expect_ret(send(fd, buf, 10, MSG_MORE), 10);
	close(fd);
	peer_eof(10);
}

static void cork_nodelay_flushes(void)
{
	int fd = conn_open();

	set_int(fd, IPPROTO_TCP, TCP_CORK, 1);
	send_pat(fd, 10);
	expect_eq(unsent(fd), 10);
	/* Setting TCP_NODELAY pushes what is there, corked or not. */
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	expect_eq(peer_call(P_INQ, 10, 0, 0), 0);
	peer_recv(10);
}

/* Corked beyond what one message holds: full ones leave, a rest may wait. */
static void cork_large(void)
{
	int fd = conn_open();

	set_int(fd, IPPROTO_TCP, TCP_CORK, 1);
	peer_start(P_RECV, 300000, 0, 0);
	send_pat(fd, 400000);
	expect_eq(peer_join(), 300000);
	set_int(fd, IPPROTO_TCP, TCP_CORK, 0);
	peer_recv(100000);
}

static void nodelay(void)
{
	int fd = conn_open(), i;

	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	expect_eq(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	for (i = 0; i < 100; i++)
		send_pat(fd, 1);
	expect_eq(peer_call(P_INQ, 100, 0, 0), 0);
	peer_recv(100);
}

/* Nagle holds a small rest back, but not for ever. */
static void nagle_rest_arrives(void)
{
	int fd = conn_open(), i;

	for (i = 0; i < 200; i++)
		send_pat(fd, 3);
	expect_eq(peer_call(P_INQ, 600, 0, 0), 0);
	peer_recv(600);
	wait_outq0(fd);
}

/* ---- time-outs ------------------------------------------------------------------ */

static void rcvtimeo(void)
{
	int fd = conn_open();
	int64_t t0;
	char c;

	set_timeo(fd, SO_RCVTIMEO, 100);
	t0 = now_ms();
	expect_err(recv(fd, &c, 1, 0), EAGAIN);
	expect_true(now_ms() - t0 >= 80);
	peer_send(1);
	recv_pat(fd, 1);
	expect_err(recv(fd, &c, 1, MSG_DONTWAIT), EAGAIN);
}

static void sndtimeo(void)
{
	int fd = conn_open_bufs(0, 30000, 30000, 0);
	size_t n = flood(fd, 64 << 20);
	int64_t t0;
	char *buf = malloc(1 << 20);
	long r;

	set_timeo(fd, SO_SNDTIMEO, 100);
	pat_fill(buf, n, 1 << 20);
	t0 = now_ms();
	r = send(fd, buf, 1 << 20, 0);
	if (r < 0)
		expect_eq(errno, EAGAIN);
	expect_true(now_ms() - t0 >= 80);
	expect_true(r < 1 << 20);
	peer_recv(n + (r < 0 ? 0 : r));
	free(buf);
}

const struct test_case stream_cases[] = {
	{ "stream.sizes_out", sizes_out, peer_serve, T_SWAP },
	{ "stream.sizes_in", sizes_in, peer_serve, T_SWAP },
	{ "stream.byte_at_a_time", byte_at_a_time, peer_serve, 0 },
	{ "stream.random_sizes", random_sizes, peer_serve, 0 },
	{ "stream.full_duplex", full_duplex, peer_serve, T_SWAP },
	{ "stream.ordered_messages", ordered_messages, peer_serve, 0 },
	{ "stream.recv_takes_what_is_there", recv_takes_what_is_there,
	  peer_serve, 0 },
	{ "stream.blocked_reader_wakes", blocked_reader_wakes, peer_serve, 0 },
	{ "stream.iovecs", iovecs, peer_serve, T_SWAP },
	{ "stream.iovecs_too_many", iovecs_too_many, peer_serve, 0 },
	{ "stream.mmsg", mmsg, peer_serve, 0 },
	{ "stream.addresses_ignored", addresses_ignored, peer_serve, 0 },
	{ "stream.dontwait", dontwait, peer_serve, 0 },
	{ "stream.fill_and_drain", fill_and_drain, peer_serve, T_SWAP },
	{ "stream.partial_send", partial_send, peer_serve, 0 },
	{ "stream.blocked_sender_wakes", blocked_sender_wakes, peer_serve,
	  T_SWAP },
	{ "stream.sender_interrupted", sender_interrupted, peer_serve, 0 },
	{ "stream.recv_interrupted", recv_interrupted, peer_serve, 0 },
	{ "stream.stalled_reader", stalled_reader, peer_serve, T_SWAP },
	{ "stream.stalled_reader_small_steps", stalled_reader_small_steps,
	  peer_serve, 0 },
	{ "stream.small_messages_fill_window", small_messages_fill_window,
	  peer_serve, 0 },
	{ "stream.both_send_first", both_send_first, peer_serve, T_SWAP },
	{ "stream.both_full", both_full, peer_serve, T_SWAP },
	{ "stream.zero_length", zero_length, peer_serve, 0 },
	{ "stream.send_bad_memory", send_bad_memory, peer_serve, 0 },
	{ "stream.send_bad_memory_big", send_bad_memory_big, peer_serve, 0 },
	{ "stream.recv_bad_memory", recv_bad_memory, peer_serve, 0 },
	{ "stream.recv_read_only_memory", recv_read_only_memory, peer_serve,
	  0 },
	{ "stream.buffer_reused_at_once", buffer_reused_at_once, peer_serve,
	  T_SWAP },
	{ "stream.cork", cork, peer_serve, 0 },
	{ "stream.cork_nodelay_flushes", cork_nodelay_flushes, peer_serve, 0 },
	{ "stream.cork_large", cork_large, peer_serve, 0 },
	{ "stream.msg_more", msg_more, peer_serve, 0 },
	{ "stream.msg_more_then_end", msg_more_then_end, peer_serve, 0 },
	{ "stream.nodelay", nodelay, peer_serve, 0 },
	{ "stream.nagle_rest_arrives", nagle_rest_arrives, peer_serve, 0 },
	{ "stream.rcvtimeo", rcvtimeo, peer_serve, 0 },
	{ "stream.sndtimeo", sndtimeo, peer_serve, 0 },
};
TABLE_END(stream);
