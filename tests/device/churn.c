// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many connections come and go; nothing may be left of them. */
#include "lab.h"

/* ---- 1,000 connections ----------------------------------------------------- */

#define BATCH 50

static void batches(int n)
{
	int l = new_listener(BATCH), fd[BATCH][2], i, k;

	for (k = 0; k < n; k++) {
		char b[3];

		for (i = 0; i < BATCH; i++) {
			fd[i][0] = new_socket();
			expect_ret(connect_to(fd[i][0], my_addr(), port_of(l)),
				   0);
			fd[i][1] = expect_ok(accept(l, NULL, NULL));
			expect_ret(send(fd[i][0], "abc", 3, 0), 3);
		}
		for (i = 0; i < BATCH; i++) {
			if (i % 3)	/* else: closed with data unread */
				expect_ret(recv(fd[i][1], b, 3, MSG_WAITALL), 3);
			close(fd[i][i & 1]);
			close(fd[i][!(i & 1)]);
		}
	}
	close(l);
}

/* RCU, and the CM's time-wait, take a moment. */
static void settle(struct holdings *h)
{
	wait_no_sockets(60000);
	nap_us(3000000);
	holdings_get(h);
}

/* A cache that one connection takes an object from. */
static void expect_same(const char *name, long after, long before)
{
	static const char *const ours[] = {
		"SDP", "sdp", "kmalloc-", "skbuff", "UDP", "ib_",
		"sock_inode_cache", "filp",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strncmp(name, ours[i], strlen(ours[i])) &&
		    after - before > 450)
			fail("cache %s: %ld objects, before: %ld", name, after,
			     before);
}

static void thousand(void)
{
	static struct holdings before, after;
	int i, k;

	device_needed();
	batches(2);	/* what is allocated once */
	settle(&before);
	note_step("1,000 connections");
	batches(1000 / BATCH);
	settle(&after);
	if (strcmp(before.rdma, after.rdma))
		fail("RDMA resources: %s, before: %s", after.rdma, before.rdma);
	expect_eq(after.sockets, 0);
	/* each CPU keeps up to 256 pages for the next socket */
	expect_range(after.pages - before.pages, -520, 520);
	for (i = 0; i < after.n; i++)
		for (k = 0; k < before.n; k++)
			if (!strcmp(before.cache[k].name, after.cache[i].name))
				expect_same(after.cache[i].name,
					    after.cache[i].objects,
					    before.cache[k].objects);
}

/* ---- 64 threads, and a device that comes and goes ----------------------------- */

#define THREADS 64

static atomic_bool stop;
static atomic_int connected, ended;

static void random_bytes(int fd, unsigned int *seed)
{
	char buf[8192] = { 0 };
	int n = rand_r(seed) % 6;

	while (n--)
		if (rand_r(seed) % 2 ?
		    send(fd, buf, 1 + rand_r(seed) % sizeof(buf),
			 MSG_NOSIGNAL) < 0 :
		    recv(fd, buf, 1 + rand_r(seed) % sizeof(buf), 0) <= 0)
			break;
	if (rand_r(seed) % 4 == 0)
		set_linger(fd, 1, rand_r(seed) % 2);
	if (rand_r(seed) % 4 == 0)
		shutdown(fd, rand_r(seed) % 3);
}

static void short_waits(int fd)
{
	set_timeo(fd, SO_RCVTIMEO, 300);
	set_timeo(fd, SO_SNDTIMEO, 2000);
}

static void w_client(struct worker *w)
{
	unsigned int seed = w->flags;

	while (!stop) {
		int fd = new_socket();

		short_waits(fd);
		if (rand_r(&seed) % 8 == 0)
			set_nonblock(fd, true);
		if (!connect(fd, (void *)&w->sa, sizeof(w->sa))) {
			connected++;
			random_bytes(fd, &seed);
		} else {
			nap_us(rand_r(&seed) % 20000);
		}
		close(fd);
	}
	ended++;
}

static void w_server(struct worker *w)
{
	unsigned int seed = w->flags;

	while (!stop) {
		int fd = accept(w->fd, NULL, NULL);

		if (fd < 0)
			continue;
		short_waits(fd);
		random_bytes(fd, &seed);
		close(fd);
	}
	ended++;
}

static void storm(void)
{
	static struct worker w[THREADS];
	char before[200], after[200];
	unsigned int seed = getpid();
	int l, i, links = 0;
	int64_t until;

	device_needed();
	wait_no_sockets(60000);
	rdma_resources(before, sizeof(before));
	l = new_listener(16);
	set_timeo(l, SO_RCVTIMEO, 300);
	for (i = 0; i < THREADS; i++) {
		w[i].fd = l;
		w[i].sa = sa_make(my_addr(), port_of(l));
		w[i].flags = i + 1;
		worker_start(&w[i], i % 8 ? w_client : w_server);
	}
	until = now_ms() + 12000;
	while (now_ms() < until) {
		nap_us(rand_r(&seed) % 2000000);
		device_delete();
		nap_us(rand_r(&seed) % 200000);
		device_add();
		links++;
	}
	stop = true;
	note_step("every thread ends");
	until = now_ms() + LIMIT_MS;
	while (ended < THREADS) {
		if (now_ms() > until)
			fail("%d threads of %d ended", ended, THREADS);
		nap();
	}
	for (i = 0; i < THREADS; i++)
		worker_join(&w[i]);
	if (connected < 20 || links < 2)
		fail("only %d connections and %d removals", connected, links);
	close(l);
	wait_no_sockets(60000);
	rdma_resources(after, sizeof(after));
	if (strcmp(before, after))
		fail("RDMA resources: %s, before: %s", after, before);
}

/* ---- a listener that goes while clients come ------------------------------------ */

#define CLIENTS 8

static void vanishing_listener(void)
{
	char before[200], after[200];
	unsigned int seed = getpid();
	int fd[CLIENTS], i, k;

	device_needed();
	wait_no_sockets(60000);
	rdma_resources(before, sizeof(before));
	note_step("200 listeners");
	for (k = 0; k < 200; k++) {
		int l = new_listener(k % 2 ? CLIENTS : 2);
		uint16_t port = port_of(l);
		int64_t until;

		for (i = 0; i < CLIENTS; i++)
			fd[i] = connect_nb(port);
		nap_us(rand_r(&seed) % 2000);
		close(l);
		until = now_ms() + 10000;
		for (i = 0; i < CLIENTS; i++) {
			while (!(poll_now(fd[i]) & (POLLERR | POLLHUP))) {
				if (now_ms() > until)
					fail("round %d: client %d waits, poll() shows %#x",
					     k, i, poll_now(fd[i]));
				nap();
			}
			close(fd[i]);
		}
	}
	wait_no_sockets(60000);
	rdma_resources(after, sizeof(after));
	if (strcmp(before, after))
		fail("RDMA resources: %s, before: %s", after, before);
}

const struct test_case churn_cases[] = {
	{ "churn.thousand", thousand, NULL, T_SLOW },
	{ "churn.storm", storm, NULL, T_SLOW },
	{ "churn.vanishing_listener", vanishing_listener, NULL, T_SLOW },
};
TABLE_END(churn);
