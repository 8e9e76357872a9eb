/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of cases share: a case, and a connection between a peer and a socket of the module under test. */
#ifndef PEER_TEST_H
#define PEER_TEST_H

#include "peer.h"

enum { PF_TEST = 27, WAIT = 8000, SHORT = 400 };

struct link {
	char role;		/* 'c' the peer connects, 'p' the socket does */
	const struct tcase *tc;
	struct flavour f;	/* of the peer; may be changed before the link is up */
	struct peer *p;
	int ls, s;		/* listening and connected socket */
	int backlog;
	uint16_t port;
	uint8_t hello[HELLO_LEN], ack[HELLO_ACK_LEN];
	unsigned int hello_len, ack_len;
	const char *opts;	/* more words for connect and rep */
	uint64_t stat, violations;	/* counters before */
};

struct tcase {
	const char *name;
	void (*fn)(struct link *l);
	/* roles to run in: 'c', 'p', '-' has none, 's' two peers, needs no module under test */
	const char *roles;
	const struct flavour *f;	/* NULL: fl_new */
	const char *stat;		/* counter of /proc/net/sdpstats that must rise, or NULL */
	const void *arg;
};

extern const struct tcase cases_self[], cases_setup[], cases_stream[], cases_zcopy[], cases_close[], cases_bad[],
	cases_bulk[];

extern const char *opt_addr, *opt_dev;
extern bool opt_model;
void model_process(void);
void model_listen(uint16_t port);
int model_connect(uint16_t port, int *status);

/* sockets; all fail() on an error and after WAIT ms */
int sk_listen(struct link *l);
int sk_accept(struct link *l);
int sk_start_connect(uint16_t port);
/* 0 or the errno that connect() ended in */
int sk_finish_connect(int s, int ms);
void sk_write(int s, const char *text);
void sk_read(int s, const char *text);
void sk_pattern(int s, uint8_t seed, uint32_t pos, uint32_t n);
void sk_eof(int s);
void sk_error(int s, int err);
void sk_quiet(int s, int ms);

uint64_t stat_of(const char *name);	/* 0 without the file */
void stats_before(struct link *l);
void stats_after(struct link *l);

/* the steps of link_up(), for cases that change something between */
void link_peer(struct link *l);		/* open, find device and path; listen in role p */
void link_hello(struct link *l);	/* build l->hello and l->ack */
void link_connect(struct link *l);	/* role c: post and send the REQ; role p: start connect() and see the REQ */
void link_answer(struct link *l);	/* role c: see the REP; role p: post and send it */
void link_ready(struct link *l);	/* RTU both ways, accept() */
void link_up(struct link *l);
void put16(uint8_t *d, uint16_t v);
void put32(uint8_t *d, uint32_t v);
const char *hex_of(const uint8_t *d, size_t n);

void self_up(struct peer **a, struct peer **b, const struct flavour *fa, const struct flavour *fb);
/* Runs fn, which must fail() with a message that holds this. */
void must_fail(void (*fn)(void *), void *arg, const char *with);
uint32_t max_payload(const struct peer *p);

#endif
