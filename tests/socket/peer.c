// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The scripted peer: one end of a connection that does what the script on the
 * other end says, one command at a time, and says when it is done.
 */
#include "harness.h"

#include <sys/sendfile.h>

#define MAX_CONNS 256

static const char *const names[] = {
	[P_OPEN] = "peer open", [P_USE] = "peer use",
	[P_SEND] = "peer send", [P_SEND_SMALL] = "peer send small",
	[P_RECV] = "peer recv", [P_RECV_EOF] = "peer recv to eof",
	[P_OOB] = "peer oob", [P_FLOOD] = "peer flood",
	[P_ECHO] = "peer echo", [P_SHUTDOWN] = "peer shutdown",
	[P_CLOSE] = "peer close", [P_ABORT] = "peer abort",
	[P_SETOPT] = "peer setsockopt", [P_GETERR] = "peer SO_ERROR",
	[P_POLL] = "peer poll", [P_SENT] = "peer outq",
	[P_INQ] = "peer inq", [P_SKIP] = "peer skip",
	[P_FILE] = "peer sendfile",
};

static int conns[MAX_CONNS];
static int n_conns, cur = -1;

static int open_end(int rcvbuf, int sndbuf)
{
	int fd = new_socket(), c;
	struct sockaddr_in sa;

	if (rcvbuf)
		set_int(fd, SOL_SOCKET, SO_RCVBUF, rcvbuf);
	if (sndbuf)
		set_int(fd, SOL_SOCKET, SO_SNDBUF, sndbuf);
	if (!env.server) {
		uint16_t port = ctl_get("port");

		expect_ret(connect_to(fd, env.addr, port), 0);
	} else {
		sa = sa_make(env.addr, 0);
		expect_ret(bind(fd, (void *)&sa, sizeof(sa)), 0);
		expect_ret(listen(fd, 1), 0);
		ctl_put("port", port_of(fd));
		c = expect_ok(accept(fd, NULL, NULL));
		close(fd);
		fd = c;
	}
	pos[fd] = (struct stream_pos){ 0 };
	return fd;
}

int conn_open_bufs(int my_rcv, int my_snd, int peer_rcv, int peer_snd)
{
	int fd;

	note_step("open");
	peer_start(P_OPEN, peer_rcv, peer_snd, 0);
	fd = open_end(my_rcv, my_snd);
	expect_ok(peer_join());
	return fd;
}

int conn_open(void)
{
	return conn_open_bufs(0, 0, 0, 0);
}

long peer_call(enum peer_op op, int64_t a, int64_t b, int64_t c)
{
	note_step(names[op]);
	peer_start(op, a, b, c);
	return peer_join();
}

static long do_send(int fd, size_t n)
{
	char *buf = malloc(n);
	ssize_t r;

	pat_fill(buf, pos[fd].tx, n);
	r = send(fd, buf, n, 0);
	if (r > 0)
		pos[fd].tx += r;
	free(buf);
	return r < 0 ? -errno : r;
}

static long do_send_small(int fd, size_t n, size_t size)
{
	size_t done;
	long r;

	for (done = 0; done < n; done += r) {
		r = do_send(fd, n - done < size ? n - done : size);
		if (r < 0)
			return r;
	}
	return done;
}

/* Up to n bytes, checked; fewer at the end of the stream. */
static long do_recv(int fd, size_t n, bool eof_only)
{
	static char buf[65536];
	size_t done = 0;

	while (eof_only || done < n) {
		size_t want = eof_only || n - done > sizeof(buf) ?
			      sizeof(buf) : n - done;
		ssize_t r = recv(fd, buf, want, 0);

		if (r < 0)
			return -errno;
		if (!r)
			break;
		pat_check(buf, pos[fd].rx, r);
		pos[fd].rx += r;
		done += r;
	}
	return done;
}

static long do_oob(int fd)
{
	char c;
	ssize_t r;

	pat_fill(&c, pos[fd].tx, 1);
	r = send(fd, &c, 1, MSG_OOB);
	if (r > 0)
		pos[fd].tx += r;
	return r < 0 ? -errno : r;
}

static long do_echo(int fd, size_t n, size_t chunk)
{
	char *buf = malloc(chunk);
	size_t done = 0;

	while (done < n) {
		ssize_t r = recv(fd, buf, chunk, 0), s, o;

		if (r <= 0)
			return r < 0 ? -errno : (long)done;
		for (o = 0; o < r; o += s) {
			s = send(fd, buf + o, r - o, 0);
			if (s < 0)
				return -errno;
		}
		done += r;
	}
	free(buf);
	return done;
}

static long do_file(int fd, size_t n)
{
	int mfd = expect_ok(memfd_create("pattern", MFD_CLOEXEC));
	char *p;
	size_t done = 0;

	expect_ret(ftruncate(mfd, n), 0);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, mfd, 0);
	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	pat_fill(p, pos[fd].tx, n);
	munmap(p, n);
	while (done < n) {
		ssize_t r = sendfile(fd, mfd, NULL, n - done);

		if (r <= 0)
			return r ? -errno : (long)done;
		done += r;
	}
	pos[fd].tx += done;
	close(mfd);
	return done;
}

static long do_close(int fd, bool abort)
{
	if (abort)
		set_linger(fd, 1, 0);
	return close(fd) ? -errno : 0;
}

static long run_cmd(const int64_t v[4])
{
	int fd = cur < 0 ? -1 : conns[cur];
	int val = v[3];

	switch (v[0]) {
	case P_OPEN:
		if (n_conns == MAX_CONNS)
			fail("too many connections");
		cur = n_conns++;
		conns[cur] = open_end(v[1], v[2]);
		return cur;
	case P_USE:
		cur = v[1];
		return cur;
	case P_SEND:
		return do_send(fd, v[1]);
	case P_SEND_SMALL:
		return do_send_small(fd, v[1], v[2]);
	case P_RECV:
		return do_recv(fd, v[1], false);
	case P_RECV_EOF:
		return do_recv(fd, 0, true);
	case P_OOB:
		return do_oob(fd);
	case P_FLOOD:
		return flood(fd, 64 << 20);
	case P_ECHO:
		return do_echo(fd, v[1], v[2]);
	case P_SHUTDOWN:
		return shutdown(fd, v[1]) ? -errno : 0;
	case P_CLOSE:
		return do_close(fd, false);
	case P_ABORT:
		return do_close(fd, true);
	case P_SETOPT:
		return setsockopt(fd, v[1], v[2], &val, sizeof(val)) ?
			-errno : 0;
	case P_GETERR:
		return so_error(fd);
	case P_POLL:
		wait_poll(fd, v[1]);
		return 0;
	case P_SENT:
		wait_outq0(fd);
		return 0;
	case P_INQ:
		wait_inq(fd, v[1]);
		return 0;
	case P_SKIP:
		pos[fd].rx += v[1];
		return 0;
	case P_FILE:
		return do_file(fd, v[1]);
	}
	fail("no such command %ld", (long)v[0]);
}

void peer_serve(void)
{
	int64_t v[4];

	note_step("peer idle");
	while (peer_next(v)) {
		note_step(names[v[0]]);
		peer_reply(run_cmd(v));
		note_step("peer idle");
	}
}
