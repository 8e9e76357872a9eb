// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A Source written from chapter 5's table, with SrcAvails, cancels and both
 * modes at random, against the core as Sink. The stream must come out exactly
 * once and in order, whatever the mix (R44..R49, R53..R58).
 */
#include <string.h>

#include "peer.h"

#define ADVERTS	8
#define WIRE	64

struct advert {
	u32 len, done;
};

struct message {
	struct msg msg;		/* towards the core */
	struct sdp_tx tx;	/* from it */
	u32 ack;
};

struct source {
	struct sdp_conn sink;
	u64 seed;
	bool v1, pipelined, cancelling;
	struct advert adverts[ADVERTS];
	u32 count;
	u32 cancel_mseq, mseq, credit;
	u32 owed;		/* asked for by SendSm */
	u32 given;		/* bytes that count as given to the Sink */
	u32 got;		/* bytes that the Sink has delivered */
	u32 acked;		/* MSeq of the core's last message seen */
	u32 bufs, core_received;
	struct sdp_read read;
	bool reading;
	struct message out[WIRE], in[WIRE];
	u32 out_head, out_tail, in_head, in_tail;
};

static void say(struct source *src, struct msg msg)
{
	struct message *out = &src->out[src->out_tail++ % WIRE];

	msg.mseq = ++src->mseq;
	CHECK(src->credit >= (msg.payload ? 3 : 2));
	src->credit--;
	out->msg = msg;
	out->ack = src->acked;
}

#define SAY(src, ...) say(src, (struct msg){ .mid = __VA_ARGS__ })

static void advertise(struct source *src)
{
	u32 len = 2 + random_below(&src->seed, 3000), first;

	if (src->cancelling || src->owed || src->credit < 3 ||
	    src->count >= (src->pipelined ? ADVERTS : 1))
		return;
	first = src->pipelined ? 0 : 1 + random_below(&src->seed, len - 1);
	SAY(src, SRC_AVAIL(len, first));
	src->adverts[src->count++] = (struct advert){ len, first };
	src->given += first;
}

static void data(struct source *src)
{
	u32 len = 1 + random_below(&src->seed, 500);

	if (src->credit < 3 || (src->cancelling && !src->owed))
		return;
	if (src->owed)
		len = len < src->owed ? len : src->owed;
	else if (src->count)
		return;
	SAY(src, SDP_MID_DATA, .payload = len);
	src->owed -= src->owed ? len : 0;
	src->given += len;
}

static void change_mode(struct source *src)
{
	if (src->credit < 2 || src->cancelling || src->count || src->owed)
		return;
	SAY(src, SDP_MID_MODE_CHANGE, .exts = 1,
	    .ext = { src->pipelined ? 0x10000000 : 0x20000000 });
	src->pipelined = !src->pipelined;
}

static void cancel(struct source *src)
{
	if (src->credit < 2 || src->cancelling || !src->count)
		return;
	SAY(src, SDP_MID_SRC_CANCEL);
	src->cancelling = true;
	src->cancel_mseq = src->mseq;
}

static void drop_oldest(struct source *src)
{
	src->count--;
	memmove(src->adverts, src->adverts + 1,
		src->count * sizeof(*src->adverts));
	if (!src->count)
		src->cancelling = false;
}

/* The core's messages, as the Source's table of 5.10 has them. */
static void hear(struct source *src)
{
	struct sdp_tx *tx;
	u32 n, rest;

	if (src->in_head == src->in_tail)
		return;
	tx = &src->in[src->in_head++ % WIRE].tx;
	CHECK_EQ(tx_mseq(tx), ++src->acked);
	src->credit = tx_bufs(tx) - (src->mseq - tx_ack(tx));
	CHECK(src->credit <= 0xffff);
	switch (tx->mid) {
	case SDP_MID_DATA:
		break;
	case SDP_MID_RDMA_RD_COMPL:
		CHECK(src->v1);
		CHECK(src->count);
		n = tx_ext(tx, 0);
		rest = src->adverts[0].len - src->adverts[0].done;
		CHECK(n && n <= rest);
		src->adverts[0].done += n;
		src->given += n;
		CHECK(!src->cancelling ||
		      (s32)(tx_ack(tx) - src->cancel_mseq) < 0);
		if (n == rest)
			drop_oldest(src);
		break;
	case SDP_MID_SEND_SM:
		CHECK(src->count);
		if (src->cancelling &&
		    (s32)(tx_ack(tx) - src->cancel_mseq) >= 0) {
			src->count = 0;
			src->cancelling = false;
			break;
		}
		CHECK(!src->v1);
		rest = src->adverts[0].len - src->adverts[0].done;
		/* A withdrawn rest need not come. */
		if (!src->cancelling || random_below(&src->seed, 2) ||
		    src->count > 1)
			src->owed += rest;
		drop_oldest(src);
		break;
	default:
		test_fail(__FILE__, __LINE__, "%s", sdp_mid_name(tx->mid));
	}
}

static void core_hears(struct source *src)
{
	struct message *out;
	struct sdp_rx rx;

	if (src->out_head == src->out_tail)
		return;
	out = &src->out[src->out_head++ % WIRE];
	out->msg.ack_off = out->ack - src->sink.tx_mseq;
	CHECK_EQ(feed_raw(&src->sink, out->msg, &rx), 0);
	sdp_rx_posted(&src->sink, 1);
	src->got += rx.payload;
}

static void core_says(struct source *src)
{
	struct sdp_tx *tx = &src->in[src->in_tail % WIRE].tx;

	if (src->in_tail - src->in_head < WIRE && next(&src->sink, tx))
		src->in_tail++;
}

static void core_reads(struct source *src)
{
	if (src->reading) {
		sdp_read_done(&src->sink, src->read.len);
		src->got += src->read.len;
		src->reading = false;
	} else if (sdp_read_next(&src->sink, 1 + random_below(&src->seed, 2000),
				 &src->read)) {
		CHECK(src->v1);
		src->reading = true;
	}
}

static void step(struct source *src)
{
	switch (random_below(&src->seed, 12)) {
	case 0:
		advertise(src);
		break;
	case 1:
		data(src);
		break;
	case 2:
		if (!random_below(&src->seed, 3))
			cancel(src);
		break;
	case 3:
		if (!random_below(&src->seed, 4))
			change_mode(src);
		break;
	case 4 ... 5:
		hear(src);
		break;
	case 6 ... 7:
		core_hears(src);
		break;
	case 8 ... 9:
		core_says(src);
		break;
	default:
		core_reads(src);
	}
}

static void finish(struct source *src)
{
	for (int i = 0; i < 2000; i++) {
		hear(src);
		core_hears(src);
		core_says(src);
		core_reads(src);
		if (src->owed)
			data(src);
	}
	CHECK_EQ(src->count, 0);
	CHECK(!src->cancelling);
	CHECK_EQ(src->owed, 0);
	CHECK_EQ(src->got, src->given);
	CHECK_EQ(src->sink.adverts, 0);
	CHECK(!src->sink.cancelled);
	CHECK_EQ(src->sink.violation, SDP_V_NONE);
	/* And the two go on talking. */
	CHECK(src->credit >= 3);
	SAY(src, SDP_MID_DATA, .payload = 10);
	core_hears(src);
	CHECK_EQ(src->got, src->given + 10);
}

static void sources(bool v1, u32 buffers)
{
	static struct source src;

	for (u64 seed = 1; seed <= 3000; seed++) {
		memset(&src, 0, sizeof(src));
		src.seed = seed;
		src.v1 = v1;
		conn_up_with(&src.sink, false, v1 ? &peer_v1 : &peer_full,
			     buffers, 64);
		src.credit = buffers;
		for (int i = 0; i < 400; i++)
			step(&src);
		finish(&src);
	}
}

static void v1_small(void)
{
	sources(true, 4);
}

static void v1_large(void)
{
	sources(true, 40);
}

static void v2_small(void)
{
	sources(false, 4);
}

static void v2_large(void)
{
	sources(false, 40);
}

const struct test source_tests[] = {
	{ "source: 3000 random v1.1 Sources, 4 buffers", v1_small },
	{ "source: 3000 random v1.1 Sources, 40 buffers", v1_large },
	{ "source: 3000 random v2.2 Sources, 4 buffers", v2_small },
	{ "source: 3000 random v2.2 Sources, 40 buffers", v2_large },
	{ }
};
