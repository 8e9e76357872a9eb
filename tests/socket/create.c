// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* socket(): types, protocols, flags; and what a fresh socket can't do. */
#include "harness.h"

#include <sys/stat.h>

static void protocols(void)
{
	int a = expect_ok(socket(env.family, SOCK_STREAM, 0));
	int b = expect_ok(socket(env.family, SOCK_STREAM, IPPROTO_TCP));

	expect_eq(get_int(a, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	expect_eq(get_int(b, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	close(a);
	close(b);
}

static void bad_protocols(void)
{
	expect_err(socket(env.family, SOCK_STREAM, IPPROTO_UDP),
		   EPROTONOSUPPORT);
	expect_err(socket(env.family, SOCK_STREAM, -1), EINVAL);
	expect_err(socket(env.family, SOCK_STREAM, 100000), EINVAL);
}

static void bad_types(void)
{
	int types[] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RDM, SOCK_RAW };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		/* AF_INET has datagrams, but none with TCP's number. */
		int proto = types[i] == SOCK_SEQPACKET ? 0 : IPPROTO_TCP;
		int fd;

		if (types[i] == SOCK_RAW && env.family == AF_INET)
			continue;
		errno = 0;
		fd = socket(env.family, types[i], proto);
		if (fd >= 0)
			fail("socket type %d was made", types[i]);
		expect_true(errno == ESOCKTNOSUPPORT ||
			    errno == EPROTONOSUPPORT);
	}
	if (env.family == AF_INET_SDP)
		expect_err(socket(env.family, SOCK_DGRAM, 0), ESOCKTNOSUPPORT);
	expect_err(socket(env.family, 77, 0), EINVAL);
}

static void flags(void)
{
	int a = expect_ok(socket(env.family, SOCK_STREAM | SOCK_NONBLOCK, 0));
	int b = expect_ok(socket(env.family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int c = expect_ok(socket(env.family, SOCK_STREAM, 0));

	expect_eq(fcntl(a, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	expect_eq(fcntl(a, F_GETFD), 0);
	expect_eq(fcntl(b, F_GETFL) & O_NONBLOCK, 0);
	expect_eq(fcntl(b, F_GETFD), FD_CLOEXEC);
	expect_eq(fcntl(c, F_GETFL) & O_NONBLOCK, 0);
	expect_eq(fcntl(c, F_GETFL) & O_ACCMODE, O_RDWR);
}

static void is_a_socket(void)
{
	struct stat st;
	int fd = new_socket();

	expect_ret(fstat(fd, &st), 0);
	expect_true(S_ISSOCK(st.st_mode));
	expect_err(lseek(fd, 0, SEEK_SET), ESPIPE);
	expect_err(pread(fd, &st, 1, 0), ESPIPE);
}

static void names(void)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	int fd = new_socket();

	sa = sa_of(fd);
	expect_eq(sa.sin_port, 0);
	expect_eq(sa.sin_addr.s_addr, 0);
	expect_err(getpeername(fd, (void *)&sa, &len), ENOTCONN);
}

static void unconnected_io(void)
{
	char c = 0;
	struct sockaddr_in sa = sa_make(my_addr(), free_port());
	int fd = new_socket();

	count_signal(SIGPIPE, false);
	expect_err(recv(fd, &c, 1, 0), ENOTCONN);
	expect_err(recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK), ENOTCONN);
	expect_err(read(fd, &c, 1), ENOTCONN);
	expect_eq(sig_count, 0);
	expect_err(send(fd, &c, 1, 0), EPIPE);
	expect_eq(sig_count, 1);
	expect_err(send(fd, &c, 1, MSG_NOSIGNAL), EPIPE);
	/* An address does not connect a stream socket. */
	expect_err(sendto(fd, &c, 1, MSG_NOSIGNAL, (void *)&sa, sizeof(sa)),
		   EPIPE);
	expect_eq(sig_count, 1);
	expect_err(shutdown(fd, SHUT_RDWR), ENOTCONN);
	expect_err(accept(fd, NULL, NULL), EINVAL);
}

static void many_open_close(void)
{
	int fds[200], i;

	for (i = 0; i < 200; i++)
		fds[i] = new_socket();
	for (i = 0; i < 200; i++)
		expect_ret(close(fds[i]), 0);
	expect_err(close(fds[0]), EBADF);
}

const struct test_case create_cases[] = {
	{ "socket.protocols", protocols, NULL, 0 },
	{ "socket.bad_protocols", bad_protocols, NULL, 0 },
	{ "socket.bad_types", bad_types, NULL, 0 },
	{ "socket.flags", flags, NULL, 0 },
	{ "socket.is_a_socket", is_a_socket, NULL, 0 },
	{ "socket.names", names, NULL, 0 },
	{ "socket.unconnected_io", unconnected_io, NULL, 0 },
	{ "socket.many_open_close", many_open_close, NULL, 0 },
};
TABLE_END(create);
