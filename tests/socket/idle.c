// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What an idle connection costs: opens N connections to itself and prints by
 * how much MemAvailable fell, per socket end (fall / 2N).
 *
 *   idle [-f FAMILY] [-a ADDR] [-n N] [-b] [-s] [-w SECONDS]
 *
 *   -b  send a byte each way on every connection, to prove that they work
 *   -s  when all are closed print what differs in slabinfo and `rdma resource`
 *   -w  keep the connections for so long (0: until a line comes on stdin)
 *
 * One connection is made and closed first, so that what the kernel allocates
 * once for all is not counted. All descriptors are of this process.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_SLABS 1024
#define SETTLE_S 10

struct slab {
	char name[64];
	long objs, size;
};

static int family = AF_INET;
static struct in_addr addr;

static void die(const char *what)
{
	fprintf(stderr, "idle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long mem_available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	if (kb < 0)
		die("MemAvailable");
	fclose(f);
	return kb;
}

/* When it no longer moves: much is freed a grace period later. */
static long mem_settled(void)
{
	struct timespec ts = { 0, 200000000 };
	long last = mem_available(), kb;
	int i, calm = 0;

	for (i = 0; i < SETTLE_S * 5 && calm < 3; i++) {
		nanosleep(&ts, NULL);
		kb = mem_available();
		calm = labs(kb - last) < 256 ? calm + 1 : 0;
		last = kb;
	}
	return last;
}

static int read_slabs(struct slab *s)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[512];
	int n = 0;

	while (f && n < MAX_SLABS && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld %*d %ld", s[n].name, &s[n].objs,
			   &s[n].size) == 3)
			n++;
	if (f)
		fclose(f);
	return n;
}

/* The counts of `rdma resource`, one line; empty if there is no such tool. */
static void read_rdma(char *buf, size_t n)
{
	FILE *p = popen("rdma resource 2>/dev/null", "r");
	size_t r = p ? fread(buf, 1, n - 1, p) : 0;

	buf[r] = 0;
	if (p)
		pclose(p);
}

static void open_pair(int l, int fd[2])
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	if (getsockname(l, (void *)&sa, &len))
		die("getsockname");
	sa.sin_addr = addr;
	fd[0] = socket(family, SOCK_STREAM, 0);
	if (fd[0] < 0)
		die("socket");
	if (connect(fd[0], (void *)&sa, sizeof(sa)))
		die("connect");
	fd[1] = accept(l, NULL, NULL);
	if (fd[1] < 0)
		die("accept");
}

static void exchange(int fd[2])
{
	char c;
	int i;

	for (i = 0; i < 2; i++) {
		if (send(fd[i], i ? "b" : "a", 1, 0) != 1)
			die("send");
		if (recv(fd[!i], &c, 1, 0) != 1 || c != (i ? 'b' : 'a'))
			die("recv");
	}
}

static int listener(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = addr };
	int l = socket(family, SOCK_STREAM, 0);

	if (l < 0)
		die("socket");
	if (bind(l, (void *)&sa, sizeof(sa)) || listen(l, 16))
		die("bind and listen");
	return l;
}

static int print_differences(const struct slab *a, int na, const char *rdma)
{
	static struct slab b[MAX_SLABS];
	int nb = read_slabs(b), i, k, n = 0;
	char now[4096];

	for (i = 0; i < nb; i++)
		for (k = 0; k < na; k++) {
			long kb = (b[i].objs - a[k].objs) * b[i].size / 1024;

			if (strcmp(a[k].name, b[i].name) || labs(kb) < 64)
				continue;
			printf("slab %s: %+ld objects (%+ld KB)\n",
			       b[i].name, b[i].objs - a[k].objs, kb);
			n++;
		}
	if (!na || !nb)
		printf("slab: /proc/slabinfo can't be read\n");
	read_rdma(now, sizeof(now));
	if (strcmp(rdma, now)) {
		printf("rdma resource before:\n%srdma resource after:\n%s",
		       rdma, now);
		n++;
	}
	if (!n)
		printf("no differences\n");
	return n;
}

int main(int argc, char **argv)
{
	int n = 1000, bytes = 0, slabs = 0, wait_s = -1, o, i, l, na = 0;
	static struct slab before[MAX_SLABS];
	static char rdma[4096];
	struct rlimit rl;
	int (*fd)[2], first[2];
	long m0, m1, m2;

	inet_pton(AF_INET, "127.0.0.1", &addr);
	while ((o = getopt(argc, argv, "f:a:n:bsw:")) != -1) {
		switch (o) {
		case 'f': family = atoi(optarg); break;
		case 'a':
			if (inet_pton(AF_INET, optarg, &addr) != 1)
				goto usage;
			break;
		case 'n': n = atoi(optarg); break;
		case 'b': bytes = 1; break;
		case 's': slabs = 1; break;
		case 'w': wait_s = atoi(optarg); break;
		default: goto usage;
		}
	}
	if (optind != argc || n < 1)
		goto usage;
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = 2 * n + 64;
	if (rl.rlim_max < rl.rlim_cur)
		rl.rlim_max = rl.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &rl))
		die("RLIMIT_NOFILE");
	fd = calloc(n, sizeof(*fd));
	memset(fd, 0xff, n * sizeof(*fd));
	l = listener();
	open_pair(l, first);
	exchange(first);
	close(first[0]);
	close(first[1]);

	m0 = mem_settled();
	if (slabs) {
		na = read_slabs(before);
		read_rdma(rdma, sizeof(rdma));
	}
	for (i = 0; i < n; i++)
		open_pair(l, fd[i]);
	m1 = mem_settled();
	printf("%d connections: MemAvailable fell by %ld KB, %.1f KB per socket end\n",
	       n, m0 - m1, (m0 - m1) / (2.0 * n));
	if (bytes) {
		for (i = 0; i < n; i++)
			exchange(fd[i]);
		printf("a byte went each way on all %d\n", n);
	}
	fflush(stdout);
	if (wait_s > 0)
		sleep(wait_s);
	else if (!wait_s)
		getchar();
	for (i = 0; i < n; i++) {
		/* who closes first alternates */
		close(fd[i][i & 1]);
		close(fd[i][!(i & 1)]);
	}
	m2 = mem_settled();
	printf("all closed: MemAvailable is %ld KB below the start\n", m0 - m2);
	if (slabs)
		print_differences(before, na, rdma);
	return 0;
usage:
	fprintf(stderr,
		"usage: idle [-f FAMILY] [-a ADDR] [-n N] [-b] [-s] [-w SECONDS]\n");
	return 2;
}
