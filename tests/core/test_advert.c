// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The Sink of SrcAvails: R44..R59 beyond the traces. */
#include "peer.h"

static void up_pipelined(struct sdp_conn *conn, const struct sdp_params *peer)
{
	conn_up(conn, false, peer);
	CHECK_EQ(FEED(conn, SDP_MID_MODE_CHANGE, .exts = 1,
		      .ext = { 0x20000000 }), 0);
}

/* Three READs outstanding in turn, the cancel meets the second. */
static void cancel_among_many(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	up_pipelined(&conn, &peer_v1);
	for (u32 i = 1; i <= 3; i++)
		CHECK_EQ(FEED(&conn, SRC_AVAIL(i * 100, 0)), 0);
	CHECK(sdp_read_next(&conn, 1000, &read));
	CHECK_EQ(read.len, 100);
	sdp_read_done(&conn, 100);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx_ext(&tx, 0), 100);
	CHECK(sdp_read_next(&conn, 1000, &read));
	CHECK_EQ(read.len, 200);
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL), 0);
	sdp_read_done(&conn, 200);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(tx_ext(&tx, 0), 200);
	CHECK_EQ(tx_ack(&tx), conn.cancel_mseq - 1);
	CHECK(!sdp_read_next(&conn, 1000, &read));
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	CHECK_EQ(tx_ack(&tx), conn.rx_mseq);
	expect_quiet(&conn);
	CHECK_EQ(conn.adverts, 0);
	/* And life goes on: the ring of adverts is intact. */
	for (int i = 0; i < SDP_MAX_ADVERTS; i++)
		CHECK_EQ(FEED(&conn, SRC_AVAIL(10, 0)), 0);
	for (int i = 0; i < SDP_MAX_ADVERTS; i++) {
		CHECK(sdp_read_next(&conn, 1000, &read));
		CHECK_EQ(read.len, 10);
		sdp_read_done(&conn, 10);
		CHECK(next(&conn, &tx));
		CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	}
}

/* The RdmaRdCompl that ends a cancel by completing everything (R56, R58). */
static void cancel_completed(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up(&conn, false, &peer_v1);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(sdp_read_next(&conn, 1000, &read));
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL), 0);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	sdp_read_done(&conn, 96);
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(tx_ext(&tx, 0), 96);
	CHECK_EQ(tx_ack(&tx), 1);
	CHECK(!conn.cancelled);
	expect_quiet(&conn);
	/* The next message acknowledges all; the next SrcAvail is welcome. */
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx_ack(&tx), 3);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(sdp_read_next(&conn, 1000, &read));
}

/* Everything that is sent meanwhile stays below the cancel (R55). */
static void cancel_held(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up(&conn, false, &peer_v1);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(sdp_read_next(&conn, 50, &read));
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL), 0);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	for (int i = 0; i < 5; i++) {
		CHECK(next_payload(&conn, 5, &tx));
		CHECK(tx.payload);
		CHECK_EQ(tx_ack(&tx), 1);
		CHECK_EQ(FEED(&conn, SDP_MID_DATA), 0);
	}
	sdp_read_done(&conn, 50);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(tx_ack(&tx), 1);
	CHECK(next_payload(&conn, 5, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	CHECK_EQ(tx_ack(&tx), conn.rx_mseq);
}

/* Without credit the answers wait, and nothing is lost or doubled. */
static void cancel_without_credit(void)
{
	struct sdp_conn conn;
	struct sdp_read read;
	struct sdp_tx tx;

	conn_up(&conn, false, &peer_v1);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(sdp_read_next(&conn, 50, &read));
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL, .bufs = 1), 0);
	sdp_read_done(&conn, 50);
	conn.credit = 0;
	expect_quiet(&conn);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .bufs = 2), 0);
	expect_mid(&conn, SDP_MID_RDMA_RD_COMPL);
	CHECK_EQ(conn.credit, 1);
	/* SendSm acknowledges what was held: that is news (3.5). */
	CHECK(next(&conn, &tx));
	CHECK_EQ(tx.mid, SDP_MID_SEND_SM);
	expect_quiet(&conn);
}

/* R54, 5.5: our SendSm crosses the cancel; the rest may never come. */
static void cancel_crosses_refusal(void)
{
	struct sdp_conn conn;

	conn_up(&conn, false, &peer_ofed);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	expect_mid(&conn, SDP_MID_SEND_SM);
	CHECK_EQ(FEED(&conn, SDP_MID_SRC_CANCEL, .ack_off = -1), 0);
	expect_quiet(&conn);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	expect_mid(&conn, SDP_MID_SEND_SM);
	/* This time it comes, and more behind it. */
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 200), 0);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
}

/* R90, R89: an advert that is not served is unread data. */
static void closed_with_advert(void)
{
	struct sdp_conn conn;

	conn_up(&conn, false, &peer_v1);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	conn.actions = 0;
	sdp_close_rx(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	CHECK_EQ(conn.violation, SDP_V_NONE);
}

static void no_memory(void)
{
	struct sdp_conn conn;
	struct sdp_read read;

	conn_up(&conn, false, &peer_v1);
	CHECK(!sdp_read_next(&conn, 1000, &read));
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	CHECK(!sdp_read_next(&conn, 0, &read));
	CHECK(sdp_read_next(&conn, 1, &read));
	CHECK_EQ(read.len, 1);
	sdp_abort(&conn, 104);
	conn.reading = false;
	CHECK(!sdp_read_next(&conn, 1, &read));
}

const struct test advert_tests[] = {
	{ "advert: cancel among several, Pipelined", cancel_among_many },
	{ "advert: the READ completes all that was cancelled", cancel_completed },
	{ "advert: MSeqAck held back (R55)", cancel_held },
	{ "advert: cancel answered without credit", cancel_without_credit },
	{ "advert: cancel crosses our SendSm", cancel_crosses_refusal },
	{ "advert: close with an advert unserved (R89)", closed_with_advert },
	{ "advert: READs need memory and a live connection", no_memory },
	{ }
};
