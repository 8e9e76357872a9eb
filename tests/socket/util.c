// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sockets, the byte pattern, and waiting for states that can be seen. */
#include "harness.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <time.h>

struct stream_pos pos[1024];
volatile sig_atomic_t sig_count;

/* ---- time -------------------------------------------------------------------- */

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void nap(void)
{
	struct timespec ts = { 0, 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- sockets ----------------------------------------------------------------- */

struct in_addr my_addr(void)
{
	return env.server ? env.addr : env.caddr;
}

struct sockaddr_in sa_make(struct in_addr a, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = a,
				     .sin_port = htons(port) };
}

struct sockaddr_in sa_of(int fd)
{
	struct sockaddr_in sa = { 0 };
	socklen_t len = sizeof(sa);

	expect_ret(getsockname(fd, (void *)&sa, &len), 0);
	expect_eq(len, sizeof(sa));
	expect_eq(sa.sin_family, AF_INET);
	return sa;
}

struct sockaddr_in sa_peer(int fd)
{
	struct sockaddr_in sa = { 0 };
	socklen_t len = sizeof(sa);

	expect_ret(getpeername(fd, (void *)&sa, &len), 0);
	expect_eq(len, sizeof(sa));
	expect_eq(sa.sin_family, AF_INET);
	return sa;
}

uint16_t port_of(int fd)
{
	return ntohs(sa_of(fd).sin_port);
}

int new_socket(void)
{
	return expect_ok(socket(env.family, SOCK_STREAM, 0));
}

int new_socket_nb(void)
{
	return expect_ok(socket(env.family, SOCK_STREAM | SOCK_NONBLOCK, 0));
}

int bound_socket(struct in_addr a, uint16_t port)
{
	struct sockaddr_in sa = sa_make(a, port);
	int fd = new_socket();

	expect_ret(bind(fd, (void *)&sa, sizeof(sa)), 0);
	return fd;
}

int new_listener(int backlog)
{
	int fd = bound_socket(my_addr(), 0);

	expect_ret(listen(fd, backlog), 0);
	return fd;
}

int connect_to(int fd, struct in_addr a, uint16_t port)
{
	struct sockaddr_in sa = sa_make(a, port);

	return connect(fd, (void *)&sa, sizeof(sa));
}

int connect_nb(uint16_t port)
{
	int fd = new_socket_nb();

	expect_err(connect_to(fd, my_addr(), port), EINPROGRESS);
	return fd;
}

uint16_t free_port(void)
{
	int fd = bound_socket(my_addr(), 0);
	uint16_t port = port_of(fd);

	close(fd);
	return port;
}

void set_nonblock(int fd, bool on)
{
	int fl = expect_ok(fcntl(fd, F_GETFL));

	fl = on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK;
	expect_ret(fcntl(fd, F_SETFL, fl), 0);
}

void set_int(int fd, int level, int name, int val)
{
	if (setsockopt(fd, level, name, &val, sizeof(val)))
		fail("setsockopt(level %d, name %d, %d): errno %d (%s)", level,
		     name, val, errno, strerror(errno));
}

int get_int(int fd, int level, int name)
{
	int val = -12345;
	socklen_t len = sizeof(val);

	if (getsockopt(fd, level, name, &val, &len))
		fail("getsockopt(level %d, name %d): errno %d (%s)", level,
		     name, errno, strerror(errno));
	expect_eq(len, sizeof(val));
	return val;
}

void set_timeo(int fd, int name, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	expect_ret(setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)), 0);
}

void set_linger(int fd, int on, int seconds)
{
	struct linger l = { on, seconds };

	expect_ret(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
}

int so_error(int fd)
{
	return get_int(fd, SOL_SOCKET, SO_ERROR);
}

void local_pair(int fd[2])
{
	int l = new_listener(1);

	fd[0] = new_socket();
	expect_ret(connect_to(fd[0], my_addr(), port_of(l)), 0);
	fd[1] = expect_ok(accept(l, NULL, NULL));
	pos[fd[0]] = pos[fd[1]] = (struct stream_pos){ 0 };
	close(l);
}

void full_open(struct full_listener *f)
{
	int i;

	note_step("fill the backlog");
	/*
	 * Not 1: with as many half-open requests as the backlog TCP goes over
	 * to SYN cookies, and a client whose last ACK finds the queue full
	 * believes for ever in a connection that the server has forgotten.
	 */
	f->lfd = new_listener(4);
	f->port = port_of(f->lfd);
	f->nfill = 5;	/* as TCP: backlog + 1 */
	for (i = 0; i < f->nfill; i++) {
		f->fill[i] = new_socket();
		expect_ret(connect_to(f->fill[i], my_addr(), f->port), 0);
	}
}

void full_drain(struct full_listener *f, int want, int *fds)
{
	int i, n = f->nfill + want;
	uint16_t fillers[8];

	note_step("drain the backlog");
	for (i = 0; i < f->nfill; i++)
		fillers[i] = port_of(f->fill[i]);
	while (n--) {
		int fd, k;
		uint16_t p;

		fd = expect_ok(accept(f->lfd, NULL, NULL));
		p = ntohs(sa_peer(fd).sin_port);
		for (k = 0; k < f->nfill; k++)
			if (fillers[k] == p)
				break;
		if (k == f->nfill && fds)
			*fds++ = fd;
	}
}

/* ---- the byte pattern -------------------------------------------------------- */

#define PERIOD 65521	/* a prime: no buffer size hides a shift */

static unsigned char *pattern(void)
{
	static unsigned char p[PERIOD];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool ready;

	pthread_mutex_lock(&lock);
	if (!ready) {
		uint32_t x = 12345;
		int i;

		for (i = 0; i < PERIOD; i++) {
			x = x * 1664525 + 1013904223;
			p[i] = x >> 24;
		}
		ready = true;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void pat_fill(void *buf, uint64_t off, size_t n)
{
	const unsigned char *p = pattern();
	char *b = buf;

	while (n) {
		size_t o = off % PERIOD;
		size_t k = n < PERIOD - o ? n : PERIOD - o;

		memcpy(b, p + o, k);
		b += k;
		off += k;
		n -= k;
	}
}

void pat_check_at(const char *file, int line, const void *buf, uint64_t off,
		  size_t n)
{
	const unsigned char *p = pattern(), *b = buf;

	while (n) {
		size_t o = off % PERIOD;
		size_t k = n < PERIOD - o ? n : PERIOD - o, i;

		if (memcmp(b, p + o, k)) {
			for (i = 0; b[i] == p[o + i]; i++)
				;
			fail_at(file, line,
				"byte %llu of the stream: expected %02x, got %02x",
				(unsigned long long)(off + i), p[o + i], b[i]);
		}
		b += k;
		off += k;
		n -= k;
	}
}

void send_pat_at(const char *file, int line, int fd, size_t n)
{
	char *buf = malloc(n ? n : 1);
	size_t done = 0;

	at(file, line);
	pat_fill(buf, pos[fd].tx, n);
	while (done < n) {
		ssize_t r = send(fd, buf + done, n - done, MSG_NOSIGNAL);

		if (r < 0)
			fail_ret(file, line, "send", r, errno, "success");
		done += r;
	}
	pos[fd].tx += n;
	free(buf);
}

void recv_pat_at(const char *file, int line, int fd, size_t n)
{
	size_t size = n < (1 << 20) ? n : 1 << 20;
	char *buf = malloc(size ? size : 1);

	at(file, line);
	while (n) {
		ssize_t r = recv(fd, buf, n < size ? n : size, 0);

		if (r <= 0)
			fail_ret(file, line, "recv", r, errno, "data");
		pat_check_at(file, line, buf, pos[fd].rx, r);
		pos[fd].rx += r;
		n -= r;
	}
	free(buf);
}

size_t flood(int fd, size_t limit)
{
	static __thread char buf[16384];
	size_t sent = 0;
	int calm = 0;

	/*
	 * The peer's kernel takes bytes over while this runs: full means that
	 * EAGAIN is the answer for a while, not once.
	 */
	while (sent < limit && calm < (env.family == AF_INET ? 60 : 400)) {
		ssize_t r;

		pat_fill(buf, pos[fd].tx, sizeof(buf));
		r = send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r > 0) {
			sent += r;
			pos[fd].tx += r;
			calm = 0;
		} else if (r < 0 && errno == EAGAIN) {
			calm++;
			nap();
		} else {
			fail_ret(__FILE__, __LINE__, "send", r, errno,
				 "bytes or EAGAIN");
		}
	}
	return sent;
}

/* ---- waiting for a state that can be seen ----------------------------------- */

static const char *bits(short ev, char *buf, size_t n)
{
	static const struct { short bit; const char *name; } t[] = {
		{ POLLIN, "IN" }, { POLLPRI, "PRI" }, { POLLOUT, "OUT" },
		{ POLLRDHUP, "RDHUP" }, { POLLERR, "ERR" },
		{ POLLHUP, "HUP" }, { POLLNVAL, "NVAL" },
	};
	size_t i;

	snprintf(buf, n, "none");
	for (i = 0; i < ARRAY_SIZE(t); i++)
		if (ev & t[i].bit) {
			size_t l = strcmp(buf, "none") ? strlen(buf) : 0;

			snprintf(buf + l, n - l, "%s%s", l ? "|" : "",
				 t[i].name);
		}
	return buf;
}

short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = P_ALL };

	if (poll(&p, 1, 0) < 0)
		fail("poll: %s", strerror(errno));
	return p.revents;
}

static void poll_fail(const char *file, int line, short want, short got)
{
	char a[64], b[64];

	fail_at(file, line, "poll: expected %s, got %s",
		bits(want, a, sizeof(a)), bits(got, b, sizeof(b)));
}

void expect_poll_at(const char *file, int line, int fd, short want)
{
	short got = poll_now(fd);

	at(file, line);
	if (got != want)
		poll_fail(file, line, want, got);
}

void wait_poll_at(const char *file, int line, int fd, short want)
{
	int64_t until = now_ms() + WAIT_MS;
	short got;

	at(file, line);
	while ((got = poll_now(fd)) != want) {
		if (now_ms() > until)
			poll_fail(file, line, want, got);
		nap();
	}
}

void wait_bits_at(const char *file, int line, int fd, short want)
{
	int64_t until = now_ms() + WAIT_MS;
	short got;

	at(file, line);
	while (((got = poll_now(fd)) & want) != want) {
		if (now_ms() > until)
			poll_fail(file, line, want, got);
		nap();
	}
}

void wait_inq_at(const char *file, int line, int fd, int n)
{
	int64_t until = now_ms() + WAIT_MS;
	int got = -1;

	at(file, line);
	for (;;) {
		if (ioctl(fd, FIONREAD, &got))
			fail_ret(file, line, "FIONREAD", -1, errno, "success");
		if (got >= n)
			return;
		if (now_ms() > until)
			fail_at(file, line,
				"FIONREAD: expected %d bytes to come, got %d",
				n, got);
		nap();
	}
}

void wait_outq0_at(const char *file, int line, int fd)
{
	int64_t until = now_ms() + WAIT_MS;
	int got = -1;

	at(file, line);
	for (;;) {
		if (ioctl(fd, SIOCOUTQ, &got))
			fail_ret(file, line, "SIOCOUTQ", -1, errno, "success");
		if (!got)
			return;
		if (now_ms() > until)
			fail_at(file, line,
				"SIOCOUTQ: expected to reach 0, stays at %d",
				got);
		nap();
	}
}

static bool read_proc(pid_t tid, const char *what, char *buf, size_t n)
{
	char path[64];
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	r = read(fd, buf, n - 1);
	close(fd);
	if (r <= 0)
		return false;
	buf[r] = 0;
	return true;
}

/*
 * State S in /proc/TID/stat is asleep; /proc/TID/syscall, where the kernel has
 * it, tells in which call.
 */
void wait_blocked_at(const char *file, int line, pid_t tid, long nr)
{
	int64_t until = now_ms() + WAIT_MS;
	char stat[512], call[256], *p;

	at(file, line);
	for (; now_ms() < until; nap()) {
		if (!read_proc(tid, "stat", stat, sizeof(stat)))
			fail_at(file, line, "thread %d is gone", tid);
		p = strrchr(stat, ')');
		if (!p || p[2] != 'S')
			continue;
		if (!read_proc(tid, "syscall", call, sizeof(call)))
			return;
		if (nr < 0 ? call[0] != 'r' : atol(call) == nr &&
		    call[0] != 'r')
			return;
	}
	fail_at(file, line, "thread %d does not block in call %ld", tid, nr);
}

/* ---- workers --------------------------------------------------------------- */

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->tid = gettid();
	errno = 0;
	w->fn(w);
	w->done = true;
	return NULL;
}

void worker_start(struct worker *w, void (*fn)(struct worker *w))
{
	w->fn = fn;
	w->tid = 0;
	w->done = false;
	if (pthread_create(&w->th, NULL, worker_main, w))
		fail("pthread_create");
	while (!w->tid)
		nap();
}

void worker_join(struct worker *w)
{
	pthread_join(w->th, NULL);
}

void w_recv(struct worker *w)
{
	w->ret = recv(w->fd, w->buf, w->len, w->flags);
	w->err = errno;
}

void w_send(struct worker *w)
{
	w->ret = send(w->fd, w->buf, w->len, w->flags | MSG_NOSIGNAL);
	w->err = errno;
}

void w_accept(struct worker *w)
{
	w->ret = accept(w->fd, NULL, NULL);
	w->err = errno;
}

void w_connect(struct worker *w)
{
	w->ret = connect(w->fd, (void *)&w->sa, sizeof(w->sa));
	w->err = errno;
}

void w_poll(struct worker *w)
{
	struct pollfd p = { .fd = w->fd, .events = w->flags };

	w->ret = poll(&p, 1, WAIT_MS);
	w->err = errno;
	if (w->ret > 0)
		w->ret = p.revents;
}

static void on_signal(int sig)
{
	(void)sig;
	sig_count++;
}

void count_signal(int sig, bool restart)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = restart ? SA_RESTART : 0 };

	sig_count = 0;
	expect_ret(sigaction(sig, &sa, NULL), 0);
}

void kick(pid_t tid, int sig)
{
	expect_ret(syscall(SYS_tgkill, getpid(), tid, sig), 0);
}
