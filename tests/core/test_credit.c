// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Credits and sequence numbers, R18..R32; what is sent when, R78. */
#include <string.h>

#include "peer.h"

static void set_credit(struct sdp_conn *conn, u32 credit)
{
	struct sdp_tx tx;

	while (conn->credit > credit)
		CHECK(next_payload(conn, 1, &tx) || (sdp_shutdown(conn),
		      next(conn, &tx)));
}

/* R22: recomputed from every message, whatever it is. */
static void formula(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_full);
	for (int i = 0; i < 10; i++)
		CHECK(next_payload(&conn, 1, &tx));
	CHECK_EQ(conn.credit, 54);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 30, .ack_off = -4), 0);
	CHECK_EQ(conn.credit, 26);
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL, .bufs = 30, .ack_off = 0), 0);
	CHECK_EQ(conn.credit, 30);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 0xffff, .ack_off = -10), 0);
	CHECK_EQ(conn.credit, 0xffff - 10);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 10, .ack_off = -10), 0);
	CHECK_EQ(conn.credit, 0);
}

/* R23..R26 for payload, a control message and an update. */
static void reserve(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_full, 64, 3);
	CHECK(next_payload(&conn, 9, &tx));
	CHECK(tx.payload);
	CHECK_EQ(conn.credit, 2);
	CHECK(!next_payload(&conn, 9, &tx));
	CHECK(sdp_tx_starved(&conn));
	/* Control goes with two... */
	CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_CH_RCV_BUF, .exts = 1,
			  .ext = { 1 }, .bufs = 2 }, NULL), 0);
	sdp_resize(&conn, conn.rcv_size);
	CHECK_EQ(conn.credit, 2);
	CHECK(next_payload(&conn, 9, &tx));
	CHECK_EQ(tx.mid, SDP_MID_CH_RCV_BUF_ACK);
	CHECK(!tx.payload);
	CHECK_EQ(conn.credit, 1);
	/* ... with one only if it brings news, ... */
	CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_CH_RCV_BUF, .exts = 1,
			  .ext = { 1 }, .bufs = 1 }, NULL), 0);
	sdp_resize(&conn, conn.rcv_size);
	CHECK_EQ(conn.credit, 1);
	CHECK(!next_payload(&conn, 9, &tx));
	sdp_rx_posted(&conn, 1);
	CHECK(next_payload(&conn, 9, &tx));
	CHECK_EQ(tx.mid, SDP_MID_CH_RCV_BUF_ACK);
	/* ... with none never. */
	CHECK_EQ(conn.credit, 0);
	sdp_rx_posted(&conn, 500);
	CHECK(!next_payload(&conn, 9, &tx));
}

static void wrap(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_full);
	conn.tx_mseq = 0xfffffffe;
	conn.rx_mseq = 0xfffffffe;
	conn.rx_started = true;
	conn.posted = 20;
	conn.received = 0xffffffec;	/* these wrap, too */
	conn.granted = 40;
	CHECK(next_payload(&conn, 1, &tx));
	CHECK_EQ(tx_mseq(&tx), 0xffffffff);
	CHECK_EQ(tx_bufs(&tx), 40);
	CHECK(next_payload(&conn, 1, &tx));
	CHECK_EQ(tx_mseq(&tx), 0);
	CHECK_EQ(feed_hex(&conn, "ff000040 00000010 ffffffff fffffffe", 0,
			  NULL), 0);
	CHECK_EQ(conn.credit, 62);
	CHECK_EQ(feed_hex(&conn, "ff000040 00000010 00000000 00000000", 0,
			  NULL), 0);
	CHECK_EQ(conn.credit, 64);
	CHECK_EQ(feed_hex(&conn, "ff000040 00000010 00000001 00000001", 0,
			  NULL), -71);
	CHECK_EQ(conn.violation, SDP_V_R20);
}

/* A cancel numbered 0, held back to 0xffffffff. */
static void wrap_cancel(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_v1);
	conn.rx_mseq = 0xfffffffe;
	conn.rx_started = true;
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(sdp_read_next(&conn, 50, &read));
	CHECK_EQ(feed_hex(&conn, "08000040 00000010 00000000 00000000", 0,
			  NULL), 0);
	sdp_read_done(&conn, 50);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(tx_ack(&tx), 0xffffffff);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	CHECK_EQ(tx_ack(&tx), 0);
}

/* Consume @n buffers with payload that nobody reads. */
static void stall(struct sdp_conn *conn, u32 n)
{
	while (n--)
		CHECK_EQ(feed_raw(conn, (struct msg){ .mid = SDP_MID_DATA,
						      .payload = 1 }, NULL), 0);
}

/* R27, 3.6: when an update is due, and when it is not. */
static void updates(void)
{
	struct sdp_conn conn;

	conn_up_with(&conn, true, &peer_full, 8, 64);
	stall(&conn, 5);
	expect_quiet(&conn);		/* nothing to tell */
	sdp_rx_posted(&conn, 1);
	expect_quiet(&conn);		/* 3 granted, 1 new */
	sdp_rx_posted(&conn, 1);
	expect_mid(&conn, SDP_MID_DATA);	/* 2 >= max(2, 5 / 2) */
	CHECK_EQ(conn.granted, 5);
	expect_quiet(&conn);
	stall(&conn, 3);
	CHECK_EQ(conn.granted, 2);
	expect_quiet(&conn);
	sdp_rx_posted(&conn, 1);
	expect_mid(&conn, SDP_MID_DATA);	/* two left: any news */
	stall(&conn, 1);
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL_ACK), 0);
	CHECK_EQ(conn.granted, 1);
	expect_mid(&conn, SDP_MID_DATA);	/* one left: R27 */
	expect_quiet(&conn);
}

/* No update goes without credit, and it goes once there is some. */
static void update_waits(void)
{
	struct sdp_conn conn;

	conn_up_with(&conn, true, &peer_full, 4, 3);
	set_credit(&conn, 2);
	stall(&conn, 2);
	conn.credit = 0;
	sdp_rx_posted(&conn, 2);
	expect_quiet(&conn);
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL_ACK, .bufs = 1), 0);
	CHECK(conn.actions & SDP_ACT_PUSH);
	expect_mid(&conn, SDP_MID_DATA);
}

/* R31: with three buffers every second empty Data is answered, not each. */
static void three_buffers(void)
{
	struct sdp_conn conn;

	conn_up_with(&conn, true, &peer_full, 3, 3);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 3), 0);
	expect_quiet(&conn);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 3), 0);
	expect_mid(&conn, SDP_MID_DATA);
	expect_quiet(&conn);
	/* A message that is not empty gets its update at once. */
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL, .bufs = 3), 0);
	expect_mid(&conn, SDP_MID_DATA);
	/* So with 64 buffers of which a stalled reader leaves three. */
	conn_up_with(&conn, true, &peer_full, 64, 64);
	stall(&conn, 61);
	CHECK_EQ(conn.granted, 3);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	expect_quiet(&conn);
	/* The guard does not keep back what a reader frees. */
	sdp_rx_posted(&conn, 1);
	expect_mid(&conn, SDP_MID_DATA);
	/* A small peer is not starved by an end that has many. */
	conn_up_with(&conn, true, &peer_full, 64, 3);
	stall(&conn, 61);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 3), 0);
	sdp_rx_posted(&conn, 61);
	expect_mid(&conn, SDP_MID_DATA);
}

/* More buffers than 16 bits can tell: no update for ever, none missing. */
static void many_buffers(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;
	u32 sent = 0;

	conn_up_with(&conn, true, &peer_full, 70000, 64);
	CHECK_EQ(conn.granted, 0xffff);
	expect_quiet(&conn);
	for (u32 i = 0; i < 66000; i++) {
		CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_DATA,
						       .payload = 1 }, NULL), 0);
		if (conn.posted - conn.received < 30000)
			sdp_rx_posted(&conn, 40000);
		while (next(&conn, &tx)) {
			u32 have = conn.posted - conn.received;

			CHECK_EQ(tx_bufs(&tx), have < 65535 ? have : 65535);
			CHECK(++sent < 20);
		}
		CHECK(conn.granted > 2);
	}
	CHECK(sent > 0);
}

/* 3.3, 5.7: what is granted while MSeqAck is held back. */
static void held(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_v1, 4, 64);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	sdp_rx_posted(&conn, 1);
	CHECK(sdp_read_next(&conn, 96, &read));
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL), 0);
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL), 0);
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL), 0);
	/* The peer has used all four. Nothing that is held tells it of more. */
	CHECK_EQ(conn.granted, 0);
	sdp_rx_posted(&conn, 1);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_DATA);
	CHECK_EQ(tx_ack(&tx), 1);
	CHECK_EQ(tx_bufs(&tx), 5);
	CHECK_EQ(conn.granted, 5 - 3);
	expect_quiet(&conn);
	/* All was read: no SendSm, and the peer must learn of its credits. */
	sdp_read_done(&conn, 96);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(tx_ack(&tx), 1);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_DATA);
	CHECK_EQ(tx_ack(&tx), 4);
	CHECK_EQ(tx_bufs(&tx), 5);
	expect_quiet(&conn);
}

/* A held MSeqAck with buffers not posted again would take credits back. */
static void held_unposted(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_v1, 4, 64);
	CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SRC_AVAIL(100, 4) }, NULL), 0);
	CHECK(sdp_read_next(&conn, 50, &read));
	CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_SRC_CANCEL }, NULL), 0);
	sdp_read_done(&conn, 50);
	CHECK(!next_payload(&conn, 5, &tx));
	sdp_rx_posted(&conn, 1);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	CHECK_EQ(tx_ack(&tx), 2);
	CHECK_EQ(tx_bufs(&tx), 3);
}

/* 3.6: the persist timer spends the second credit, and only that. */
static void probe(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_full, 64, 2);
	sdp_probe(&conn);
	CHECK(conn.actions & SDP_ACT_PUSH);
	expect_quiet(&conn);		/* nothing queued */
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_DATA);
	CHECK(!tx.payload);
	CHECK_EQ(tx_len(&tx), 16);
	CHECK(!next_payload(&conn, 5, &tx));
	sdp_probe(&conn);
	CHECK(!next_payload(&conn, 5, &tx));	/* the last credit stays */
	/* With credits the payload itself goes. */
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 3), 0);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK(tx.payload);
	/* Our own reader stalled: the answer would oblige us in turn. */
	conn_up_with(&conn, true, &peer_full, 64, 2);
	stall(&conn, 62);
	conn.credit = 2;
	sdp_probe(&conn);
	CHECK(!next_payload(&conn, 5, &tx));
}

/* Both readers stalled: an empty Data is answered by the timer, no other. */
static void deferred(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_full, 64, 64);
	stall(&conn, 62);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 2), 0);
	CHECK_EQ(conn.granted, 1);
	expect_quiet(&conn);
	CHECK(!next_payload(&conn, 5, &tx));
	CHECK(sdp_update_deferred(&conn));
	sdp_probe(&conn);
	CHECK(!sdp_update_deferred(&conn));
	expect_mid(&conn, SDP_MID_DATA);
	CHECK(!sdp_update_deferred(&conn));
	/* What a reader frees is told at once. */
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 2), 0);
	expect_quiet(&conn);
	sdp_rx_posted(&conn, 1);
	expect_mid(&conn, SDP_MID_DATA);
	/* The peer is not stalled: no chain, so no delay. */
	conn_up_with(&conn, true, &peer_full, 64, 64);
	stall(&conn, 62);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 64), 0);
	expect_mid(&conn, SDP_MID_DATA);
	/* Not an empty Data: R27 at once. */
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL, .bufs = 2), 0);
	CHECK_EQ(conn.granted, 1);
	expect_mid(&conn, SDP_MID_DATA);
	/* None left at all: at once. */
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 2), 0);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 2), 0);
	CHECK_EQ(conn.granted, 0);
	expect_mid(&conn, SDP_MID_DATA);
}

/* R30, R65: what counts as payload. */
static void counters(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_full);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	CHECK(!(conn.actions & SDP_ACT_READABLE));
	CHECK_EQ(FEED(&conn, SDP_MID_SINK_CANCEL), 0);
	CHECK_EQ(conn.nd, 0);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 3), 0);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK_EQ(conn.nd, 2);
	expect_mid(&conn, SDP_MID_SEND_SM);
	CHECK_EQ(conn.pnd, 0);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(conn.pnd, 1);
	conn.pnd = 0xffffffff;
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(conn.pnd, 0);
}

const struct test credit_tests[] = {
	{ "credit: the formula (R22)", formula },
	{ "credit: the reserve of two (R23-R26)", reserve },
	{ "credit: MSeq, MSeqAck and counts wrap", wrap },
	{ "credit: a cancel at the wrap", wrap_cancel },
	{ "credit: when an update is due (R27)", updates },
	{ "credit: an update waits for credit", update_waits },
	{ "credit: three buffers do not play ping-pong (R31)", three_buffers },
	{ "credit: more than 65535 buffers", many_buffers },
	{ "credit: held MSeqAck, then the obligation (R27, R55)", held },
	{ "credit: held MSeqAck never takes credits back", held_unposted },
	{ "credit: the window probe", probe },
	{ "credit: an update between stalled readers waits", deferred },
	{ "credit: ND and PND (R30, R64, R65)", counters },
	{ }
};

/* ---- Nagle, cork, urgent ------------------------------------------------ */

static bool sent(struct sdp_tx_queue queue)
{
	struct sdp_conn conn;
	struct sdp_tx tx;
	bool yes;

	conn_up(&conn, true, &peer_full);
	yes = sdp_tx_next(&conn, &queue, &tx);
	if (yes) {
		CHECK(tx.payload);
		CHECK_EQ(tx_len(&tx), 16 + queue.payload);
		CHECK_EQ(tx.solicited, queue.urgent);
		CHECK_EQ(tx.header[1], queue.urgent ? 3 : 0);
	}
	return yes;
}

#define SENT(...) sent((struct sdp_tx_queue){ .payload = 7, __VA_ARGS__ })

static void nagle(void)
{
	CHECK(SENT(.in_flight = false));
	CHECK(!SENT(.in_flight = true));
	CHECK(SENT(.in_flight = true, .nodelay = true));
	CHECK(SENT(.in_flight = true, .full = true));
	CHECK(SENT(.in_flight = true, .more = true));
	CHECK(SENT(.in_flight = true, .urgent = true));
}

static void cork(void)
{
	CHECK(!SENT(.cork = true));
	CHECK(!SENT(.cork = true, .nodelay = true));
	CHECK(SENT(.cork = true, .full = true));
	CHECK(SENT(.cork = true, .more = true));
	CHECK(SENT(.cork = true, .urgent = true));
}

/* What is corked goes before the DisConn, the DisConn after all of it. */
static void fin_behind_queue(void)
{
	struct sdp_tx_queue queue = { .payload = 7, .cork = true,
				      .in_flight = true };
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_full);
	sdp_shutdown(&conn);
	CHECK(sdp_tx_next(&conn, &queue, &tx));
	CHECK(tx.payload);
	queue.payload = 0;
	CHECK(sdp_tx_next(&conn, &queue, &tx));
	CHECK_EQ(tx.mid, SDP_MID_DISCONN);
	queue.payload = 5;
	CHECK(!sdp_tx_next(&conn, &queue, &tx));	/* R79 */
	/* Starved payload keeps the DisConn back, too. */
	conn_up_with(&conn, true, &peer_full, 64, 2);
	sdp_shutdown(&conn);
	CHECK(!sdp_tx_next(&conn, &queue, &tx));
	queue.payload = 0;
	CHECK(sdp_tx_next(&conn, &queue, &tx));
	CHECK_EQ(tx.mid, SDP_MID_DISCONN);
}

static void before_established(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	for (int active = 0; active < 2; active++) {
		sdp_conn_init(&conn);
		sdp_conn_start(&conn, active, 0x2000);
		sdp_rx_posted(&conn, 9);
		sdp_conn_peer(&conn, &peer_full);
		sdp_rx_posted(&conn, 100);
		CHECK(!next_payload(&conn, 5, &tx));
		CHECK(!sdp_tx_starved(&conn));
		sdp_established(&conn);
		CHECK(conn.actions & SDP_ACT_PUSH);
		CHECK(next_payload(&conn, 5, &tx));
	}
}

/* Answers overtake payload; an update rides on payload. */
static void order(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up(&conn, true, &peer_full);
	CHECK_EQ(FEED(&conn, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 1 }), 0);
	sdp_resize(&conn, conn.rcv_size);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	sdp_grow_peer(&conn);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_CH_RCV_BUF_ACK);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_CH_RCV_BUF);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK(tx.payload);
	stall(&conn, 30);
	sdp_rx_posted(&conn, 100);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK(tx.payload);
	expect_quiet(&conn);
}

const struct test send_tests[] = {
	{ "send: Nagle", nagle },
	{ "send: cork", cork },
	{ "send: DisConn behind queued payload (R79)", fin_behind_queue },
	{ "send: nothing before the connection is up", before_established },
	{ "send: the order of messages", order },
	{ }
};
