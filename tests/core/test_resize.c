// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ChRcvBuf: R91..R93 and the units of 9.1. */
#include "peer.h"

static void ask(struct sdp_conn *conn, u32 size)
{
	CHECK_EQ(FEED(conn, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { size }), 0);
	CHECK(conn->actions & SDP_ACT_RESIZE);
	CHECK_EQ(conn->resize_to, size);
}

static void expect_ack(struct sdp_conn *conn, u32 size)
{
	struct sdp_tx tx;

	CHECK(next(conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_CH_RCV_BUF_ACK);
	CHECK_EQ(tx_ext(&tx, 0), size);
	CHECK(!tx.solicited);
}

/* Growing: the answer waits until the last old buffer is consumed. */
static void grow(void)
{
	struct sdp_conn conn;

	conn_up_with(&conn, true, &peer_full, 4, 64);
	ask(&conn, 0xf000);
	sdp_resize(&conn, 0xf000);
	CHECK(!(conn.actions & SDP_ACT_RESIZE));
	sdp_rx_posted(&conn, 20);
	/* Five old ones: one was posted for the ChRcvBuf's own buffer. */
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(conn.rcv_size, 0x8010);
		while (next(&conn, &(struct sdp_tx){ 0 }))
			;
		CHECK(!conn.resize_ack);
		CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 0x8000), 0);
	}
	CHECK_EQ(conn.rcv_size, 0xf000);
	expect_ack(&conn, 0xf000);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 0xf000 - 16), 0);
	/* The next request is answered, too. */
	ask(&conn, 0xf001);
	sdp_resize(&conn, 0xf000);
	expect_ack(&conn, 0xf000);
}

static void refuse_and_shrink(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_full);
	ask(&conn, 0xf000);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8010);
	ask(&conn, 0x1000);
	sdp_resize(&conn, 0x2000);
	expect_ack(&conn, 0x2000);
	/* What is posted is still large. */
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 0x8000), 0);
	ask(&conn, 0);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x2000);
	ask(&conn, 0xffffffff);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x2000);
}

/* OFED's request of whole pages is answered in payload bytes, only that. */
static void units(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_ofed);
	ask(&conn, 0x10000);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8000);
	ask(&conn, 0x10010);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8010);
	conn_up(&conn, true, &peer_copy);
	ask(&conn, 0x10000);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8000);
	conn_up(&conn, true, &peer_full);
	ask(&conn, 0xf000);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8010);
	/* The spare bytes behind a grown buffer may be used. */
	conn_up_with(&conn, true, &peer_ofed, 4, 64);
	ask(&conn, 0xf000);
	sdp_resize(&conn, 0xf000);
	CHECK_EQ(conn.rcv_limit, 0xf000 + SDP_RCV_SPARE);
}

/* The caller may clear the actions before it decides; messages go on. */
static void decided_late(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_full);
	ask(&conn, 0xf000);
	conn.actions = 0;
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	expect_quiet(&conn);
	CHECK_EQ(conn.rcv_size, 0x8010);
	sdp_resize(&conn, conn.rcv_size);
	expect_ack(&conn, 0x8010);
}

static void own_request(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_full);
	sdp_grow_peer(&conn);
	sdp_grow_peer(&conn);
	expect_mid(&conn, SDP_MID_CH_RCV_BUF);
	sdp_grow_peer(&conn);
	expect_quiet(&conn);		/* one at a time */
	CHECK_EQ(sdp_tx_room(&conn), 0x2000 - 16);
	CHECK_EQ(FEED(&conn, SDP_MID_CH_RCV_BUF_ACK, .exts = 1,
		      .ext = { 0x4000 }), 0);
	CHECK_EQ(sdp_tx_room(&conn), 0x4000 - 16);
	sdp_grow_peer(&conn);
	expect_mid(&conn, SDP_MID_CH_RCV_BUF);
	CHECK_EQ(FEED(&conn, SDP_MID_CH_RCV_BUF_ACK, .exts = 1,
		      .ext = { 0x4000 }), 0);
	sdp_grow_peer(&conn);
	expect_quiet(&conn);		/* refused: never again (R92) */
	CHECK_EQ(sdp_tx_room(&conn), 0x4000 - 16);

	conn_up(&conn, true, &peer_full);
	sdp_grow_peer(&conn);
	sdp_shutdown(&conn);
	expect_mid(&conn, SDP_MID_DISCONN);
	expect_quiet(&conn);
}

static void not_asked(void)
{
	const struct sdp_params * const peers[] = { &peer_v1, &peer_ofed,
						    &peer_copy };
	struct sdp_params big = peer_full;
	struct sdp_conn conn;

	for (int i = 0; i < 3; i++) {
		conn_up(&conn, true, peers[i]);
		sdp_grow_peer(&conn);
		expect_quiet(&conn);
	}
	big.rcv_size = SDP_MAX_RCV_SIZE;
	conn_up(&conn, true, &big);
	sdp_grow_peer(&conn);
	expect_quiet(&conn);
}

/* R93: requests cross; the accepting end's wins, the other repeats its own. */
static void cross(void)
{
	struct sdp_conn a, b;

	conn_up(&a, true, &peer_full);
	conn_up(&b, false, &peer_full);
	sdp_grow_peer(&a);
	sdp_grow_peer(&b);
	expect_mid(&a, SDP_MID_CH_RCV_BUF);
	expect_mid(&b, SDP_MID_CH_RCV_BUF);
	CHECK_EQ(FEED(&a, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 0xf000 },
		      .ack_off = -1), 0);
	CHECK_EQ(FEED(&b, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 0xf000 },
		      .ack_off = -1), 0);
	CHECK(a.actions & SDP_ACT_RESIZE);
	CHECK(!(b.actions & SDP_ACT_RESIZE));
	expect_quiet(&a);		/* its own waits behind the answer */
	expect_quiet(&b);
	sdp_resize(&a, a.rcv_size);
	expect_ack(&a, 0x8010);
	expect_mid(&a, SDP_MID_CH_RCV_BUF);
	CHECK_EQ(FEED(&b, SDP_MID_CH_RCV_BUF_ACK, .exts = 1,
		      .ext = { 0x8010 }), 0);
	CHECK(!b.grow_sent);
	ask(&b, 0xf000);
	sdp_resize(&b, b.rcv_size);
	expect_ack(&b, 0x8010);
}

/* Both ask, one having seen the other's request: both are answered. */
static void not_crossed(void)
{
	struct sdp_conn b;

	for (int active = 0; active < 2; active++) {
		conn_up(&b, active, &peer_full);
		sdp_grow_peer(&b);
		expect_mid(&b, SDP_MID_CH_RCV_BUF);
		ask(&b, 0xf000);
		sdp_resize(&b, b.rcv_size);
		expect_ack(&b, 0x8010);
		CHECK_EQ(FEED(&b, SDP_MID_CH_RCV_BUF_ACK, .exts = 1,
			      .ext = { 0xf000 }), 0);
		CHECK_EQ(b.peer_rcv_size, 0xf000);
		expect_quiet(&b);
	}
}

const struct test resize_tests[] = {
	{ "resize: grown when the old buffers are consumed", grow },
	{ "resize: refused and shrunk at once", refuse_and_shrink },
	{ "resize: units of the answer", units },
	{ "resize: decided late", decided_late },
	{ "resize: our own request (R91, R92)", own_request },
	{ "resize: who is not asked", not_asked },
	{ "resize: requests cross (R93)", cross },
	{ "resize: requests that do not cross", not_crossed },
	{ }
};
