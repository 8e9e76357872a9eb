// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The module stays while there are sockets, and goes when there are none. */
#include "lab.h"

#include <sys/utsname.h>

static int unload(void)
{
	return syscall(SYS_delete_module, "ib_sdp", O_NONBLOCK);
}

static void load(void)
{
	char path[200];
	struct utsname u;
	int fd;

	uname(&u);
	snprintf(path, sizeof(path), "/src/build/%s/ib_sdp.ko", u.release);
	fd = expect_ok(open(path, O_RDONLY));
	expect_ret(syscall(SYS_finit_module, fd, "", 0), 0);
	close(fd);
}

static void unload_rounds(void)
{
	int k;

	device_needed();
	wait_no_sockets(60000);
	for (k = 0; k < 5; k++) {
		int s = new_socket(), l = new_listener(2), fd[2], c;
		int64_t began;

		note_step("refused while sockets are open");
		expect_err(unload(), EAGAIN);	/* EWOULDBLOCK: in use */
		expect_ret(shell("rmmod ib_sdp 2>/dev/null") != 0, 1);
		close(s);
		local_pair(fd);
		c = new_socket();	/* one that is not accepted */
		expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
		send(fd[0], "abc", 3, 0);
		expect_err(unload(), EAGAIN);
		close(l);
		close(c);
		if (k & 1)
			close(fd[0]);
		close(fd[1]);
		expect_err(k & 1 ? unload() : (errno = EAGAIN, -1), EAGAIN);
		if (!(k & 1))
			close(fd[0]);

		note_step("goes after the last close");
		began = now_ms();
		while (unload()) {
			expect_eq(errno, EAGAIN);
			if (now_ms() - began > 60000)
				fail("%ld references after a minute",
				     module_refs());
			nap_us(20000);
		}
		expect_true(module_refs() < 0);
		expect_true(access("/proc/net/sdp", F_OK));
		expect_err(socket(env.family, SOCK_STREAM, 0), EAFNOSUPPORT);
		note_step("comes back");
		load();
	}
}

const struct test_case module_cases[] = {
	{ "module.unload_rounds", unload_rounds, NULL, T_SLOW },
};
TABLE_END(module);
