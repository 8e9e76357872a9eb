// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* bind(): addresses, ports, who may have a port when. */
#include "harness.h"

#include <arpa/inet.h>

static int try_bind(int fd, struct in_addr a, uint16_t port)
{
	struct sockaddr_in sa = sa_make(a, port);

	return bind(fd, (void *)&sa, sizeof(sa));
}

static struct in_addr any(void)
{
	return (struct in_addr){ htonl(INADDR_ANY) };
}

static void port0(void)
{
	struct sockaddr_in sa;
	int a = bound_socket(my_addr(), 0), b = bound_socket(my_addr(), 0);

	sa = sa_of(a);
	expect_true(sa.sin_port != 0);
	expect_eq(sa.sin_addr.s_addr, my_addr().s_addr);
	expect_true(port_of(a) != port_of(b));
}

static void any_address(void)
{
	int fd = bound_socket(any(), 0);
	struct sockaddr_in sa = sa_of(fd);

	expect_eq(sa.sin_addr.s_addr, 0);
	expect_true(sa.sin_port != 0);
	/* The wildcard holds the port on every address. */
	expect_err(try_bind(new_socket(), my_addr(), port_of(fd)), EADDRINUSE);
	expect_err(try_bind(new_socket(), any(), port_of(fd)), EADDRINUSE);
}

static void chosen_port(void)
{
	uint16_t port = free_port();
	int fd = bound_socket(my_addr(), port);

	expect_eq(port_of(fd), port);
}

static void in_use(void)
{
	int a = bound_socket(my_addr(), 0), b = new_socket();

	expect_err(try_bind(b, my_addr(), port_of(a)), EADDRINUSE);
	expect_err(try_bind(b, any(), port_of(a)), EADDRINUSE);
	/* The refused socket is as good as new. */
	expect_eq(port_of(b), 0);
	expect_ret(try_bind(b, my_addr(), 0), 0);
	expect_true(port_of(b) != port_of(a));
}

static void freed_by_close(void)
{
	uint16_t port;
	int i, fd = bound_socket(my_addr(), 0);

	port = port_of(fd);
	for (i = 0; i < 50; i++) {
		close(fd);
		fd = bound_socket(my_addr(), port);
	}
	expect_ret(listen(fd, 5), 0);
	close(fd);
	fd = bound_socket(my_addr(), port);
	expect_ret(listen(fd, 5), 0);
}

static void non_local(void)
{
	struct in_addr a;
	int fd = new_socket();

	inet_pton(AF_INET, "192.0.2.77", &a);
	expect_err(try_bind(fd, a, 0), EADDRNOTAVAIL);
	inet_pton(AF_INET, "192.0.2.78", &a);
	expect_err(try_bind(fd, a, free_port()), EADDRNOTAVAIL);
	expect_ret(try_bind(fd, my_addr(), 0), 0);
}

static void loopback_addresses(void)
{
	struct in_addr one, two;
	int a, b;

	inet_pton(AF_INET, "127.0.0.1", &one);
	inet_pton(AF_INET, "127.0.0.2", &two);
	a = bound_socket(one, 0);
	b = bound_socket(two, port_of(a));
	expect_eq(sa_of(a).sin_addr.s_addr, one.s_addr);
	expect_eq(sa_of(b).sin_addr.s_addr, two.s_addr);
}

static void privileged(void)
{
	int limit = 1024, st;
	pid_t pid;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");

	if (f) {
		expect_eq(fscanf(f, "%d", &limit), 1);
		fclose(f);
	}
	if (limit < 700)
		skip_case("ip_unprivileged_port_start is %d", limit);
	pid = expect_ok(fork());
	if (!pid) {
		if (!geteuid())
			expect_ret(setuid(65534), 0);
		expect_err(try_bind(new_socket(), my_addr(), 611), EACCES);
		expect_ret(try_bind(new_socket(), my_addr(), 0), 0);
		_exit(0);
	}
	expect_ret(waitpid(pid, &st, 0), pid);
	if (!WIFEXITED(st) || WEXITSTATUS(st))
		_exit(1);	/* the child has said why */
	if (!geteuid())
		expect_ret(try_bind(new_socket(), my_addr(), 611), 0);
}

static void twice(void)
{
	int fd = bound_socket(my_addr(), 0);

	expect_err(try_bind(fd, my_addr(), 0), EINVAL);
	expect_err(try_bind(fd, my_addr(), port_of(fd)), EINVAL);
}

static void bad_length(void)
{
	struct sockaddr_in sa = sa_make(my_addr(), 0);
	int fd = new_socket();

	expect_err(bind(fd, (void *)&sa, 0), EINVAL);
	expect_err(bind(fd, (void *)&sa, 2), EINVAL);
	expect_err(bind(fd, (void *)&sa, sizeof(sa) - 1), EINVAL);
	expect_err(bind(fd, (void *)&sa, -1), EINVAL);
	expect_err(bind(fd, (void *)&sa, 4096), EINVAL);
	expect_ret(bind(fd, (void *)&sa, sizeof(sa)), 0);
}

static void long_length(void)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in sa = sa_make(my_addr(), 0);

	memcpy(&ss, &sa, sizeof(sa));
	expect_ret(bind(new_socket(), (void *)&ss, sizeof(ss)), 0);
}

static void bad_family(void)
{
	struct sockaddr_in sa = sa_make(my_addr(), 0);
	int fd = new_socket();

	sa.sin_family = AF_INET6;
	expect_err(bind(fd, (void *)&sa, sizeof(sa)), EAFNOSUPPORT);
	sa.sin_family = AF_UNIX;
	expect_err(bind(fd, (void *)&sa, sizeof(sa)), EAFNOSUPPORT);
	/* AF_UNSPEC passes for the wildcard only: old programs do that. */
	sa.sin_family = AF_UNSPEC;
	expect_err(bind(fd, (void *)&sa, sizeof(sa)), EAFNOSUPPORT);
	sa.sin_addr = any();
	expect_ret(bind(fd, (void *)&sa, sizeof(sa)), 0);
}

static void bad_pointer(void)
{
	struct sockaddr_in sa = sa_make(my_addr(), 0);
	int fd = new_socket();

	expect_err(bind(fd, NULL, sizeof(sa)), EFAULT);
	expect_err(bind(fd, (void *)8, sizeof(sa)), EFAULT);
	expect_err(getsockname(fd, NULL, NULL), EFAULT);
	expect_ret(bind(fd, (void *)&sa, sizeof(sa)), 0);
}

/* Both want to share: allowed until one of them listens. */
static void reuse_both(void)
{
	int a = new_socket(), b = new_socket(), c = new_socket();
	uint16_t port;

	set_int(a, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(b, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(c, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(a, my_addr(), 0), 0);
	port = port_of(a);
	expect_ret(try_bind(b, my_addr(), port), 0);
	expect_ret(listen(a, 5), 0);
	expect_err(listen(b, 5), EADDRINUSE);
	expect_err(try_bind(c, my_addr(), port), EADDRINUSE);
	close(a);
	expect_ret(listen(b, 5), 0);
}

static void reuse_one_only(void)
{
	int a = new_socket(), b = new_socket(), c = new_socket();

	set_int(a, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(a, my_addr(), 0), 0);
	expect_err(try_bind(b, my_addr(), port_of(a)), EADDRINUSE);
	set_int(c, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(b, my_addr(), 0), 0);
	expect_err(try_bind(c, my_addr(), port_of(b)), EADDRINUSE);
}

static void rebind_listening(void)
{
	int l = new_listener(5), b = new_socket();
	uint16_t port = port_of(l);

	set_int(b, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_err(try_bind(b, my_addr(), port), EADDRINUSE);
	close(l);
	expect_ret(try_bind(b, my_addr(), port), 0);
	expect_ret(listen(b, 5), 0);
}

/* Listener gone, its child lives: the port is only for those who share. */
static void child_holds_port(void)
{
	int l = new_socket(), c = new_socket(), s, x;
	uint16_t port;

	set_int(l, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(l, my_addr(), 0), 0);
	expect_ret(listen(l, 5), 0);
	port = port_of(l);
	expect_ret(connect_to(c, my_addr(), port), 0);
	s = expect_ok(accept(l, NULL, NULL));
	close(l);
	expect_err(try_bind(new_socket(), my_addr(), port), EADDRINUSE);
	x = new_socket();
	set_int(x, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(x, my_addr(), port), 0);
	expect_ret(listen(x, 5), 0);
	/* and the child is not disturbed */
	pos[c] = pos[s] = (struct stream_pos){ 0 };
	send_pat(c, 1000);
	recv_pat(s, 1000);
}

static void bind_soon(int fd, uint16_t port)
{
	int64_t until = now_ms() + 3000;

	while (try_bind(fd, my_addr(), port)) {
		if (errno != EADDRINUSE || now_ms() > until)
			fail("bind of the old port: errno %d (%s)", errno,
			     strerror(errno));
		nap();
	}
}

/* A server whose client has closed first starts again at once. */
static void restart_client_first(void)
{
	int l = new_listener(5), c = new_socket(), s, again;
	uint16_t port = port_of(l);

	expect_ret(connect_to(c, my_addr(), port), 0);
	s = expect_ok(accept(l, NULL, NULL));
	close(c);
	expect_eof(s);
	close(s);
	close(l);
	again = new_socket();	/* no SO_REUSEADDR */
	bind_soon(again, port);
	expect_ret(listen(again, 5), 0);
	c = new_socket();
	expect_ret(connect_to(c, my_addr(), port), 0);
}

/* One that has closed first itself needs SO_REUSEADDR, as every server has. */
static void restart_server_first(void)
{
	int l = new_socket(), c = new_socket(), s, again;
	uint16_t port;

	set_int(l, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(l, my_addr(), 0), 0);
	expect_ret(listen(l, 5), 0);
	port = port_of(l);
	expect_ret(connect_to(c, my_addr(), port), 0);
	s = expect_ok(accept(l, NULL, NULL));
	close(s);
	expect_eof(c);
	close(c);
	close(l);
	again = new_socket();
	set_int(again, SOL_SOCKET, SO_REUSEADDR, 1);
	expect_ret(try_bind(again, my_addr(), port), 0);
	expect_ret(listen(again, 5), 0);
	c = new_socket();
	expect_ret(connect_to(c, my_addr(), port), 0);
}

/* An aborted connection leaves nothing behind that holds the port. */
static void restart_after_abort(void)
{
	int l = new_listener(5), c = new_socket(), s, again;
	uint16_t port = port_of(l);

	expect_ret(connect_to(c, my_addr(), port), 0);
	s = expect_ok(accept(l, NULL, NULL));
	set_linger(s, 1, 0);
	close(s);
	close(l);
	again = new_socket();
	bind_soon(again, port);
	expect_ret(listen(again, 5), 0);
}

/* Addresses of the socket's own family number are taken as IPv4. */
static void own_family(void)
{
	struct sockaddr_in sa = sa_make(my_addr(), 0);
	int l = new_socket(), c = new_socket(), s;

	sa.sin_family = env.family;
	expect_ret(bind(l, (void *)&sa, sizeof(sa)), 0);
	expect_ret(listen(l, 5), 0);
	sa.sin_port = htons(port_of(l));	/* sa_of() wants AF_INET */
	expect_ret(connect(c, (void *)&sa, sizeof(sa)), 0);
	memset(&sa, 0, sizeof(sa));
	s = expect_ok(accept(l, (void *)&sa,
			     &(socklen_t){ sizeof(sa) }));
	expect_eq(sa.sin_family, AF_INET);
	expect_eq(sa_peer(c).sin_port, htons(port_of(l)));
	expect_eq(sa_peer(s).sin_port, htons(port_of(c)));
}

const struct test_case bind_cases[] = {
	{ "bind.port0", port0, NULL, 0 },
	{ "bind.any_address", any_address, NULL, 0 },
	{ "bind.chosen_port", chosen_port, NULL, 0 },
	{ "bind.in_use", in_use, NULL, 0 },
	{ "bind.freed_by_close", freed_by_close, NULL, 0 },
	{ "bind.non_local", non_local, NULL, 0 },
	{ "bind.loopback_addresses", loopback_addresses, NULL, 0 },
	{ "bind.privileged", privileged, NULL, 0 },
	{ "bind.twice", twice, NULL, 0 },
	{ "bind.bad_length", bad_length, NULL, 0 },
	{ "bind.long_length", long_length, NULL, 0 },
	{ "bind.bad_family", bad_family, NULL, 0 },
	{ "bind.bad_pointer", bad_pointer, NULL, 0 },
	{ "bind.reuse_both", reuse_both, NULL, 0 },
	{ "bind.reuse_one_only", reuse_one_only, NULL, 0 },
	{ "bind.rebind_listening", rebind_listening, NULL, 0 },
	{ "bind.child_holds_port", child_holds_port, NULL, 0 },
	{ "bind.restart_client_first", restart_client_first, NULL, 0 },
	{ "bind.restart_server_first", restart_server_first, NULL, 0 },
	{ "bind.restart_after_abort", restart_after_abort, NULL, 0 },
	{ "bind.own_family", own_family, NULL, 0 },
};
TABLE_END(bind);
