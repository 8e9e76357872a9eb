// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SrcAvail answered by a module without zero copy (T3-T6): SendSm for a peer of version 2, RDMA READ into private
 * memory for one of version 1; a cancel at once.
 */
#include "peer_test.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11 };

struct advert {
	uint32_t rkey, len, seq;
	uint64_t va;
	char ext[40];
};

/* Register buffer n, filled with the stream from pos on. */
static struct advert advert(struct link *l, int n, uint32_t pos, uint32_t len)
{
	struct advert a = { .len = len };
	unsigned long long va;

	peer_cmd(l->p, "mr %d %u r", n, len);
	if (sscanf(peer_want(l->p, WAIT, "mr"), "%*d rkey=%x va=%llx", &a.rkey, &va) != 2)
		fail("test: cannot read mr");
	a.va = va;
	peer_cmd(l->p, "setmem %d 0 pat=%d:%u:%u", n, SEED, pos, len);
	snprintf(a.ext, sizeof(a.ext), "%08x%08x%016llx", len, a.rkey, va);
	l->p->seed_out = SEED;
	return a;
}

static void unmr(struct link *l, int n)
{
	peer_cmd(l->p, "flush");
	peer_cmd(l->p, "unmr %d", n);
}

/* SrcAvail with the first n bytes; the rest of the buffer is still to come. */
static void src_avail(struct link *l, struct advert *a, uint32_t n)
{
	char words[64];

	snprintf(words, sizeof(words), "pat=%d:%u:%u", SEED, l->p->pos_out, n);
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = SRC_AVAIL, .ext = a->ext, .data = n ? words : NULL);
	a->seq = l->p->tx_seq;
	l->p->pos_out += n;
}

static uint32_t read_pos;

/* The socket has everything up to here, and it is right. */
static void read_up_to(struct link *l, uint32_t pos)
{
	sk_pattern(l->s, SEED, read_pos, pos - read_pos);
	read_pos = pos;
}

/* Data, read as it comes: the socket need not hold it all. */
static void send_rest(struct link *l, uint32_t n)
{
	while (n) {
		uint32_t k = n < max_payload(l->p) ? n : max_payload(l->p);

		sdp_wait_credit(l->p, 3, WAIT);
		sdp_data(l->p, k);
		read_up_to(l, l->p->pos_out);
		n -= k;
	}
}

/* RdmaRdCompls until n bytes are fetched. */
static void want_read(struct link *l, const struct advert *a, uint32_t n)
{
	while (n) {
		struct msg m = sdp_want(l->p, WAIT, RDMA_RD_COMPL, 0);
		uint32_t k = (uint32_t)m.data[16] << 24 | m.data[17] << 16 | m.data[18] << 8 | m.data[19];

		if (!k)
			fail("RdmaRdCompl of 0 bytes");
		if (k > n)
			fail("RdmaRdCompl of %u bytes, %u are left (R44)", k, n);
		if ((int32_t)(m.ack - a->seq) < 0)
			fail("RdmaRdCompl with MSeqAck %u, the SrcAvail is %u (5.4)", m.ack, a->seq);
		n -= k;
		l->p->pos_out += k;
	}
}

static void no_more_answers(struct peer *p)
{
	struct msg m;

	while (sdp_next(p, SHORT, &m) > 0)
		if (m.mid == SEND_SM || m.mid == RDMA_RD_COMPL)
			fail("one answer too many, message %02x (R48)", m.mid);
	if (p->gone)
		fail("connection ended: %s", p->why);
}

/* T4: the remainder comes as Data, after what came before and before what comes after. */
static void t4(struct link *l)
{
	struct advert a;

	link_up(l);
	l->p->seed_out = SEED;
	sdp_data(l->p, 100);
	a = advert(l, 0, 100, 65536);
	src_avail(l, &a, 4);
	sdp_want(l->p, WAIT, SEND_SM, 0);
	no_more_answers(l->p);
	read_up_to(l, 104);
	/* the memory is free again */
	unmr(l, 0);
	send_rest(l, 65532);
	send_rest(l, 1000);
}

static void t4_pipelined(struct link *l)
{
	struct advert a, b;

	link_up(l);
	SEND(l->p, .mid = MODE_CHANGE, .ext = "20000000");
	a = advert(l, 0, 0, 20000);
	b = advert(l, 1, 20000, 10000);
	src_avail(l, &a, 0);
	sdp_want(l->p, WAIT, SEND_SM, 0);
	send_rest(l, 20000);
	src_avail(l, &b, 0);
	sdp_want(l->p, WAIT, SEND_SM, 0);
	no_more_answers(l->p);
	send_rest(l, 10000);
}

static void want_sendsms(struct peer *p, unsigned int n)
{
	struct msg m;

	while (p->sendsms < n)
		if (sdp_next(p, WAIT, &m) <= 0)
			fail("%u SendSms, wanted %u", p->sendsms, n);
}

/* Two at once: each is refused once, at any time; the data comes in order (R47, R48). */
static void t4_two(struct link *l)
{
	struct advert a, b;

	link_up(l);
	SEND(l->p, .mid = MODE_CHANGE, .ext = "20000000");
	a = advert(l, 0, 0, 5000);
	b = advert(l, 1, 5000, 6000);
	src_avail(l, &a, 0);
	src_avail(l, &b, 0);
	want_sendsms(l->p, 1);
	send_rest(l, 5000);
	want_sendsms(l->p, 2);
	send_rest(l, 6000);
	no_more_answers(l->p);
	if (l->p->sendsms != 2)
		fail("%u SendSms for two SrcAvails (R48)", l->p->sendsms);
}

/* T3 at several sizes and amounts of payload. */
static void t3(struct link *l)
{
	static const struct { uint32_t len, payload; } rows[] = {
		{ 65536, 4 }, { 65536, 1 }, { 2, 1 }, { 100000, 1000 }, { 300000, 1 }, { 4097, 4000 },
	};
	uint32_t pos = 0;

	link_up(l);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct advert a = advert(l, i, pos, rows[i].len);

		src_avail(l, &a, rows[i].payload);
		pos += rows[i].len;
		read_up_to(l, pos);
		want_read(l, &a, rows[i].len - rows[i].payload);
		no_more_answers(l->p);
		unmr(l, i);
		send_rest(l, 10);
		pos += 10;
	}
}

/* T6 */
static void t6(struct link *l)
{
	struct advert a, b;

	link_up(l);
	SEND(l->p, .mid = MODE_CHANGE, .ext = "20000000");
	a = advert(l, 0, 0, 0x20000);
	b = advert(l, 1, 0x20000, 0x10000);
	src_avail(l, &a, 0);
	src_avail(l, &b, 0);
	read_up_to(l, 0x30000);
	want_read(l, &a, 0x20000);
	want_read(l, &b, 0x10000);
	no_more_answers(l->p);
}

/* More than the socket may hold at once: it is fetched as the reader makes room. */
static void read_large(struct link *l)
{
	struct advert a;

	link_up(l);
	for (int i = 0; i < 4; i++) {
		a = advert(l, i, l->p->pos_out, 200000);
		src_avail(l, &a, 1);
		poll(NULL, 0, SHORT);
		read_up_to(l, (i + 1) * 200000);
		want_read(l, &a, 199999);
	}
}

/* READ fails: the advert was a lie. */
static void read_error(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = SRC_AVAIL, .ext = "0001000000001a2b0000000000001000", .data = "61");
	sdp_want_dreq(l->p, WAIT);
}

/*
 * T5: SrcAvail and at once a cancel. The answers may have been on their way: what was read and the payload is
 * delivered, at most one SendSm comes, and it ends the advert.
 */
static void t5(struct link *l)
{
	uint32_t got = 4, cancel, sendsm = 0;
	struct advert a;
	struct msg m;

	link_up(l);
	a = advert(l, 0, 0, 65536);
	src_avail(l, &a, 4);
	l->p->held_ack = true;
	SEND(l->p, .mid = SRC_AVAIL_CANCEL);
	cancel = l->p->tx_seq;
	while (sdp_next(l->p, 3000, &m) > 0) {
		if (m.mid == RDMA_RD_COMPL) {
			if (sendsm)
				fail("RdmaRdCompl after SendSm (R56)");
			got += (uint32_t)m.data[16] << 24 | m.data[17] << 16 | m.data[18] << 8 | m.data[19];
		}
		if (m.mid == SEND_SM) {
			if (sendsm++)
				fail("a second SendSm (R56)");
			if (m.ack < cancel && l->f.ver >> 4 == 1)
				fail("SendSm with MSeqAck %u, the cancel is %u (R56)", m.ack, cancel);
		}
	}
	if (l->p->gone)
		fail("connection ended: %s", l->p->why);
	if (got > 65536)
		fail("RdmaRdCompl for more than there is (R44)");
	if (!sendsm && got != 65536)
		fail("cancel not answered (R59)");
	if (sendsm && got == 65536)
		fail("SendSm after everything was read (R56)");
	unmr(l, 0);
	read_up_to(l, got);
	sk_quiet(l->s, 100);
	l->p->pos_out = got;
	send_rest(l, 500);
}

/* OFED's way: payload up to a page, the rest refused, again and again. */
static void ofed_sends(struct link *l)
{
	uint32_t pos = 0;

	link_up(l);
	for (int i = 0; i < 8; i++) {
		struct advert a = advert(l, i, pos, 100000);
		uint32_t room = l->p->rcvsz - BSDH - 16, n = room < 4096 ? room : 4096;

		src_avail(l, &a, n);
		sdp_want(l->p, WAIT, SEND_SM, 0);
		unmr(l, i);
		send_rest(l, 100000 - n);
		pos += 100000;
	}
}

const struct tcase cases_zcopy[] = {
	{ "T4-sendsm", t4, "cp", NULL, NULL, NULL },
	{ "T4-sendsm-ofed", ofed_sends, "cp", &fl_ofed, NULL, NULL },
	{ "T4-sendsm-pipelined", t4_pipelined, "cp", NULL, NULL, NULL },
	{ "T4-sendsm-two", t4_two, "c", NULL, NULL, NULL },
	{ "T3-read-v1", t3, "cp", &fl_2005, NULL, NULL },
	{ "T6-read-pipelined-v1", t6, "cp", &fl_2005, NULL, NULL },
	{ "read-large-v1", read_large, "c", &fl_2005, NULL, NULL },
	{ "read-error-v1", read_error, "c", &fl_2005, NULL, NULL },
	{ "T5-cancel", t5, "cp", NULL, NULL, NULL },
	{ "T5-cancel-v1", t5, "cp", &fl_2005, NULL, NULL },
	{ }
};
