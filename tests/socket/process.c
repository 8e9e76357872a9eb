// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Descriptors shared by dup(), fork(), SCM_RIGHTS and threads; killing. */
#include "harness.h"

static void child_ok(pid_t pid)
{
	int st;

	expect_ret(waitpid(pid, &st, 0), pid);
	if (!WIFEXITED(st) || WEXITSTATUS(st)) {
		/* A child that failed has left its message. */
		if (WIFSIGNALED(st))
			fail("child killed by signal %d", WTERMSIG(st));
		_exit(1);
	}
}

static void dup_shares(void)
{
	int fd = conn_open(), d = expect_ok(dup(fd));

	expect_ret(close(fd), 0);
	/* The connection lives as long as one of them. */
	pos[d] = (struct stream_pos){ 0 };
	send_pat(d, 100);
	peer_recv(100);
	peer_send(100);
	recv_pat(d, 100);
	set_nonblock(d, true);
	fd = expect_ok(dup(d));
	expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	close(d);
	close(fd);
	peer_eof(0);
}

static void dup2_replaces(void)
{
	int a = conn_open(), b = conn_open();

	/* Connection 1 is closed by being overwritten. */
	expect_ret(dup2(a, b), b);
	peer_eof(0);
	expect_eq(peer_call(P_USE, 0, 0, 0), 0);
	send_pat(a, 10);
	peer_recv(10);
}

static void fork_shares(void)
{
	int fd = conn_open();
	pid_t pid = expect_ok(fork());

	if (!pid) {
		send_pat(fd, 1000);
		_exit(0);
	}
	child_ok(pid);
	/* The child's end is not the connection's. */
	pos[fd].tx = 1000;
	send_pat(fd, 1000);
	peer_recv(2000);
	pid = expect_ok(fork());
	if (!pid) {
		shutdown(fd, SHUT_WR);
		_exit(0);
	}
	child_ok(pid);
	/* but a shutdown is for all */
	peer_eof(0);
	expect_err(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
}

static void prefork_server(void)
{
	int l = new_listener(8), i;
	pid_t pid[4];
	uint16_t port = port_of(l);

	for (i = 0; i < 4; i++) {
		pid[i] = expect_ok(fork());
		if (!pid[i]) {
			int s = expect_ok(accept(l, NULL, NULL));

			pos[s] = (struct stream_pos){ 0 };
			recv_pat(s, 10);
			send_pat(s, 10);
			expect_eof(s);
			_exit(0);
		}
	}
	close(l);
	for (i = 0; i < 4; i++) {
		int c = new_socket();

		expect_ret(connect_to(c, my_addr(), port), 0);
		pos[c] = (struct stream_pos){ 0 };
		send_pat(c, 10);
		recv_pat(c, 10);
		close(c);
	}
	for (i = 0; i < 4; i++)
		child_ok(pid[i]);
	/* The last child has taken the listener with it. */
	expect_err(connect_to(new_socket(), my_addr(), port), ECONNREFUSED);
}

static void pass_fd(int to, int fd)
{
	char c = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&m);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	expect_ret(sendmsg(to, &m, 0), 1);
}

static int take_fd(int from)
{
	char c, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd;

	expect_ret(recvmsg(from, &m, 0), 1);
	expect_true(CMSG_FIRSTHDR(&m) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void scm_rights(void)
{
	int u[2], fd;
	pid_t pid;

	expect_ret(socketpair(AF_UNIX, SOCK_STREAM, 0, u), 0);
	pid = expect_ok(fork());
	if (!pid) {
		fd = take_fd(u[1]);
		pos[fd] = (struct stream_pos){ 0 };
		send_pat(fd, 500);
		recv_pat(fd, 500);
		_exit(0);
	}
	fd = conn_open();
	pass_fd(u[0], fd);
	/* In flight or taken: ours may go. */
	close(fd);
	peer_recv(500);
	peer_send(500);
	child_ok(pid);
	peer_eof(0);
}

/* Passed and never taken: closed with the socket that carries it. */
static void scm_rights_lost(void)
{
	int u[2], fd = conn_open();

	expect_ret(socketpair(AF_UNIX, SOCK_STREAM, 0, u), 0);
	pass_fd(u[0], fd);
	close(fd);
	expect_eq(peer_call(P_POLL, POLLOUT, 0, 0), 0);
	close(u[0]);
	close(u[1]);
	peer_eof(0);
}

static void killed_owner(void)
{
	int l = new_listener(5), s;
	uint16_t port = port_of(l);
	pid_t pid = expect_ok(fork());

	if (!pid) {
		int c = new_socket();

		close(l);
		expect_ret(connect_to(c, my_addr(), port), 0);
		pos[c] = (struct stream_pos){ 0 };
		send_pat(c, 5000);
		for (;;)
			pause();
	}
	s = expect_ok(accept(l, NULL, NULL));
	pos[s] = (struct stream_pos){ 0 };
	wait_inq(s, 5000);
	kill(pid, SIGKILL);
	expect_ret(waitpid(pid, NULL, 0), pid);
	recv_pat(s, 5000);
	expect_eof(s);
}

/* Whatever call it sleeps in, a killed process dies. */
static void sigkill_blocked(void)
{
	struct full_listener f;
	int p[2], l = new_listener(1), i;
	static const long calls[] = { SYS_recvfrom, SYS_accept, SYS_connect,
				      -1, SYS_sendto };
	static char big[1 << 20];

	full_open(&f);
	local_pair(p);
	for (i = 0; i < 5; i++) {
		pid_t pid = expect_ok(fork());
		char c;

		if (!pid) {
			switch (i) {
			case 0:
				recv(p[1], &c, 1, 0);
				break;
			case 1:
				accept(l, NULL, NULL);
				break;
			case 2:
				connect_to(new_socket(), my_addr(), f.port);
				break;
			case 3:
				poll(&(struct pollfd){ p[1], POLLIN, 0 }, 1,
				     -1);
				break;
			case 4:
				for (;;)
					send(p[0], big, sizeof(big), 0);
			}
			_exit(3);
		}
		/* The sender is asleep when nothing more fits. */
		wait_blocked(pid, calls[i]);
		kill(pid, SIGKILL);
		expect_ret(waitpid(pid, NULL, 0), pid);
	}
}

static void w_read_all(struct worker *w)
{
	recv_pat(w->fd, w->len);
}

static void reader_and_writer(void)
{
	int fd = conn_open(), i;
	struct worker r = { .fd = fd, .len = 1 << 20 };

	/* One thread reads while this one writes on the same socket. */
	peer_start(P_ECHO, r.len, 10000, 0);
	worker_start(&r, w_read_all);
	for (i = 0; i < 1 << 20; i += 1 << 15)
		send_pat(fd, 1 << 15);
	worker_join(&r);
	expect_eq(peer_join(), r.len);
}

static void w_count_in(struct worker *w)
{
	static _Thread_local char buf[3000];
	ssize_t r;

	w->ret = 0;
	while ((r = recv(w->fd, buf, sizeof(buf), 0)) > 0)
		w->ret += r;
	w->err = r < 0 ? errno : 0;
}

static void several_readers(void)
{
	int fd = conn_open(), i;
	struct worker w[3];
	long sum = 0;

	for (i = 0; i < 3; i++) {
		w[i] = (struct worker){ .fd = fd };
		worker_start(&w[i], w_count_in);
	}
	peer_send(500000);
	peer_shutdown(SHUT_WR);
	for (i = 0; i < 3; i++) {
		worker_join(&w[i]);
		expect_eq(w[i].err, 0);
		sum += w[i].ret;
	}
	expect_eq(sum, 500000);
}

static void w_records(struct worker *w)
{
	char rec[64];
	int i;

	memset(rec, w->flags, sizeof(rec));
	for (i = 0; i < 200; i++)
		if (send(w->fd, rec, sizeof(rec), 0) != sizeof(rec))
			fail("send: %s", strerror(errno));
}

/* Small sends of several threads don't mix. */
static void several_writers(void)
{
	int p[2], i, k;
	struct worker w[3];
	char rec[64];

	local_pair(p);
	for (i = 0; i < 3; i++) {
		w[i] = (struct worker){ .fd = p[0], .flags = 'a' + i };
		worker_start(&w[i], w_records);
	}
	for (i = 0; i < 600; i++) {
		expect_ret(recv(p[1], rec, sizeof(rec), MSG_WAITALL),
			   sizeof(rec));
		for (k = 1; k < 64; k++)
			expect_eq(rec[k], rec[0]);
	}
	for (i = 0; i < 3; i++)
		worker_join(&w[i]);
}

static void w_churn(struct worker *w)
{
	int i;

	for (i = 0; i < 25; i++) {
		int p[2];

		local_pair(p);
		send_pat(p[0], 100);
		recv_pat(p[1], 100);
		close(p[i & 1]);
		expect_eof(p[!(i & 1)]);
		close(p[!(i & 1)]);
	}
	w->ret = i;
}

static void threads_churn(void)
{
	struct worker w[4] = { 0 };
	int i;

	for (i = 0; i < 4; i++)
		worker_start(&w[i], w_churn);
	for (i = 0; i < 4; i++)
		worker_join(&w[i]);
}

/* Another thread shuts or closes at an arbitrary moment of a transfer. */
static void close_race(void)
{
	int round;

	for (round = 0; round < 20; round++) {
		static char buf[1 << 18];
		int fd = conn_open_bufs(0, 20000, 20000, 0);
		struct worker w = { .fd = fd, .buf = buf, .len = sizeof(buf) };

		worker_start(&w, w_send);
		if (round % 4 == 0)
			wait_blocked(w.tid, SYS_sendto);
		if (round % 2) {
			shutdown(fd, SHUT_RDWR);
		} else {
			peer_start(P_ABORT, 0, 0, 0);
			expect_eq(peer_join(), 0);
		}
		worker_join(&w);
		if (w.ret < 0)
			expect_true(w.err == EPIPE || w.err == ECONNRESET);
		close(fd);
		if (round % 2)
			peer_close();
	}
}

static void exec_keeps_socket(void)
{
	int fd = conn_open();
	pid_t pid = expect_ok(fork());
	char arg[64];

	if (!pid) {
		/* An exec'd program goes on with the inherited socket. */
		snprintf(arg, sizeof(arg), "printf x >&%d", fd);
		execl("/bin/sh", "sh", "-c", arg, NULL);
		_exit(1);
	}
	child_ok(pid);
	expect_eq(peer_call(P_INQ, 1, 0, 0), 0);
	expect_eq(fcntl(fd, F_SETFD, FD_CLOEXEC), 0);
	pid = expect_ok(fork());
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 0", NULL);
		_exit(1);
	}
	child_ok(pid);
	expect_eq(peer_call(P_POLL, POLLIN | POLLOUT, 0, 0), 0);
}

const struct test_case process_cases[] = {
	{ "process.dup_shares", dup_shares, peer_serve, 0 },
	{ "process.dup2_replaces", dup2_replaces, peer_serve, 0 },
	{ "process.fork_shares", fork_shares, peer_serve, 0 },
	{ "process.prefork_server", prefork_server, NULL, 0 },
	{ "process.scm_rights", scm_rights, peer_serve, 0 },
	{ "process.scm_rights_lost", scm_rights_lost, peer_serve, 0 },
	{ "process.killed_owner", killed_owner, NULL, 0 },
	{ "process.sigkill_blocked", sigkill_blocked, NULL, 0 },
	{ "process.reader_and_writer", reader_and_writer, peer_serve, 0 },
	{ "process.several_readers", several_readers, peer_serve, 0 },
	{ "process.several_writers", several_writers, NULL, 0 },
	{ "process.threads_churn", threads_churn, NULL, 0 },
	{ "process.close_race", close_race, peer_serve, 0 },
	{ "process.exec_keeps_socket", exec_keeps_socket, peer_serve, 0 },
};
TABLE_END(process);
