// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Socket memory is charged to the cgroup of who made the socket; a child's to
 * its listener's.
 */
#include "lab.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define ROOT "/tmp/cg"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("%s < %s: %s", path, text, strerror(errno));
	close(fd);
}

static void prepare(const char *name)
{
	char path[200];

	mkdir(ROOT, 0755);
	if (mount("cg", ROOT, "cgroup2", 0, NULL) && errno != EBUSY)
		skip_case("no cgroup2: %s", strerror(errno));
	put(ROOT "/cgroup.subtree_control", "+memory");
	snprintf(path, sizeof(path), ROOT "/%s", name);
	mkdir(path, 0755);
}

static void join(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), ROOT "/%s/cgroup.procs", name);
	put(path, "0");
}

/* The bytes of `sock` in memory.stat. */
static long charged(const char *name)
{
	char path[200], key[64];
	long v, got = -1;
	FILE *f;

	snprintf(path, sizeof(path), ROOT "/%s/memory.stat", name);
	f = fopen(path, "r");
	while (f && fscanf(f, "%63s %ld", key, &v) == 2)
		if (!strcmp(key, "sock"))
			got = v;
	if (!f || got < 0)
		fail("no sock in %s", path);
	fclose(f);
	return got;
}

static void wait_charged(const char *name, long lo, long hi)
{
	int64_t until = now_ms() + 15000;
	long v;

	while ((v = charged(name)) < lo || v > hi) {
		if (now_ms() > until)
			fail("%s: %ld bytes charged, want %ld to %ld", name, v,
			     lo, hi);
		nap_us(50000);
	}
}

/* The client is in one group, the listener in another. */
static void charges(void)
{
	int l, c, s, k;

	device_needed();
	prepare("server");
	prepare("client");
	join("server");
	l = new_listener(4);
	join("client");
	c = new_socket();
	expect_ret(connect_to(c, my_addr(), port_of(l)), 0);
	s = expect_ok(accept(l, NULL, NULL));
	note_step("the receiver's buffers and the sender's queue");
	set_nonblock(c, true);
	for (k = 0; k < 50; k++) {
		flood(c, 64 << 20);
		nap();
	}
	wait_charged("server", 16384, 64 << 20);
	wait_charged("client", 65536, 64 << 20);
	note_step("all given back");
	set_linger(c, 1, 0);
	close(c);
	close(s);
	close(l);
	wait_charged("server", 0, 0);
	wait_charged("client", 0, 0);
	put(ROOT "/cgroup.procs", "0");
}

const struct test_case cgroup_cases[] = {
	{ "cgroup.charges", charges, NULL, 0 },
};
TABLE_END(cgroup);
