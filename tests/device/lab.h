/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The guest's RDMA device and module, and what they hold. */
#ifndef SDP_TEST_LAB_H
#define SDP_TEST_LAB_H

#include "harness.h"

#define LIMIT_MS 20000	/* how long the end of a device may take */

bool device_here(void);
void device_delete(void);	/* returns within LIMIT_MS, or fails */
void device_add(void);		/* connections are possible when it returns */
void device_needed(void);	/* add it unless it is there */
int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void nap_us(long us);
long module_refs(void);		/* -1: not loaded */
long counter(const char *name);	/* of /proc/net/sdpstats */

/* What the kernel holds: caches, RDMA resources, sockets. */
#define MAX_CACHES 512
struct holdings {
	char rdma[200];		/* pd, cq, qp, cm_id, mr */
	long sockets, pages;	/* of SDP in /proc/net/protocols */
	int n;
	struct {
		char name[40];
		long objects;
	} cache[MAX_CACHES];
};

void holdings_get(struct holdings *h);
void rdma_resources(char *buf, size_t size);
long sdp_sockets(void);		/* all that exist, orphans included */
void wait_no_sockets(int ms);

#endif
