// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connection set-up: Hello, HelloAck, versions, refusals, the RTU (T1, R1-R14). */
#include "peer_test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some bytes each way; they show that the connection is one. */
static void talk(struct link *l)
{
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = DATA, .data = "68656c6c6f");
	sk_read(l->s, "hello");
	sk_write(l->s, "you");
	sdp_want_text(l->p, WAIT, "you");
}

static void t1(struct link *l)
{
	link_up(l);
	talk(l);
}

static void begin(struct link *l)
{
	if (l->role == 'c')
		l->ls = sk_listen(l);
	link_peer(l);
	link_hello(l);
}

static void want_rej(struct peer *p, int reason)
{
	char *r = peer_want(p, WAIT, "rej");

	if (reason ? atoi(r) != reason : !atoi(r))
		fail("REJ %s, wanted %d", r, reason);
	peer_cmd(p, "close");
	p->posted = 0;
}

static void want_refused(struct link *l)
{
	int err = sk_finish_connect(l->s, WAIT);

	if (err != ECONNREFUSED)
		fail("connect: %s, wanted ECONNREFUSED", strerror(err));
}

/* ---- what a listener is sent ---- */

struct bend {
	uint8_t at, len;
	uint32_t value;
};

static void bend(uint8_t *d, const struct bend *b, int n)
{
	for (; n-- && b->len; b++)
		for (int i = 0; i < b->len; i++)
			d[b->at + i] = b->value >> 8 * (b->len > 4 ? 0 : b->len - 1 - i);
}

/* Bent Hello -> REJ 28, and the listener goes on. */
static void hello_refused(struct link *l)
{
	begin(l);
	bend(l->hello, l->tc->arg, 4);
	link_connect(l);
	want_rej(l->p, 28);
	if (l->tc->stat)
		stats_after(l);
	link_hello(l);
	link_connect(l);
	link_answer(l);
	link_ready(l);
	talk(l);
}

static void hello_accepted(struct link *l)
{
	begin(l);
	bend(l->hello, l->tc->arg, 4);
	link_connect(l);
	link_answer(l);
	link_ready(l);
	talk(l);
}

/* Addresses that aren't ours: refused, whatever the reason. */
static void hello_foreign(struct link *l)
{
	begin(l);
	bend(l->hello, l->tc->arg, 4);
	link_connect(l);
	want_rej(l->p, 0);
}

static void no_listener(struct link *l)
{
	begin(l);
	close(l->ls);
	link_connect(l);
	want_rej(l->p, 0);
}

static void backlog_full(struct link *l)
{
	struct link k[6];
	int i, waits = -1;

	l->backlog = 1;
	l->ls = sk_listen(l);
	for (i = 0; i < 6; i++) {
		k[i] = *l;
		link_peer(&k[i]);
		link_hello(&k[i]);
		put16(k[i].hello + 28, 0xc000 + i);
		k[i].opts = "cmto=16 cmretries=15";
		link_connect(&k[i]);
		if (waits < 0 && !poll(&(struct pollfd){ k[i].p->fd, POLLIN, 0 }, 1, 1000)) {
			waits = i;
			break;
		}
		link_answer(&k[i]);	/* a REJ fails here */
		peer_cmd(k[i].p, "rtu selfrnr=0");
	}
	if (waits < 0)
		fail("6 connections with a backlog of 1");
	if (!waits)
		fail("not even one connection");
	sk_accept(l);
	/* the CM repeats the REQ that was dropped */
	link_answer(&k[waits]);
}

/* ---- before the RTU ---- */

static void before_rtu(struct link *l)
{
	begin(l);
	link_connect(l);
	link_answer(l);
	if (poll(&(struct pollfd){ l->ls, POLLIN, 0 }, 1, SHORT))
		fail("accept() before anything told that the connection is there");
	peer_cmd(l->p, "rts selfrnr=0");
	SEND(l->p, .mid = DATA, .data = "6561726c79");
	SEND(l->p, .mid = DATA, .data = "2121");
	l->s = sk_accept(l);
	sk_read(l->s, "early!!");
	/* a reply needs no RTU either */
	talk(l);
	peer_cmd(l->p, "rtu");
	talk(l);
}

static void lost_rtu(struct link *l)
{
	begin(l);
	link_connect(l);
	link_answer(l);
	peer_cmd(l->p, "rts selfrnr=0");
	usleep(1500 * 1000);	/* the REP comes again and again */
	SEND(l->p, .mid = DATA, .data = "6c617465");
	l->s = sk_accept(l);
	sk_read(l->s, "late");
	talk(l);
}

/* DisConn as the very first thing, ahead of the RTU. */
static void disconn_before_rtu(struct link *l)
{
	begin(l);
	link_connect(l);
	link_answer(l);
	peer_cmd(l->p, "rts selfrnr=0");
	SEND(l->p, .mid = DATA, .data = "627965");
	SEND(l->p, .mid = DISCONN);
	peer_cmd(l->p, "rtu");
	l->s = sk_accept(l);
	sk_read(l->s, "bye");
	sk_eof(l->s);
	sk_write(l->s, "reply");
	sdp_want_text(l->p, WAIT, "reply");
}

/* Given up before it was established: nothing to accept, nothing left behind. */
static void refused_rep(struct link *l)
{
	begin(l);
	link_connect(l);
	link_answer(l);
	peer_cmd(l->p, "rej 28");
	l->p->posted = 0;
	link_connect(l);
	link_answer(l);
	link_ready(l);
	talk(l);
}

/* ---- what a connector is sent ---- */

static void fallback_once(struct link *l)
{
	begin(l);
	l->f.ver = 0x11;
	link_connect(l);	/* refuses 2.2 */
	peer_cmd(l->p, "rej 28");
	want_refused(l);
	peer_silent(l->p, SHORT);
}

static void no_fallback(struct link *l)
{
	begin(l);
	link_connect(l);
	peer_cmd(l->p, "rej 8");
	want_refused(l);
	peer_silent(l->p, SHORT);
}

static void ack_refused(struct link *l)
{
	begin(l);
	bend(l->ack, l->tc->arg, 4);
	link_connect(l);
	link_answer(l);
	want_refused(l);
	want_rej(l->p, 28);
}

static void ack_accepted(struct link *l)
{
	begin(l);
	bend(l->ack, l->tc->arg, 4);
	link_connect(l);
	link_answer(l);
	link_ready(l);
	talk(l);
}

static void req_dropped(struct link *l)
{
	begin(l);
	peer_cmd(l->p, "drop 1");
	l->s = sk_start_connect(l->port);
	peer_want(l->p, WAIT, "req-dropped");
	close(l->s);
	peer_cmd(l->p, "close");
	peer_cmd(l->p, "unlisten");
	link_peer(l);
	peer_cmd(l->p, "drop 2");
	l->s = sk_start_connect(l->port);
	peer_want(l->p, WAIT, "req-dropped");
	peer_want(l->p, WAIT, "req-dropped");
	peer_want(l->p, WAIT, "req");
	sdp_start(l->p, &l->f, 16, 4096);
	link_answer(l);
	link_ready(l);
}

static void connect_timeout(struct link *l)
{
	int err;

	begin(l);
	peer_cmd(l->p, "drop -1");
	l->s = sk_start_connect(l->port);
	err = sk_finish_connect(l->s, 55000);
	if (err != ETIMEDOUT)
		fail("connect: %s, wanted ETIMEDOUT", strerror(err));
}

/* close() while the REQ is out: the other side hears of it. */
static void connect_given_up(struct link *l)
{
	begin(l);
	link_connect(l);
	close(l->s);
	peer_want(l->p, WAIT, "rej");
}

#define BEND(...) ((const struct bend[4]){ __VA_ARGS__ })
#define REF(name, ...) { "hello-refused-" name, hello_refused, "c", NULL, NULL, BEND(__VA_ARGS__) }
#define ACC(name, fl, ...) { "hello-accepted-" name, hello_accepted, "c", fl, NULL, BEND(__VA_ARGS__) }
#define AREF(name, ...) { "helloack-refused-" name, ack_refused, "p", NULL, NULL, BEND(__VA_ARGS__) }
#define AACC(name, fl, ...) { "helloack-accepted-" name, ack_accepted, "p", fl, NULL, BEND(__VA_ARGS__) }

const struct tcase cases_setup[] = {
	{ "T1-new", t1, "cp", NULL, NULL, NULL },
	{ "T1-ofed", t1, "cp", &fl_ofed, NULL, NULL },
	{ "T1-freebsd", t1, "cp", &fl_freebsd, NULL, NULL },
	{ "T1-2005", t1, "cp", &fl_2005, NULL, NULL },

	REF("major-0", { 16, 1, 0x02 }),
	REF("major-3", { 16, 1, 0x32 }),
	REF("maxadverts-0", { 19, 1, 0 }),
	REF("extmaxadverts-0", { 17, 1, 0x42 }),
	REF("bufs-2", { 2, 2, 2 }),
	REF("bufs-0", { 2, 2, 0 }),
	REF("size-36", { 24, 4, 36 }),
	REF("size-0", { 24, 4, 0 }),
	REF("ipv-5", { 17, 1, 0x50 }),
	REF("ipv-0", { 17, 1, 0x00 }),
	REF("len-63", { 4, 4, 63 }),
	REF("len-0", { 4, 4, 0 }),
	REF("mid-1", { 0, 1, 1 }),
	REF("mid-ff", { 0, 1, 0xff }),
	{ "hello-foreign-dst", hello_foreign, "c", NULL, NULL, BEND({ 60, 4, 0x0b0b0b0b }) },
	{ "hello-foreign-src", hello_foreign, "c", NULL, NULL, BEND({ 44, 4, 0x0b0b0b0b }) },
	ACC("minor-0", NULL, { 16, 1, 0x20 }),
	ACC("minor-15", NULL, { 16, 1, 0x2f }),
	ACC("minor-v1", &fl_2005, { 16, 1, 0x1f }),
	ACC("reserved", NULL, { 18, 1, 0xff }, { 30, 2, 0xffff }, { 64, 2, 0xffff }, { 68, 24, 0xff }),
	ACC("reserved-cap", NULL, { 17, 1, 0x4c }),
	ACC("reserved-v1", &fl_2005, { 18, 1, 0xff }, { 17, 1, 0x4f }, { 30, 2, 0xffff }, { 64, 28, 0xff }),
	ACC("extmaxadverts", NULL, { 17, 1, 0x42 }, { 19, 1, 0 }, { 66, 2, 300 }),
	ACC("extmaxadverts-unused", NULL, { 66, 2, 0 }),
	ACC("len-64", NULL, { 4, 4, 64 }),
	ACC("mseq", NULL, { 8, 4, 77 }, { 12, 4, 99 }),
	ACC("bufs-3", NULL, { 2, 2, 3 }),
	{ "no-listener", no_listener, "c", NULL, NULL, NULL },
	{ "backlog-full", backlog_full, "c", NULL, NULL, NULL },
	{ "before-rtu", before_rtu, "c", NULL, NULL, NULL },
	{ "before-rtu-v1", before_rtu, "c", &fl_2005, NULL, NULL },
	{ "lost-rtu", lost_rtu, "c", NULL, NULL, NULL },
	{ "disconn-before-rtu", disconn_before_rtu, "c", NULL, NULL, NULL },
	{ "refused-rep", refused_rep, "c", NULL, NULL, NULL },

	{ "version-fallback-once", fallback_once, "p", NULL, NULL, NULL },
	{ "no-fallback-after-8", no_fallback, "p", NULL, NULL, NULL },
	AREF("major-1", { 16, 1, 0x11 }),
	AREF("major-3", { 16, 1, 0x32 }),
	AREF("maxadverts-0", { 19, 1, 0 }),
	AREF("bufs-2", { 2, 2, 2 }),
	AREF("size-36", { 20, 4, 36 }),
	AREF("len-23", { 4, 4, 23 }),
	AREF("mid-0", { 0, 1, 0 }),
	AACC("minor-0", NULL, { 16, 1, 0x20 }),
	AACC("len-204", NULL, { 4, 4, 204 }),
	AACC("len-24", NULL, { 4, 4, 24 }),
	AACC("reserved", NULL, { 24, 172, 0xff }),
	AACC("reserved-v1", &fl_2005, { 17, 2, 0xffff }, { 24, 172, 0xff }),
	{ "req-dropped", req_dropped, "p", NULL, NULL, NULL },
	{ "connect-given-up", connect_given_up, "p", NULL, NULL, NULL },
	{ "connect-timeout", connect_timeout, "p", NULL, NULL, NULL },
	{ }
};
