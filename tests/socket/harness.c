// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The runner: forks the sides of a case, relays what they say to each other,
 * watches the time, prints the verdict.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdarg.h>
#include <sys/prctl.h>

struct env env;

enum status { ST_NONE, ST_OK, ST_FAIL, ST_SKIP };

/* What a side leaves behind for the runner, in shared memory. */
struct report {
	enum status status;
	const char *file;	/* same program image on both sides of fork() */
	int line;
	char step[48];
	char text[512];
};

enum msg_kind {
	M_STEP = 1,	/* side to side: named step with a value */
	M_CMD,		/* script to peer */
	M_REPLY,	/* peer to script */
	M_GONE,		/* runner to side: the other side has finished well */
	M_BEGIN,	/* runner to runner: run this case */
	M_END,		/* runner to runner: my side's verdict */
	M_READY,	/* runner to runner: the case is over here */
	M_QUIT,		/* runner to runner: no more cases */
};

/* Both machines are of one kind: the struct is sent as it is. */
struct msg {
	uint32_t kind;
	uint32_t run;
	int64_t val[4];
	char text[512];
};

static struct report *me;	/* this side's */
static int ctl = -1;		/* this side's control channel */
static uint32_t run_no;

/* ---- in a side ------------------------------------------------------------- */

void at(const char *file, int line)
{
	if (!me)
		return;
	me->file = file;
	me->line = line;
}

void note_step(const char *step)
{
	if (me)
		snprintf(me->step, sizeof(me->step), "%s", step);
}

static void finish(enum status st, const char *fmt, va_list ap)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	/* Two threads may fail at a time: the first one is reported. */
	if (atomic_flag_test_and_set(&once))
		for (;;)
			pause();
	if (me) {
		vsnprintf(me->text, sizeof(me->text), fmt, ap);
		me->status = st;
	} else {
		vfprintf(stderr, fmt, ap);
		fputc('\n', stderr);
	}
	_exit(st == ST_SKIP ? 0 : 1);
}

static void finish_fmt(enum status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finish(st, fmt, ap);
	va_end(ap);
}

void fail_at(const char *file, int line, const char *fmt, ...)
{
	char buf[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	finish_fmt(ST_FAIL, "%s: %s:%d: %s", env.server ? "server" : "client",
		   file, line, buf);
	_exit(1);
}

void skip_case(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finish(ST_SKIP, fmt, ap);
	va_end(ap);
	_exit(0);
}

void fail_ret(const char *file, int line, const char *what, long got, int err,
	      const char *want)
{
	if (got < 0)
		fail_at(file, line, "%s: expected %s, got %ld, errno %d (%s)",
			what, want, got, err, strerror(err));
	fail_at(file, line, "%s: expected %s, got %ld", what, want, got);
}

static void ctl_send(enum msg_kind kind, const char *text, const int64_t v[4])
{
	struct msg m = { .kind = kind, .run = run_no };

	if (v)
		memcpy(m.val, v, sizeof(m.val));
	if (text)
		snprintf(m.text, sizeof(m.text), "%s", text);
	/* If the runner is gone so are we. */
	if (send(ctl, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		_exit(1);
}

static struct msg ctl_recv(void)
{
	struct msg m;
	ssize_t r;

	do {
		r = recv(ctl, &m, sizeof(m), 0);
	} while (r < 0 && errno == EINTR);
	if (r != sizeof(m))
		_exit(1);
	return m;
}

void ctl_put(const char *step, int64_t val)
{
	int64_t v[4] = { val };

	ctl_send(M_STEP, step, v);
}

int64_t ctl_get(const char *step)
{
	struct msg m;

	note_step(step);
	m = ctl_recv();
	if (m.kind == M_GONE)
		fail("step %s: the other side has already finished", step);
	if (m.kind != M_STEP || strcmp(m.text, step))
		fail("step %s: the other side is at '%s' (kind %u)", step,
		     m.text, m.kind);
	return m.val[0];
}

void ctl_sync(const char *step)
{
	ctl_put(step, 0);
	ctl_get(step);
}

void peer_start(enum peer_op op, int64_t a, int64_t b, int64_t c)
{
	int64_t v[4] = { op, a, b, c };

	ctl_send(M_CMD, NULL, v);
}

long peer_join(void)
{
	struct msg m = ctl_recv();

	if (m.kind != M_REPLY)
		fail("peer: expected a reply, got message kind %u '%s'",
		     m.kind, m.text);
	return m.val[0];
}

bool peer_next(int64_t v[4])
{
	struct msg m = ctl_recv();

	if (m.kind == M_GONE)
		return false;
	if (m.kind != M_CMD)
		fail("peer: expected a command, got message kind %u '%s'",
		     m.kind, m.text);
	memcpy(v, m.val, sizeof(m.val));
	return true;
}

void peer_reply(long ret)
{
	int64_t v[4] = { ret };

	ctl_send(M_REPLY, NULL, v);
}

/* ---- in the runner ----------------------------------------------------------- */

/* One end of a case: a forked side, or the runner of the other machine. */
struct end {
	int fd;
	int pidfd;
	pid_t pid;		/* 0: the other machine */
	struct report *rep;
	enum status status;
	char text[700];
	bool immortal;
};

static struct report *reports;
static int link_fd = -1;	/* to the other machine's runner */

static int link_read(struct msg *m)
{
	size_t got = 0;

	while (got < sizeof(*m)) {
		ssize_t r = recv(link_fd, (char *)m + got, sizeof(*m) - got, 0);

		if (r <= 0)
			return -1;
		got += r;
	}
	return 0;
}

static void end_write(struct end *e, const struct msg *m)
{
	/* A side that has just died is found out by its pidfd. */
	if (e->fd >= 0)
		(void)!send(e->fd, m, sizeof(*m), MSG_NOSIGNAL);
}

static void side_start(struct end *e, void (*fn)(void), bool server,
		       struct report *rep)
{
	int sp[2];

	memset(rep, 0, sizeof(*rep));
	memset(e, 0, sizeof(*e));
	e->rep = rep;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sp)) {
		perror("socketpair");
		exit(2);
	}
	fflush(NULL);
	e->pid = fork();
	if (e->pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!e->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		if (link_fd >= 0)
			close(link_fd);
		close(sp[0]);
		ctl = sp[1];
		me = rep;
		env.server = server;
		signal(SIGPIPE, SIG_IGN);
		fn();
		me->status = ST_OK;
		_exit(0);
	}
	setpgid(e->pid, e->pid);
	close(sp[1]);
	e->fd = sp[0];
	e->pidfd = syscall(SYS_pidfd_open, e->pid, 0);
	if (e->pidfd < 0) {
		perror("pidfd_open");
		exit(2);
	}
}

/* The whole process group: a case may have forked. */
static void side_kill(struct end *e)
{
	if (e->pid)
		kill(-e->pid, SIGKILL);
}

/* The side is dead or has been killed: collect it and what it left. */
static void side_reap(struct end *e, bool killed)
{
	struct pollfd p = { .fd = e->pidfd, .events = POLLIN };
	int st = 0;

	if (poll(&p, 1, 20000) != 1) {
		e->immortal = true;
		return;
	}
	waitpid(e->pid, &st, 0);
	kill(-e->pid, SIGKILL);
	if (!killed) {
		e->status = e->rep->status;
		memcpy(e->text, e->rep->text, sizeof(e->rep->text));
		if (WIFSIGNALED(st) && e->status != ST_FAIL) {
			e->status = ST_FAIL;
			snprintf(e->text, sizeof(e->text),
				 "killed by signal %d after %s:%d",
				 WTERMSIG(st), e->rep->file, e->rep->line);
		} else if (e->status == ST_NONE) {
			e->status = ST_FAIL;
			snprintf(e->text, sizeof(e->text),
				 "exited with %d after %s:%d",
				 WEXITSTATUS(st), e->rep->file, e->rep->line);
		}
	}
	close(e->pidfd);
	close(e->fd);
	e->fd = -1;
	e->pidfd = -1;
}

static void where(const struct end *e, char *buf, size_t n)
{
	if (!e->rep)
		snprintf(buf, n, link_fd >= 0 ? "(other machine)" : "(none)");
	else if (e->status == ST_OK)
		snprintf(buf, n, "(finished)");
	else
		snprintf(buf, n, "'%s' (%s:%d)",
			 e->rep->step[0] ? e->rep->step : "start",
			 e->rep->file ? e->rep->file : "start", e->rep->line);
}

static void link_end(const struct end *e)
{
	struct msg m = { .kind = M_END, .run = run_no,
			 .val = { e->status } };

	snprintf(m.text, sizeof(m.text), "%.500s", e->text);
	(void)!send(link_fd, &m, sizeof(m), MSG_NOSIGNAL);
}

/* An end is over: say so to the other, which may be waiting for it. */
static void tell_other(struct end *e, struct end *o)
{
	struct msg m = { .kind = M_GONE, .run = run_no };

	if (!o->pid)
		link_end(e);
	else if (o->status == ST_NONE && e->status == ST_OK)
		end_write(o, &m);
}

/* Pass on what e says. Returns false if there was nothing. */
static bool relay(struct end *e, struct end *o)
{
	struct msg m;

	if (e->pid) {
		if (recv(e->fd, &m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
			return false;
		if (o->status == ST_NONE)
			end_write(o, &m);
		return true;
	}
	if (link_read(&m)) {
		e->status = ST_FAIL;
		snprintf(e->text, sizeof(e->text),
			 "the other machine's runner is gone");
		return false;
	}
	if (m.run != run_no)
		return true;	/* left over from a case that was killed */
	if (m.kind == M_END) {
		e->status = m.val[0];
		snprintf(e->text, sizeof(e->text), "%s", m.text);
		tell_other(e, o);
	} else if (o->status == ST_NONE) {
		end_write(o, &m);
	}
	return true;
}

static void watch(struct end e[2], int64_t deadline)
{
	for (;;) {
		struct pollfd p[4];
		int i, n = 0;
		int64_t left = deadline - now_ms();

		for (i = 0; i < 2; i++)
			if (e[i].status == ST_FAIL || e[i].status == ST_SKIP)
				return;
		if (e[0].status && e[1].status)
			return;
		for (i = 0; i < 2; i++) {
			bool over = e[i].status != ST_NONE;

			p[n].fd = over ? -1 : e[i].fd;
			p[n++].events = POLLIN;
			p[n].fd = over || !e[i].pid ? -1 : e[i].pidfd;
			p[n++].events = POLLIN;
		}
		if (left <= 0 || poll(p, n, left) == 0) {
			char a[160], b[160];

			where(&e[0], a, sizeof(a));
			where(&e[1], b, sizeof(b));
			i = e[0].status == ST_NONE ? 0 : 1;
			e[i].status = ST_FAIL;
			snprintf(e[i].text, sizeof(e[i].text),
				 "timeout at step %s, server at %s", a, b);
			return;
		}
		for (i = 0; i < 2; i++) {
			struct end *o = &e[!i];
			bool dead = p[2 * i + 1].revents;

			if (p[2 * i].revents)
				relay(&e[i], o);
			if (!dead || e[i].status)
				continue;
			while (relay(&e[i], o))
				;
			side_reap(&e[i], false);
			tell_other(&e[i], o);
		}
	}
}

static enum status run_case(const struct test_case *tc, bool client,
			    bool server, char *why, size_t nwhy)
{
	struct end e[2] = { { .fd = -1, .pidfd = -1, .status = ST_OK },
			    { .fd = -1, .pidfd = -1, .status = ST_OK } };
	int limit = env.timeout_s * (tc->flags & T_SLOW ? 2 : 1);
	enum status st = ST_OK;
	int i;

	if (client)
		side_start(&e[0], tc->client, false, &reports[0]);
	if (server && tc->server)
		side_start(&e[1], tc->server, true, &reports[1]);
	for (i = 0; i < 2; i++)
		if (link_fd >= 0 && !e[i].pid && tc->server) {
			e[i].fd = link_fd;
			e[i].status = ST_NONE;
		}
	watch(e, now_ms() + limit * 1000);

	for (i = 0; i < 2; i++) {
		if (!e[i].pid || e[i].pidfd < 0)
			continue;
		side_kill(&e[i]);
		side_reap(&e[i], true);
		if (e[i].immortal) {
			e[i].status = ST_FAIL;
			snprintf(e[i].text, sizeof(e[i].text),
				 "process %d does not die", e[i].pid);
		}
		if (link_fd >= 0 && e[!i].status == ST_NONE)
			link_end(&e[i]);
	}
	for (i = 0; i < 2; i++)
		if (e[i].status == ST_FAIL && st != ST_FAIL) {
			st = ST_FAIL;
			snprintf(why, nwhy, "%s", e[i].text);
		} else if (e[i].status == ST_SKIP && st == ST_OK) {
			st = ST_SKIP;
			snprintf(why, nwhy, "%s", e[i].text);
		}
	return st;
}

/* ---- command line ------------------------------------------------------------- */

struct tally {
	int pass, fail, skip;
};

#define MAX_SEL 256

static const char *only[MAX_SEL], *drop[MAX_SEL];
static int n_only, n_drop;
static struct test_case rows[1024];
static size_t n_rows;

/* NAME selects NAME and NAME.anything; a trailing '*' is a prefix. */
static bool name_matches(const char *sel, const char *name)
{
	size_t n = strlen(sel);

	if (n && sel[n - 1] == '*')
		return !strncmp(sel, name, n - 1);
	return !strncmp(sel, name, n) && (!name[n] || name[n] == '.');
}

static bool selected(const char *name)
{
	int i;

	for (i = 0; i < n_only; i++)
		if (name_matches(only[i], name))
			return true;
	return !n_only;
}

/* -x NAME=WHY */
static const char *dropped(const char *name)
{
	int i;

	for (i = 0; i < n_drop; i++) {
		const char *eq = strchr(drop[i], '=');
		char sel[128];

		snprintf(sel, sizeof(sel), "%.*s",
			 eq ? (int)(eq - drop[i]) : 127, drop[i]);
		if (name_matches(sel, name))
			return eq ? eq + 1 : "excluded by -x";
	}
	return NULL;
}

static void collect(const struct test_case *const *tables,
		    const size_t *counts, size_t n)
{
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < counts[i]; j++) {
			struct test_case c = tables[i][j];
			char *s;

			rows[n_rows++] = c;
			if (!(c.flags & T_SWAP))
				continue;
			if (asprintf(&s, "%s.accepted", c.name) < 0)
				exit(2);
			c.name = s;
			c.client = tables[i][j].server;
			c.server = tables[i][j].client;
			rows[n_rows++] = c;
		}
}

static void verdict(struct tally *t, const char *name, enum status st,
		    const char *why)
{
	if (st == ST_OK) {
		t->pass++;
		printf("ok %s\n", name);
	} else if (st == ST_SKIP) {
		t->skip++;
		printf("skip %s: %s\n", name, why);
	} else {
		t->fail++;
		printf("not ok %s: %s\n", name, why);
	}
	fflush(stdout);
}

static void run_row(struct tally *t, const struct test_case *tc, bool client,
		    bool server)
{
	char why[700] = "";
	enum status st = run_case(tc, client, server, why, sizeof(why));

	verdict(t, tc->name, st, why);
}

static const struct test_case *find(const char *name)
{
	size_t i;

	for (i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* The client's runner says which case is next. */
static void follow(struct tally *t)
{
	struct msg m;

	while (!link_read(&m) && m.kind != M_QUIT) {
		const struct test_case *tc;

		if (m.kind != M_BEGIN)
			continue;
		tc = find(m.text);
		if (!tc) {
			fprintf(stderr, "no case '%s' here\n", m.text);
			exit(2);
		}
		run_no = m.run;
		run_row(t, tc, false, true);
		m.kind = M_READY;
		(void)!send(link_fd, &m, sizeof(m), MSG_NOSIGNAL);
	}
}

static void lead(struct tally *t)
{
	struct msg m;
	size_t i;

	for (i = 0; i < n_rows; i++) {
		const struct test_case *tc = &rows[i];
		const char *why;

		if (!selected(tc->name))
			continue;
		why = dropped(tc->name);
		if (why) {
			verdict(t, tc->name, ST_SKIP, why);
			continue;
		}
		run_no++;
		if (link_fd < 0 || !tc->server) {
			run_row(t, tc, true, true);
			continue;
		}
		memset(&m, 0, sizeof(m));
		m.kind = M_BEGIN;
		m.run = run_no;
		snprintf(m.text, sizeof(m.text), "%s", tc->name);
		(void)!send(link_fd, &m, sizeof(m), MSG_NOSIGNAL);
		run_row(t, tc, true, false);
		do {
			if (link_read(&m)) {
				fprintf(stderr, "the server is gone\n");
				exit(2);
			}
		} while (m.kind != M_READY || m.run != run_no);
	}
	memset(&m, 0, sizeof(m));
	m.kind = M_QUIT;
	if (link_fd >= 0)
		(void)!send(link_fd, &m, sizeof(m), MSG_NOSIGNAL);
}

/* The control connection between two machines is plain TCP. */
static void link_open(bool server, char *spec)
{
	struct addrinfo hints = { .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM }, *ai;
	char *colon = strrchr(spec, ':');
	int64_t until = now_ms() + 60000;
	int one = 1, fd;

	if (!colon)
		goto bad;
	*colon = 0;
	if (getaddrinfo(spec, colon + 1, &hints, &ai))
		goto bad;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
			goto sys;
		link_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		close(fd);
	} else {
		/* The other machine may still be starting. */
		while (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
			if (now_ms() > until)
				goto sys;
			usleep(100000);
		}
		link_fd = fd;
	}
	if (link_fd < 0)
		goto sys;
	setsockopt(link_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	freeaddrinfo(ai);
	return;
sys:
	perror("control connection");
	exit(2);
bad:
	fprintf(stderr, "-c wants HOST:PORT\n");
	exit(2);
}

static void usage(const char *prog)
{
	fprintf(stderr,
"usage: %s [-f FAMILY] [-a ADDR] [-C CLIENTADDR] [-t NAME]... [-x NAME[=WHY]]...\n"
"       [-T SECONDS] [-l] [-r server|client -c HOST:PORT]\n"
"  -f FAMILY   of the sockets under test: 2 (TCP, default) or 27 (SDP)\n"
"  -a ADDR     address the server listens on (127.0.0.1)\n"
"  -C ADDR     address of the client's machine (as -a)\n"
"  -t NAME     run this case, repeatable; NAME* is a prefix\n"
"  -x NAME=WHY do not run it, and say why\n"
"  -T SECONDS  time limit of one case\n"
"  -l          list the cases\n"
"  -r ROLE -c HOST:PORT  run one side, the other one is on another machine;\n"
"              HOST:PORT is the control connection (the server's machine)\n",
		prog);
	exit(2);
}

static struct in_addr parse_addr(const char *s)
{
	struct in_addr a;

	if (inet_pton(AF_INET, s, &a) != 1) {
		fprintf(stderr, "'%s' is no IPv4 address\n", s);
		exit(2);
	}
	return a;
}

int run_all(const struct test_case *const *tables, const size_t *counts,
	    size_t n, int argc, char **argv)
{
	const char *role = NULL, *caddr = NULL;
	struct tally t = { 0 };
	char *spec = NULL;
	bool list = false;
	size_t i;
	int o;

	env.family = AF_INET;
	env.addr = parse_addr("127.0.0.1");
	while ((o = getopt(argc, argv, "f:a:C:t:x:T:lr:c:")) != -1) {
		switch (o) {
		case 'f': env.family = atoi(optarg); break;
		case 'a': env.addr = parse_addr(optarg); break;
		case 'C': caddr = optarg; break;
		case 't':
			if (n_only < MAX_SEL)
				only[n_only++] = optarg;
			break;
		case 'x':
			if (n_drop < MAX_SEL)
				drop[n_drop++] = optarg;
			break;
		case 'T': env.timeout_s = atoi(optarg); break;
		case 'l': list = true; break;
		case 'r': role = optarg; break;
		case 'c': spec = optarg; break;
		default: usage(argv[0]);
		}
	}
	if (optind != argc || !role != !spec ||
	    (env.family != AF_INET && env.family != AF_INET_SDP) ||
	    (role && strcmp(role, "server") && strcmp(role, "client")))
		usage(argv[0]);
	env.caddr = caddr ? parse_addr(caddr) : env.addr;
	if (!env.timeout_s)
		env.timeout_s = env.family == AF_INET ? 30 : 90;
	collect(tables, counts, n);
	if (list) {
		for (i = 0; i < n_rows; i++)
			if (selected(rows[i].name))
				puts(rows[i].name);
		return 0;
	}
	for (o = 0; o < n_only; o++) {
		for (i = 0; i < n_rows; i++)
			if (name_matches(only[o], rows[i].name))
				break;
		if (i == n_rows) {
			fprintf(stderr, "no case '%s'\n", only[o]);
			return 2;
		}
	}
	reports = mmap(NULL, 2 * sizeof(*reports), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reports == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (role) {
		env.remote = true;
		link_open(!strcmp(role, "server"), spec);
	}
	if (role && !strcmp(role, "server"))
		follow(&t);
	else
		lead(&t);
	printf("%d passed, %d failed", t.pass, t.fail);
	if (t.skip)
		printf(", %d skipped", t.skip);
	putchar('\n');
	return t.fail ? 1 : 0;
}
