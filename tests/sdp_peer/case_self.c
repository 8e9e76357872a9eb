// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Two peers and no module under test: the tools themselves. */
#include "peer_test.h"

#include <stdio.h>
#include <string.h>

/* A stream each way at once between two kinds of peers, everything checked at both ends. */
static void stream(struct peer *a, struct peer *b, uint32_t bytes)
{
	struct peer *side[2] = { a, b };
	struct msg m;

	a->pattern = b->pattern = true;
	a->seed_out = b->seed_in = 7;
	b->seed_out = a->seed_in = 90;
	while (a->pos_in < bytes || b->pos_in < bytes) {
		bool moved = false;

		for (int i = 0; i < 2; i++) {
			struct peer *p = side[i];

			while (sdp_credit(p) >= 3 && p->pos_out < bytes) {
				uint32_t n = bytes - p->pos_out;

				sdp_data(p, n < max_payload(p) ? n : max_payload(p));
				moved = true;
			}
			while (sdp_next(p, 0, &m) > 0)
				moved = true;
			if (p->gone)
				fail("connection ended: %s", p->why);
		}
		if (!moved && sdp_next(a, 1, &m) <= 0 && a->gone)
			fail("connection ended: %s", a->why);
	}
	if (a->pos_in != bytes || b->pos_in != bytes)
		fail("%u and %u bytes of %u", a->pos_in, b->pos_in, bytes);
}

static void bulk(struct link *l)
{
	struct peer *a, *b;

	self_up(&a, &b, l->tc->f, l->tc->arg);
	stream(a, b, 1 << 20);
}

static void basics(struct link *l)
{
	struct peer *a, *b;
	unsigned int rkey;
	unsigned long long va;
	char *ev;

	(void)l;
	self_up(&a, &b, &fl_new, &fl_ofed);
	SEND(a, .mid = DATA, .data = "68656c6c6f");
	sdp_want_text(b, WAIT, "hello");
	peer_cmd(b, "mr 3 10000 rw");
	ev = peer_want(b, WAIT, "mr");
	if (sscanf(ev, "3 rkey=%x va=%llx len=10000", &rkey, &va) != 2)
		fail("cannot read mr %s", ev);
	peer_cmd(b, "setmem 3 100 pat=5:0:2000");
	peer_cmd(a, "rdma_read %#x %#llx 2000", rkey, va + 100);
	ev = peer_want(a, WAIT, "read ok");
	if (strncmp(ev, "2000 ", 5))
		fail("read %s", ev);
	peer_cmd(a, "rdma_write %#x %#llx 0a0b0c", rkey, va + 9997);
	peer_cmd(a, "rdma_write 0 0");
	peer_cmd(a, "flush");
	peer_cmd(b, "mem 3 9996 4");
	if (!strstr(peer_want(b, WAIT, "mem"), "000a0b0c"))
		fail("RDMA WRITE did not arrive");
	peer_cmd(b, "unmr 3");
	peer_cmd(a, "rdma_read %#x %#llx 10", rkey, va);
	ev = peer_want(a, WAIT, "read");
	if (!strncmp(ev, "ok", 2))
		fail("RDMA READ of memory that is gone: %s", ev);
}

static void dreq(struct link *l)
{
	struct peer *a, *b;
	struct msg m;

	(void)l;
	self_up(&a, &b, &fl_new, &fl_new);
	SEND(a, .mid = DISCONN);
	peer_cmd(a, "flush");
	peer_cmd(a, "dreq");
	if (sdp_next(b, WAIT, &m) != 1 || m.mid != DISCONN)
		fail("DisConn ahead of the DREQ was not seen first");
	if (sdp_next(b, WAIT, &m) != -1 || !b->dreq)
		fail("no DREQ");
	peer_want(a, WAIT, "drep");
}

/* Not always crossing: b's DREQ may come too late, then it is refused. */
static void crossing_dreq(struct link *l)
{
	struct peer *a, *b;

	(void)l;
	self_up(&a, &b, &fl_new, &fl_new);
	peer_cmd(a, "dreq");
	peer_try(b, "dreq");
	while (!a->timewait || !b->timewait) {
		struct msg m;

		sdp_next(a, 50, &m);
		sdp_next(b, 50, &m);
	}
}

static void drop(struct link *l)
{
	struct link k = { .role = 'p', .f = fl_new };
	struct peer *a;

	(void)l;
	link_peer(&k);
	link_hello(&k);
	a = peer_open();
	peer_cmd(a, "resolve %s %s", opt_addr, opt_addr);
	peer_cmd(k.p, "drop 2");
	peer_cmd(a, "connect %x %s cmto=14", 0x10000 | k.port, hex_of(k.hello, HELLO_LEN));
	peer_want(k.p, WAIT, "req-dropped");
	peer_want(k.p, WAIT, "req-dropped");
	peer_want(k.p, WAIT, "req");
	peer_cmd(k.p, "rej 28");
	if (strcmp(peer_want(a, WAIT, "rej"), "28"))
		fail("no REJ 28");
	peer_cmd(a, "close");
	peer_cmd(k.p, "unlisten");
	peer_cmd(a, "connect %x 00 cmto=14", 0x10000 | k.port);
	if (strcmp(peer_want(a, WAIT, "rej"), "8"))
		fail("no REJ 8");
}

static void lost_rtu(struct link *l)
{
	struct link k = { .role = 'p', .f = fl_new };
	struct peer *a, *b;

	(void)l;
	link_peer(&k);
	link_hello(&k);
	a = peer_open();
	b = k.p;
	sdp_start(a, &fl_new, fl_new.bufs, fl_new.size);
	sdp_start(b, &fl_new, fl_new.bufs, fl_new.size);
	peer_cmd(a, "resolve %s %s", opt_addr, opt_addr);
	sdp_post(a, 16);
	peer_cmd(a, "connect %x %s cmto=14", 0x10000 | k.port, hex_of(k.hello, HELLO_LEN));
	peer_want(b, WAIT, "req");
	sdp_post(b, 16);
	peer_cmd(b, "rep %s", hex_of(k.ack, HELLO_ACK_LEN));
	peer_want(a, WAIT, "rep");
	peer_cmd(a, "rts");
	SEND(a, .mid = DATA, .data = "6869");
	sdp_want_text(b, WAIT, "hi");
	peer_cmd(b, "est");
	SEND(b, .mid = DATA, .data = "686f");
	sdp_want_text(a, WAIT, "ho");
	peer_cmd(a, "rtu");
	peer_cmd(b, "dreq");
	peer_want(a, WAIT, "dreq");
}

static void solicited(struct link *l)
{
	struct link k = { .role = 'p', .f = fl_new };
	struct peer *a = peer_open(), *b;

	(void)l;
	link_peer(&k);
	link_hello(&k);
	b = k.p;
	sdp_start(a, &fl_new, fl_new.bufs, fl_new.size);
	sdp_start(b, &fl_new, fl_new.bufs, fl_new.size);
	peer_cmd(b, "arm solicited");
	peer_cmd(a, "resolve %s %s", opt_addr, opt_addr);
	sdp_post(a, 16);
	peer_cmd(a, "connect %x %s", 0x10000 | k.port, hex_of(k.hello, HELLO_LEN));
	peer_want(b, WAIT, "req");
	sdp_post(b, 16);
	peer_cmd(b, "rep %s", hex_of(k.ack, HELLO_ACK_LEN));
	peer_want(a, WAIT, "rep");
	peer_cmd(a, "rtu");
	peer_want(b, WAIT, "rtu");
	SEND(a, .mid = DATA, .data = "61");
	peer_silent(b, SHORT);
	if (b->solicited)
		fail("a wake-up by an unsolicited message");
	SEND(a, .mid = SEND_SM);
	sdp_want_text(b, WAIT, "a");
	sdp_want(b, WAIT, SEND_SM, 0);
	if (b->solicited != 1)
		fail("%u solicited wake-ups", b->solicited);
}

/* ---- the checker finds what it is for ---- */

static void next_of(void *p)
{
	struct msg m;

	if (sdp_next(p, WAIT, &m) != 1)
		fail("test: nothing came");
}

static void checker(struct link *l)
{
	static const struct { struct tx t; const char *finds; } rows[] = {
		{ { .mid = DATA, .data = "61", .seq_off = 1 }, "R18" },
		{ { .mid = DATA, .data = "61", .len_off = 1 }, "R15" },
		{ { .mid = DATA, .data = "61", .resv = true }, "R16" },
		{ { .mid = DATA, .data = "61", .ack_off = 1 }, "R19" },
		{ { .mid = DATA, .flags = OOB_PRES }, "R17" },
		{ { .mid = SEND_SM, .flags = REQ_PIPE }, "R17" },
		{ { .mid = 0x0f }, "R21" },
		{ { .mid = HELLO }, "R21" },
		{ { .mid = DISCONN, .data = "61" }, "payload" },
		{ { .mid = MODE_CHANGE, .ext = "" }, "too short" },
		{ { .mid = DATA, .data = "fill=0:4090" }, "R32" },
		{ { .mid = DATA, .data = "61", .bufs_off = -1 }, "taken back" },
	};
	struct peer *a, *b;

	(void)l;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		self_up(&a, &b, &fl_new, &fl_2005);
		sdp_send(a, rows[i].t);
		must_fail(next_of, b, rows[i].finds);
		peer_close(a);
		peer_close(b);
	}
	/* payload at the last two credits, then anything without news, then anything at all */
	self_up(&a, &b, &fl_new, &fl_four);
	b->norepost = true;
	for (int i = 0; i < 2; i++) {
		SEND(a, .mid = DATA, .data = "61");
		sdp_want_text(b, WAIT, "a");
	}
	SEND(a, .mid = DATA, .data = "61", .overrun = true);
	must_fail(next_of, b, "R25");
	b->rx_seq++;
	b->heard = (struct told){ 0, 16 };
	SEND(a, .mid = SEND_SM, .overrun = true);
	must_fail(next_of, b, "R24");
	/* the pattern */
	self_up(&a, &b, &fl_new, &fl_2005);
	b->pattern = true;
	SEND(a, .mid = DATA, .data = "pat=0:0:1000 pat=0:1001:1000");
	must_fail(next_of, b, "stream position 0");
}

const struct tcase cases_self[] = {
	{ "self-basics", basics, "s", NULL, NULL, NULL },
	{ "self-checker", checker, "s", NULL, NULL, NULL },
	{ "self-dreq", dreq, "s", NULL, NULL, NULL },
	{ "self-crossing-dreq", crossing_dreq, "s", NULL, NULL, NULL },
	{ "self-drop", drop, "s", NULL, NULL, NULL },
	{ "self-lost-rtu", lost_rtu, "s", NULL, NULL, NULL },
	{ "self-solicited", solicited, "s", NULL, NULL, NULL },
	{ "self-bulk-2005-ofed", bulk, "s", &fl_2005, NULL, &fl_ofed },
	{ "self-bulk-freebsd-new", bulk, "s", &fl_freebsd, NULL, &fl_new },
	{ "self-bulk-four-2005", bulk, "s", &fl_four, NULL, &fl_2005 },
	{ }
};
