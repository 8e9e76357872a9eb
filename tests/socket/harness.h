/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two-sided socket tests with the address family as a parameter.
 *
 * A case is a row {name, client, server}. The runner (main.c, harness.c) forks
 * both sides, relays messages between them (the control channel: it is never
 * the connection under test) and kills both when one fails or the time is up.
 *
 * Most rows are a script against a scripted peer: the script says what the
 * peer does next (peer_call()), so it always knows the state of both ends.
 * With T_SWAP the row runs twice, the second time (NAME.accepted) with the
 * script on the accepted end and the peer on the connecting one.
 *
 * Nothing may sleep in the hope of something: an end waits for a state it can
 * see (wait_inq(), wait_outq0(), wait_poll(), wait_blocked()), and the wait is
 * bounded by WAIT_MS.
 */
#ifndef SDP_TEST_HARNESS_H
#define SDP_TEST_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_INET_SDP
#define AF_INET_SDP 27
#endif

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the table of cases ------------------------------------------------ */

enum {
	T_SWAP	= 1,	/* run again with the roles of the two ends exchanged */
	T_SLOW	= 2,	/* twice the time limit */
};

struct test_case {
	const char *name;
	void (*client)(void);
	void (*server)(void);	/* NULL: the client needs no other side */
	unsigned int flags;
};


/* Each file of cases ends in: struct test_case x_cases[] = {...}; TABLE_END(x) */
#define TABLE_END(t) const size_t t##_count = ARRAY_SIZE(t##_cases)

/* ---- what the command line said ---------------------------------------- */

struct env {
	int family;		/* of socket() */
	struct in_addr addr;	/* where the server listens */
	struct in_addr caddr;	/* an address of the client's machine */
	bool server;		/* this process is the server side */
	bool remote;		/* the other side is another machine */
	int timeout_s;		/* of one case */
};

extern struct env env;

/* How long a wait for a visible state may take before it is a failure. */
#define WAIT_MS (env.family == AF_INET ? 10000 : 40000)

int run_all(const struct test_case *const *tables, const size_t *counts,
	    size_t n, int argc, char **argv);

/* ---- failing, skipping, expecting -------------------------------------- */

void at(const char *file, int line);
void note_step(const char *step);
void fail_at(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void skip_case(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void fail_ret(const char *file, int line, const char *what, long got, int err,
	      const char *want) __attribute__((noreturn));

#define HERE() at(__FILE__, __LINE__)
#define fail(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)

/* The call succeeds (is not negative); its value is the macro's. */
#define expect_ok(call) ({						\
	HERE();								\
	errno = 0;							\
	long r_ = (long)(call);						\
	if (r_ < 0)							\
		fail_ret(__FILE__, __LINE__, #call, r_, errno,		\
			 "success");					\
	r_; })

/* The call returns exactly this value. */
#define expect_ret(call, want) ({					\
	HERE();								\
	errno = 0;							\
	long r_ = (long)(call), w_ = (long)(want);			\
	if (r_ != w_) {							\
		char b_[48];						\
		snprintf(b_, sizeof(b_), "%ld", w_);			\
		fail_ret(__FILE__, __LINE__, #call, r_, errno, b_);	\
	}								\
	r_; })

/* The call returns -1 with this errno. */
#define expect_err(call, want) ({					\
	HERE();								\
	errno = 0;							\
	long r_ = (long)(call);						\
	int e_ = errno;							\
	if (r_ != -1 || e_ != (want))					\
		fail_ret(__FILE__, __LINE__, #call, r_, e_,		\
			 "-1 " #want); })

/* Two numbers are equal. */
#define expect_eq(got, want) ({						\
	HERE();								\
	long long g_ = (long long)(got), w_ = (long long)(want);	\
	if (g_ != w_)							\
		fail("%s: expected %lld (%s), got %lld", #got, w_,	\
		     #want, g_); })

/* A condition holds. */
#define expect_true(cond) ({						\
	HERE();								\
	if (!(cond))							\
		fail("expected %s", #cond); })

/* A number lies in a range, ends included. */
#define expect_range(got, lo, hi) ({					\
	HERE();								\
	long long g_ = (long long)(got), l_ = (lo), h_ = (hi);		\
	if (g_ < l_ || g_ > h_)						\
		fail("%s: expected %lld to %lld, got %lld", #got, l_,	\
		     h_, g_); })

/* ---- control channel ---------------------------------------------------- */

void ctl_put(const char *step, int64_t val);	/* tell the other side */
int64_t ctl_get(const char *step);		/* wait for the other side */
void ctl_sync(const char *step);		/* both are here */

/* ---- the scripted peer (peer.c) ------------------------------------------ */

enum peer_op {
	P_OPEN = 1,	/* rcvbuf, sndbuf (0: default); becomes connection n */
	P_USE,		/* n: talk about connection n from now on */
	P_SEND,		/* n: send n pattern bytes, one call */
	P_SEND_SMALL,	/* n, size: n bytes in sends of size */
	P_RECV,		/* n: receive exactly n pattern bytes; returns bytes */
	P_RECV_EOF,	/* receive to the end; returns bytes or -errno */
	P_OOB,		/* send the next pattern byte as urgent */
	P_FLOOD,	/* send until the kernel takes no more; returns bytes */
	P_ECHO,		/* n, chunk: send back n bytes as they come */
	P_SHUTDOWN,	/* how */
	P_CLOSE,
	P_ABORT,	/* SO_LINGER 0 and close */
	P_SETOPT,	/* level, name, value (int) */
	P_GETERR,	/* SO_ERROR */
	P_POLL,		/* want: wait until poll() shows these bits */
	P_SENT,		/* wait until nothing is in flight */
	P_INQ,		/* n: wait until n bytes are there, unread */
	P_SKIP,		/* n: the next n bytes were sent, but out of band */
	P_FILE,		/* n: sendfile() of n pattern bytes */
};

void peer_serve(void);
bool peer_next(int64_t v[4]);	/* the next command; false: the script ended */
void peer_reply(long ret);
void peer_start(enum peer_op op, int64_t a, int64_t b, int64_t c);
long peer_join(void);
long peer_call(enum peer_op op, int64_t a, int64_t b, int64_t c);

/* A new connection between script and peer; buffer sizes 0 are the default. */
int conn_open(void);
int conn_open_bufs(int my_rcv, int my_snd, int peer_rcv, int peer_snd);

#define peer_send(n)	 expect_eq(peer_call(P_SEND, n, 0, 0), n)
#define peer_recv(n)	 expect_eq(peer_call(P_RECV, n, 0, 0), n)
#define peer_eof(n)	 expect_eq(peer_call(P_RECV_EOF, 0, 0, 0), n)
#define peer_oob()	 expect_eq(peer_call(P_OOB, 0, 0, 0), 1)
#define peer_shutdown(h) expect_eq(peer_call(P_SHUTDOWN, h, 0, 0), 0)
#define peer_close()	 expect_eq(peer_call(P_CLOSE, 0, 0, 0), 0)
#define peer_abort()	 expect_eq(peer_call(P_ABORT, 0, 0, 0), 0)
#define peer_setopt(l, n, v) expect_eq(peer_call(P_SETOPT, l, n, v), 0)

/* ---- sockets (util.c) ---------------------------------------------------- */

struct in_addr my_addr(void);	/* an address of this side's machine */
struct sockaddr_in sa_make(struct in_addr a, uint16_t port);
struct sockaddr_in sa_of(int fd);
struct sockaddr_in sa_peer(int fd);
uint16_t port_of(int fd);

int new_socket(void);
int new_socket_nb(void);
int bound_socket(struct in_addr a, uint16_t port);
int new_listener(int backlog);		/* on my_addr(), any port */
int connect_to(int fd, struct in_addr a, uint16_t port);
int connect_nb(uint16_t port);		/* to my_addr(), begun, not awaited */
uint16_t free_port(void);		/* nobody listens there */
void set_nonblock(int fd, bool on);
void set_int(int fd, int level, int name, int val);
int get_int(int fd, int level, int name);
void set_timeo(int fd, int name, int ms);
void set_linger(int fd, int on, int seconds);
int so_error(int fd);
void local_pair(int fd[2]);	/* both ends in this process; [1] is accepted */

/*
 * A listener whose queue is full: whoever connects next waits. full_drain()
 * accepts all that comes until want more clients than the fillers are in.
 */
struct full_listener {
	int lfd;
	uint16_t port;
	int nfill;
	int fill[8];
};

void full_open(struct full_listener *f);
void full_drain(struct full_listener *f, int want, int *fds);

/* ---- the byte pattern ---------------------------------------------------- */

/* Position of the next byte to send and to receive, per descriptor. */
struct stream_pos {
	uint64_t tx, rx;
};

extern struct stream_pos pos[1024];

void pat_fill(void *buf, uint64_t off, size_t n);
void pat_check_at(const char *file, int line, const void *buf, uint64_t off,
		  size_t n);
#define pat_check(buf, off, n) \
	pat_check_at(__FILE__, __LINE__, buf, off, n)

void send_pat_at(const char *file, int line, int fd, size_t n);
void recv_pat_at(const char *file, int line, int fd, size_t n);
#define send_pat(fd, n) send_pat_at(__FILE__, __LINE__, fd, n)
#define recv_pat(fd, n) recv_pat_at(__FILE__, __LINE__, fd, n)
#define expect_eof(fd) ({ char c_; expect_ret(recv(fd, &c_, 1, 0), 0); })

/* Send without blocking until the kernel takes no more; the bytes taken. */
size_t flood(int fd, size_t limit);

/* ---- waiting for a state that can be seen ---------------------------------- */

#define P_ALL (POLLIN | POLLPRI | POLLOUT | POLLRDHUP)	/* + ERR, HUP */

short poll_now(int fd);
void wait_poll_at(const char *file, int line, int fd, short want);
void wait_bits_at(const char *file, int line, int fd, short want);
void wait_inq_at(const char *file, int line, int fd, int n);
void wait_outq0_at(const char *file, int line, int fd);
/* poll() shows exactly these bits, soon */
#define wait_poll(fd, want) wait_poll_at(__FILE__, __LINE__, fd, want)
/* poll() shows at least these bits, soon */
#define wait_bits(fd, want) wait_bits_at(__FILE__, __LINE__, fd, want)
/* n bytes can be read, soon */
#define wait_inq(fd, n) wait_inq_at(__FILE__, __LINE__, fd, n)
/* the peer has everything */
#define wait_outq0(fd) wait_outq0_at(__FILE__, __LINE__, fd)
/* the thread sleeps in system call nr (-1: any) */
#define wait_blocked(tid, nr) wait_blocked_at(__FILE__, __LINE__, tid, nr)
void wait_blocked_at(const char *file, int line, pid_t tid, long nr);
/* expect poll() bits right now */
#define expect_poll(fd, want) expect_poll_at(__FILE__, __LINE__, fd, want)
void expect_poll_at(const char *file, int line, int fd, short want);

int64_t now_ms(void);
void nap(void);			/* 1 ms between two looks at a state */

/* ---- a thread that makes one call ---------------------------------------- */

struct worker {
	pthread_t th;
	_Atomic pid_t tid;
	void (*fn)(struct worker *w);
	int fd;
	void *buf;
	size_t len;
	int flags;
	struct sockaddr_in sa;
	long ret;
	int err;
	_Atomic bool done;
};

void worker_start(struct worker *w, void (*fn)(struct worker *w));
void worker_join(struct worker *w);
void w_recv(struct worker *w);
void w_send(struct worker *w);
void w_accept(struct worker *w);
void w_connect(struct worker *w);
void w_poll(struct worker *w);	/* flags: events; ret: revents */

/* A handler for sig that counts; SA_RESTART if asked. */
extern volatile sig_atomic_t sig_count;
void count_signal(int sig, bool restart);
void kick(pid_t tid, int sig);

#endif
