// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lab.h"

#include <dirent.h>
#include <stdarg.h>
#include <time.h>

int shell(const char *fmt, ...)
{
	char cmd[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

void nap_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

bool device_here(void)
{
	return !access("/sys/class/infiniband/rxe0", F_OK);
}

/* Nobody can connect before the GID of the address is there. */
static bool gid_here(void)
{
	char path[300], line[64];
	bool found = false;
	int i;

	for (i = 0; i < 16 && !found; i++) {
		FILE *f;

		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/rxe0/ports/1/gids/%d", i);
		f = fopen(path, "r");
		if (!f)
			continue;
		found = fgets(line, sizeof(line), f) &&
			strstr(line, "ffff:0a01:0001");
		fclose(f);
	}
	return found;
}

void device_delete(void)
{
	int64_t began = now_ms();
	int st;

	note_step("rdma link delete");
	st = shell("timeout %d rdma link delete rxe0", LIMIT_MS / 1000);
	if (st)
		fail("rdma link delete: status %#x after %lld ms", st,
		     (long long)(now_ms() - began));
	if (device_here())
		fail("the device is still there");
}

void device_add(void)
{
	int64_t until = now_ms() + LIMIT_MS;

	note_step("rdma link add");
	expect_eq(shell("rdma link add rxe0 type rxe netdev va"), 0);
	while (!gid_here()) {
		if (now_ms() > until)
			fail("no GID of 10.1.0.1");
		nap_us(10000);
	}
}

void device_needed(void)
{
	if (!device_here())
		device_add();
}

static long file_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

long module_refs(void)
{
	return file_number("/sys/module/ib_sdp/refcnt");
}

long counter(const char *name)
{
	FILE *f = fopen("/proc/net/sdpstats", "r");
	char n[64];
	long v, got = -1;

	if (!f)
		return -1;
	while (fscanf(f, "%63s %ld", n, &v) == 2)
		if (!strcmp(n, name))
			got = v;
	fclose(f);
	return got;
}

void rdma_resources(char *buf, size_t size)
{
	FILE *f = popen("rdma resource show | sed 's/^[0-9]*: //; s/ *$//'",
			"r");

	buf[0] = 0;
	if (!f || !fgets(buf, size, f))
		fail("rdma resource show");
	buf[strcspn(buf, "\n")] = 0;
	pclose(f);
}

static void protocol(long *sockets, long *pages)
{
	FILE *f = fopen("/proc/net/protocols", "r");
	char line[300], name[32];
	long size;

	*sockets = -1;
	*pages = -1;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%31s %ld %ld %ld", name, &size, sockets,
			   pages) == 4 && !strcmp(name, "SDP"))
			break;
	if (!f || strcmp(name, "SDP"))
		fail("no SDP in /proc/net/protocols");
	fclose(f);
}

long sdp_sockets(void)
{
	long sockets, pages;

	protocol(&sockets, &pages);
	return sockets;
}

void wait_no_sockets(int ms)
{
	int64_t until = now_ms() + ms;

	note_step("wait until no socket is left");
	while (sdp_sockets() || module_refs() > 0) {
		if (now_ms() > until)
			fail("%ld sockets and %ld references after %d ms",
			     sdp_sockets(), module_refs(), ms);
		nap_us(50000);
	}
}

void holdings_get(struct holdings *h)
{
	char line[400];
	FILE *f;

	rdma_resources(h->rdma, sizeof(h->rdma));
	protocol(&h->sockets, &h->pages);
	/* free slabs count as used until they are given back */
	shell("for c in /sys/kernel/slab/*; do [ -L $c ] || echo 1 > $c/shrink; done 2>/dev/null");
	f = fopen("/proc/slabinfo", "r");
	if (!f)
		fail("/proc/slabinfo");
	h->n = 0;
	while (h->n < MAX_CACHES && fgets(line, sizeof(line), f))
		if (line[0] != '#' &&
		    sscanf(line, "%39s %ld", h->cache[h->n].name,
			   &h->cache[h->n].objects) == 2)
			h->n++;
	fclose(f);
}
