// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * peer_test: the SDP module judged on the wire. One side is a socket, the other a scripted peer of sdp_peer.ko; both
 * in this machine, on one device (soft-RoCE loops back).
 *
 *   peer_test [-a ADDR] [-d DEV] [-t NAME]... [-s] [-v] [-l]
 *
 *   -a  IPv4 address of the RDMA interface (10.1.0.1)     -d  its RDMA device (rxe0)
 *   -t  only cases whose name starts so                   -s  only those that need no module under test
 *   -v  print commands and events                         -l  list the cases
 *   -m  a stand-in instead of the module, see model.c
 *
 * A case runs once in each of its roles, in a process of its own; a case that takes over 60 s fails.
 */
#define _GNU_SOURCE
#include "peer_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

const char *opt_addr = "10.1.0.1", *opt_dev = "rxe0";
bool opt_model;
static int model_status;

static const struct tcase *const tables[] = { cases_self, cases_setup, cases_stream, cases_zcopy, cases_close,
					      cases_bad, cases_bulk };
static int report;		/* the case's process says here why it failed */
static jmp_buf *expected;	/* must_fail() */
static char expected_msg[400];

void fail(const char *fmt, ...)
{
	char msg[400];
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (expected) {
		strcpy(expected_msg, msg);
		longjmp(*expected, 1);
	}
	n = write(report, msg, strlen(msg));
	_exit(n < 0 ? 3 : 1);
}

void skip(const char *fmt, ...)
{
	char msg[400];
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	n = write(report, msg, strlen(msg));
	_exit(n < 0 ? 3 : 2);
}

void must_fail(void (*fn)(void *), void *arg, const char *with)
{
	jmp_buf env;

	if (!setjmp(env)) {
		expected = &env;
		fn(arg);
		expected = NULL;
		fail("nothing was found wrong, wanted: %s", with);
	}
	expected = NULL;
	if (!strstr(expected_msg, with))
		fail("found \"%s\", wanted: %s", expected_msg, with);
}

/* ---- sockets ---- */

#ifdef MODEL
void model_process(void)
{
	report = STDERR_FILENO;
}
#else
void model_listen(uint16_t port)
{
	fail("built without the model, port %u", port);
}

int model_connect(uint16_t port, int *status)
{
	fail("built without the model, port %u, %d", port, *status);
}
#endif

static int sk_new(void)
{
	int s = socket(opt_model ? AF_INET : PF_TEST, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 && (errno == EAFNOSUPPORT || errno == ESOCKTNOSUPPORT))
		skip("no sockets of family %d: is the module loaded?", PF_TEST);
	if (s < 0)
		fail("socket: %s", strerror(errno));
	return s;
}

static bool sk_wait(int s, short what, int ms)
{
	struct pollfd pf = { s, what, 0 };

	return poll(&pf, 1, ms) > 0;
}

int sk_listen(struct link *l)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int s = sk_new(), small = 4096;

	inet_pton(AF_INET, opt_model ? "127.0.0.1" : opt_addr, &sa.sin_addr);
	if (opt_model)
		setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(s, (struct sockaddr *)&sa, sizeof(sa)) || listen(s, l->backlog) ||
	    getsockname(s, (struct sockaddr *)&sa, &len))
		fail("bind, listen: %s", strerror(errno));
	l->port = ntohs(sa.sin_port);
	if (opt_model)
		model_listen(l->port);
	return s;
}

int sk_accept(struct link *l)
{
	int s;

	if (!sk_wait(l->ls, POLLIN, WAIT))
		fail("accept: nobody came");
	s = accept(l->ls, NULL, NULL);
	if (s < 0)
		fail("accept: %s", strerror(errno));
	return s;
}

int sk_start_connect(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int s;

	if (opt_model)
		return model_connect(port, &model_status);
	s = sk_new();
	inet_pton(AF_INET, opt_addr, &sa.sin_addr);
	fcntl(s, F_SETFL, O_NONBLOCK);
	if (!connect(s, (struct sockaddr *)&sa, sizeof(sa)) || errno != EINPROGRESS)
		fail("connect: %s", strerror(errno));
	return s;
}

int sk_finish_connect(int s, int ms)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (opt_model) {
		if (!sk_wait(model_status, POLLIN, ms) || read(model_status, &err, sizeof(err)) != sizeof(err))
			fail("connect() still waits after %d ms", ms);
		return err;
	}
	if (!sk_wait(s, POLLOUT, ms))
		fail("connect() still waits after %d ms", ms);
	if (getsockopt(s, SOL_SOCKET, SO_ERROR, &err, &len))
		fail("SO_ERROR: %s", strerror(errno));
	fcntl(s, F_SETFL, 0);
	return err;
}

void sk_write(int s, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = send(s, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n != (ssize_t)len)
		fail("send of %zu bytes: %s", len, n < 0 ? strerror(errno) : "short");
}

static ssize_t sk_some(int s, void *buf, size_t len, const char *what)
{
	ssize_t n;

	if (!sk_wait(s, POLLIN, WAIT))
		fail("socket: %s did not come within %d ms", what, WAIT);
	n = recv(s, buf, len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		fail("socket: readable, but recv() says EAGAIN");
	return n;
}

void sk_read(int s, const char *text)
{
	size_t len = strlen(text), got = 0;
	char buf[4096];

	while (got < len) {
		ssize_t n = sk_some(s, buf + got, len - got, text);

		if (n <= 0)
			fail("socket: wanted \"%s\", got %s after %zu bytes", text, n ? strerror(errno) : "EOF", got);
		got += n;
	}
	if (memcmp(buf, text, len))
		fail("socket: wanted \"%s\", got other bytes", text);
}

void sk_pattern(int s, uint8_t seed, uint32_t pos, uint32_t n)
{
	uint8_t buf[16384];

	while (n) {
		ssize_t k = sk_some(s, buf, n < sizeof(buf) ? n : sizeof(buf), "more of the stream");

		if (k <= 0)
			fail("socket: %s at stream position %u", k ? strerror(errno) : "EOF", pos);
		for (ssize_t i = 0; i < k; i++)
			if (buf[i] != pat_byte(seed, pos + i))
				fail("socket: wrong byte at stream position %u", pos + (uint32_t)i);
		pos += k;
		n -= k;
	}
}

void sk_eof(int s)
{
	char c[4];
	ssize_t n = sk_some(s, c, sizeof(c), "EOF");

	if (n)
		fail("socket: wanted EOF, got %s", n < 0 ? strerror(errno) : "data");
}

void sk_error(int s, int err)
{
	char c[4];
	ssize_t n = sk_some(s, c, sizeof(c), "the error");

	if (n >= 0)
		fail("socket: wanted %s, got %s", strerror(err), n ? "data" : "EOF");
	if (errno != err)
		fail("socket: wanted %s, got %s", strerror(err), strerror(errno));
}

void sk_quiet(int s, int ms)
{
	if (sk_wait(s, POLLIN | POLLRDHUP, ms))
		fail("socket: became readable");
}

/* ---- counters ---- */

static uint64_t stat_sum(const char *name, bool part)
{
	FILE *f = fopen("/proc/net/sdpstats", "r");
	unsigned long long v;
	uint64_t sum = 0;
	char k[100];

	while (f && fscanf(f, "%99s %llu", k, &v) == 2)
		if (part ? !!strcasestr(k, name) : !strcmp(k, name))
			sum += v;
	if (f)
		fclose(f);
	return sum;
}

uint64_t stat_of(const char *name)
{
	return stat_sum(name, false);
}

void stats_before(struct link *l)
{
	l->violations = stat_sum("violation", true);
	if (l->tc->stat)
		l->stat = stat_of(l->tc->stat);
}

/* The counter named by the case's row, or any that counts violations. */
void stats_after(struct link *l)
{
	if (opt_model)
		return;
	if (l->tc->stat && stat_of(l->tc->stat) <= l->stat)
		fail("counter %s did not rise", l->tc->stat);
	if (!l->tc->stat && !access("/proc/net/sdpstats", R_OK) && stat_sum("violation", true) <= l->violations)
		fail("no counter of violations rose");
}

/* ---- connections ---- */

void put16(uint8_t *d, uint16_t v)
{
	d[0] = v >> 8;
	d[1] = v;
}

void put32(uint8_t *d, uint32_t v)
{
	put16(d, v >> 16);
	put16(d + 2, v);
}

static uint32_t get32(const uint8_t *d)
{
	return (uint32_t)d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3];
}

const char *hex_of(const uint8_t *d, size_t n)
{
	static char buf[4][1024];
	static int i;
	char *s = buf[++i & 3];

	*s = 0;
	while (n--)
		sprintf(s + strlen(s), "%02x", *d++);
	return s;
}

void link_peer(struct link *l)
{
	static int ports;

	l->p = peer_open();
	if (l->role == 'c') {
		peer_cmd(l->p, "resolve %s %s", opt_addr, opt_addr);
		return;
	}
	peer_cmd(l->p, "bind %s 1", opt_dev);
	l->port = 20000 + (getpid() * 8 + ports++) % 20000;
	peer_cmd(l->p, "listen %x", 0x10000 | l->port);
}

void link_hello(struct link *l)
{
	const struct flavour *f = &l->f;
	uint8_t *h = l->hello, *a = l->ack;

	memset(h, 0, HELLO_LEN);
	memset(a, 0, HELLO_ACK_LEN);
	h[0] = HELLO;
	put16(h + 2, f->bufs);
	put32(h + 4, HELLO_LEN);
	h[16] = f->ver;
	h[17] = 0x40;
	h[19] = f->adverts;
	put32(h + 20, f->size);
	put32(h + 24, f->size);
	put16(h + 28, 0xc000 | (getpid() & 0xfff));
	inet_pton(AF_INET, opt_addr, h + 44);
	inet_pton(AF_INET, opt_addr, h + 60);
	a[0] = HELLO_ACK;
	put16(a + 2, f->bufs);
	put32(a + 4, HELLO_ACK_LEN);
	a[16] = f->ver;
	a[19] = f->adverts;
	put32(a + 20, f->size);
	l->hello_len = HELLO_LEN;
	l->ack_len = HELLO_ACK_LEN;
}

/* R2, R10: everything but policy is fixed. */
static void check_hello(struct link *l, const char *hex, const char *ver)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char pat[400], cap = '0';
	const char *at, *ip;
	uint8_t h[HELLO_LEN];

	if (hex_bytes(hex, h, sizeof(h)) != HELLO_LEN)
		fail("Hello too short");
	if (getsockname(l->s, (struct sockaddr *)&sa, &len))
		fail("getsockname: %s", strerror(errno));
	if (*ver == '2' && (h[17] & 1))		/* INVALIDATE_CAP is policy */
		cap = '1';
	if (opt_model)
		inet_pton(AF_INET, opt_addr, &sa.sin_addr);
	ip = hex_of((uint8_t *)&sa.sin_addr, 4);
	snprintf(pat, sizeof(pat), "0000.... 0000005c 00000000 00000000 %s4%c00.. ........ ........ %04x0000 "
		 "000000000000000000000000%s 000000000000000000000000%s "
		 "00000000000000000000000000000000000000000000000000000000", ver, cap, ntohs(sa.sin_port), ip,
		 hex_of((uint8_t *)&(struct in_addr){ inet_addr(opt_addr) }, 4));
	at = hex_match(hex, pat);
	if (at && strspn(at, "0123456789abcdef"))
		fail("Hello differs at byte %d: %.16s (R2, R10)", (int)(at - hex) / 2, at);
	if ((h[2] << 8 | h[3]) < 3)
		fail("Hello: Bufs %d (R4)", h[2] << 8 | h[3]);
	if (!h[19])
		fail("Hello: MaxAdverts 0 (R6)");
	if (get32(h + 24) < 37)
		fail("Hello: LocalRcvSz %u (R5)", get32(h + 24));
	sdp_start(l->p, &l->f, h[2] << 8 | h[3], get32(h + 24));
}

static void check_ack(struct link *l, const char *hex)
{
	uint8_t a[HELLO_ACK_LEN];
	char pat[500];
	const char *at;

	if (hex_bytes(hex, a, sizeof(a)) != HELLO_ACK_LEN)
		fail("HelloAck too short");
	/* the major is repeated, the minor is ours to choose; byte 17: a capability nibble in v2 */
	snprintf(pat, sizeof(pat), "0100.... 000000c4 00000000 00000000 %x. 0%c 00.. ........", l->hello[16] >> 4,
		 l->hello[16] >> 4 == 2 && (a[17] & 1) ? '1' : '0');
	at = hex_match(hex, pat);
	if (at && at - hex < 48)
		fail("HelloAck differs at byte %d: %.16s (R3, R7)", (int)(at - hex) / 2, at);
	for (int i = 24; i < HELLO_ACK_LEN; i++)
		if (a[i])
			fail("HelloAck: byte %d is %02x (R3)", i, a[i]);
	if ((a[2] << 8 | a[3]) < 3)
		fail("HelloAck: Bufs %d (R4)", a[2] << 8 | a[3]);
	if (!a[19])
		fail("HelloAck: MaxAdverts 0 (R6)");
	if (get32(a + 20) < 37)
		fail("HelloAck: ActRcvSz %u (R5)", get32(a + 20));
	sdp_start(l->p, &l->f, a[2] << 8 | a[3], get32(a + 20));
}

static const char *more(const struct link *l)
{
	return l->opts ? l->opts : "";
}

void link_connect(struct link *l)
{
	char *ev;

	l->p->f = &l->f;
	if (l->role == 'c') {
		sdp_post(l->p, l->f.bufs);
		peer_cmd(l->p, "connect %x %s rnr=%d %s", 0x10000 | l->port, hex_of(l->hello, l->hello_len), l->f.rnr,
			 more(l));
		return;
	}
	l->s = sk_start_connect(l->port);
	ev = peer_want(l->p, WAIT, "req");
	check_hello(l, ev, "22");
	if (l->f.ver >> 4 != 1)
		return;
	/* a 2005 peer refuses the version, and the other one is offered */
	peer_cmd(l->p, "rej 28");
	ev = peer_want(l->p, WAIT, "req");
	check_hello(l, ev, "11");
}

void link_answer(struct link *l)
{
	if (l->role == 'c') {
		check_ack(l, peer_want(l->p, WAIT, "rep"));
		return;
	}
	sdp_post(l->p, l->f.bufs);
	peer_cmd(l->p, "rep %s rnr=%d selfrnr=0 %s", hex_of(l->ack, l->ack_len), l->f.rnr, more(l));
}

void link_ready(struct link *l)
{
	int err;

	if (l->role == 'c') {
		peer_cmd(l->p, "rtu selfrnr=0");
		l->s = sk_accept(l);
		return;
	}
	peer_want(l->p, WAIT, "rtu");
	err = sk_finish_connect(l->s, WAIT);
	if (err)
		fail("connect: %s", strerror(err));
}

void link_up(struct link *l)
{
	if (l->role == 'c')
		l->ls = sk_listen(l);
	link_peer(l);
	link_hello(l);
	link_connect(l);
	link_answer(l);
	link_ready(l);
}

void self_up(struct peer **ap, struct peer **bp, const struct flavour *fa, const struct flavour *fb)
{
	struct link l = { .role = 'p', .f = *fb };
	struct peer *a = peer_open(), *b;

	link_peer(&l);
	b = *bp = l.p;
	*ap = a;
	sdp_start(a, fa, fb->bufs, fb->size);
	sdp_start(b, fb, fa->bufs, fa->size);
	peer_cmd(a, "resolve %s %s", opt_addr, opt_addr);
	sdp_post(a, fa->bufs);
	l.f = *fa;
	link_hello(&l);
	peer_cmd(a, "connect %x %s rnr=%d", 0x10000 | l.port, hex_of(l.hello, HELLO_LEN), fa->rnr);
	peer_want_hex(b, WAIT, "req", hex_of(l.hello, HELLO_LEN));
	l.f = *fb;
	link_hello(&l);
	sdp_post(b, fb->bufs);
	peer_cmd(b, "rep %s rnr=%d", hex_of(l.ack, HELLO_ACK_LEN), fb->rnr);
	peer_want_hex(a, WAIT, "rep", hex_of(l.ack, HELLO_ACK_LEN));
	peer_cmd(a, "rtu");
	peer_want(b, WAIT, "rtu");
}

/* What the kinds of peers put into one message. */
uint32_t max_payload(const struct peer *p)
{
	uint32_t n = p->rcvsz - BSDH;

	if (p->f->ver == 0x11 && n > 4096 - BSDH)
		n = 4096 - BSDH;
	return n > 65536 ? 65536 : n;
}

/* ---- running ---- */

static const char *role_name(char role)
{
	return role == 'c' ? ".peer-connects" : role == 'p' ? ".socket-connects" : "";
}

static void child(const struct tcase *t, char role)
{
	struct link l = { .role = role, .tc = t, .f = t->f ? *t->f : fl_new, .ls = -1, .s = -1, .backlog = 8 };

	signal(SIGPIPE, SIG_IGN);
	t->fn(&l);
	_exit(0);
}

/* Returns 0 passed, 1 failed, 2 skipped. */
static int run(const struct tcase *t, char role, int *seconds)
{
	struct pollfd pf = { .events = POLLIN };
	char why[400] = "";
	long start = now_ms();
	int fd[2], st;
	ssize_t n = 0;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return 1;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		report = fd[1];
		child(t, role);
	}
	close(fd[1]);
	pf.fd = fd[0];
	if (poll(&pf, 1, 60000) > 0) {
		n = read(fd[0], why, sizeof(why) - 1);
	} else {
		kill(pid, SIGKILL);
		strcpy(why, "took over 60 s");
	}
	close(fd[0]);
	waitpid(pid, &st, 0);
	*seconds = (now_ms() - start) / 1000;
	if (WIFSIGNALED(st) && !*why)
		snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(st));
	if (WIFEXITED(st) && WEXITSTATUS(st) == 2) {
		printf("skip %s%s: %s\n", t->name, role_name(role), why);
		return 2;
	}
	if (*why || st) {
		printf("not ok %s%s: %s\n", t->name, role_name(role), why);
		return 1;
	}
	printf("ok %s%s%s\n", t->name, role_name(role), n < 0 ? " (no report)" : "");
	return 0;
}

int main(int argc, char **argv)
{
	const char *only[32];
	int nonly = 0, c, count[3] = {}, secs;
	bool list = false, self = false;

	while ((c = getopt(argc, argv, "a:d:t:slvm")) != -1) {
		if (c == 'a')
			opt_addr = optarg;
		else if (c == 'd')
			opt_dev = optarg;
		else if (c == 't' && nonly < 32)
			only[nonly++] = optarg;
		else if (c == 's')
			self = true;
		else if (c == 'm')
			opt_model = true;
		else if (c == 'l')
			list = true;
		else if (c == 'v')
			setenv("PEER_TRACE", "1", 1);
		else
			return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct tcase *t = tables[i]; t->name; t++)
			for (const char *r = t->roles; *r; r++) {
				char name[120];
				bool want = !nonly;

				snprintf(name, sizeof(name), "%s%s", t->name, role_name(*r));
				for (int k = 0; k < nonly; k++)
					want |= !strncmp(name, only[k], strlen(only[k]));
				if (!want || (self && *r != 's'))
					continue;
				if (list)
					puts(name);
				else
					count[run(t, *r, &secs)]++;
			}
	if (list)
		return 0;
	if (count[2])
		printf("%d passed, %d failed, %d skipped\n", count[0], count[1], count[2]);
	else
		printf("%d passed, %d failed\n", count[0], count[1]);
	return count[1] != 0;
}
