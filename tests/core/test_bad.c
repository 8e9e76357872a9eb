// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every rule whose violation ends a connection, provoked; and what looks odd
 * and must not end it (8.6, R96).
 */
#include <errno.h>
#include <string.h>

#include "peer.h"

static bool provoked[SDP_V_COUNT];

static void judge(const struct sdp_conn *conn, int err,
		  enum sdp_violation violation, int line)
{
	if (conn->violation != violation || err != -EPROTO)
		test_fail(__FILE__, line, "%d for %s, not %s", err,
			  sdp_violation_name(conn->violation),
			  sdp_violation_name(violation));
	CHECK_EQ(conn->state, SDP_CLOSE);
	CHECK_EQ(conn->err, ECONNRESET);
	CHECK(conn->actions & SDP_ACT_FAIL);
	CHECK(conn->actions & SDP_ACT_DISCONNECT);
	provoked[violation] = true;
}

/* @message ends @conn, for the reason @rule. */
#define BAD(conn, rule, ...)						\
	judge(&(conn), feed_raw(&(conn), (struct msg){ .mid = __VA_ARGS__ }, NULL), \
	      SDP_V_##rule, __LINE__)
#define GOOD(conn, ...)							\
	CHECK_EQ(feed(&(conn), (struct msg){ .mid = __VA_ARGS__ }, NULL), 0)

static struct sdp_conn up(const struct sdp_params *peer)
{
	struct sdp_conn conn;

	conn_up(&conn, true, peer);
	return conn;
}

static struct sdp_conn pipelined(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x20000000 });
	return conn;
}

static void bad_length(void)
{
	static const u8 mids[] = { SDP_MID_DISCONN, SDP_MID_ABORT,
		SDP_MID_SEND_SM, SDP_MID_SRC_CANCEL, SDP_MID_SINK_CANCEL,
		SDP_MID_SINK_CANCEL_ACK, SDP_MID_SUSP_COMM_ACK };
	static const u8 ext_mids[] = { SDP_MID_RDMA_WR_COMPL,
		SDP_MID_RDMA_RD_COMPL, SDP_MID_MODE_CHANGE, SDP_MID_CH_RCV_BUF,
		SDP_MID_CH_RCV_BUF_ACK };
	struct sdp_conn conn = up(&peer_full);
	struct sdp_rx rx;
	u8 bytes[16] = { 0xff };

	for (u32 len = 0; len < 16; len++) {
		conn = up(&peer_full);
		judge(&conn, sdp_rx(&conn, bytes, len, &rx), SDP_V_R15,
		      __LINE__);
	}
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_DATA, .len = 17);
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_DATA, .payload = 5, .len = 20);
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_DATA, .payload = 5, .len = 0xffffffff);
	for (u32 i = 0; i < sizeof(mids); i++) {
		conn = up(&peer_full);
		BAD(conn, R15, mids[i], .payload = 1);
	}
	for (u32 i = 0; i < sizeof(ext_mids); i++) {
		conn = up(&peer_full);
		BAD(conn, R15, ext_mids[i]);
		conn = up(&peer_full);
		BAD(conn, R15, ext_mids[i], .payload = 3);
		conn = up(&peer_full);
		BAD(conn, R15, ext_mids[i], .exts = 1, .payload = 1);
	}
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_SRC_AVAIL, .exts = 3, .payload = 3);
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_SINK_AVAIL, .exts = 4);
	conn = up(&peer_full);
	BAD(conn, R15, SDP_MID_SUSP_COMM, .exts = 1);
}

static void bad_too_long(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_DATA, .payload = 0x8000);
	conn = up(&peer_full);
	BAD(conn, R32, SDP_MID_DATA, .payload = 0x8001);
}

static void bad_mseq(void)
{
	struct sdp_conn conn = up(&peer_full);

	BAD(conn, R18, SDP_MID_DATA, .mseq = 2);
	conn = up(&peer_full);
	BAD(conn, R18, SDP_MID_DATA, .mseq = 0xffffffff);
	conn = up(&peer_full);
	GOOD(conn, SDP_MID_DATA);
	BAD(conn, R18, SDP_MID_DATA, .mseq = 1);
	conn = up(&peer_full);
	GOOD(conn, SDP_MID_DATA);
	BAD(conn, R18, SDP_MID_DATA, .mseq = 3);
}

static void bad_ack(void)
{
	struct sdp_conn conn = up(&peer_full);

	BAD(conn, R20, SDP_MID_DATA, .ack_off = 1);
	conn = up(&peer_full);
	expect_hex(&conn, "ff000040 00000011 00000001 00000000", 1, 0, 0);
	BAD(conn, R20, SDP_MID_DATA, .ack_off = 1);
	conn = up(&peer_full);
	BAD(conn, R20, SDP_MID_DATA, .ack_off = 0x7fffffff);
}

/* Credits that could only come from taking some back (R22). */
static void bad_credit(void)
{
	struct sdp_conn conn = up(&peer_full);
	struct sdp_tx tx;

	for (int i = 0; i < 3; i++)
		CHECK(next_payload(&conn, 1, &tx));
	GOOD(conn, SDP_MID_DATA, .bufs = 3, .ack_off = -3);
	CHECK_EQ(conn.credit, 0);
	BAD(conn, R22, SDP_MID_DATA, .bufs = 2, .ack_off = -3);
	conn = up(&peer_full);
	BAD(conn, R22, SDP_MID_DATA, .ack_off = -0x7fffffff);
}

static void bad_mid(void)
{
	struct sdp_conn conn;

	for (u32 mid = 0; mid < 256; mid++) {
		bool reserved = (mid >= 0x0f && mid <= 0x3f) ||
				(mid >= 0x80 && mid <= 0xfc) || mid < 2;

		if (!reserved)
			continue;
		conn = up(&peer_full);
		BAD(conn, R21, mid);
		conn = up(&peer_full);
		BAD(conn, R21, mid, .payload = 76);
	}
}

/* Without a buffer (R29); with payload although two credits were left (R26). */
static void bad_overrun(void)
{
	struct sdp_conn conn;

	conn_up_with(&conn, true, &peer_full, 3, 64);
	CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_DATA, .payload = 1 },
			  NULL), 0);
	BAD(conn, R26, SDP_MID_DATA, .payload = 1);

	conn_up_with(&conn, true, &peer_full, 3, 64);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(feed_raw(&conn, (struct msg){ .mid = SDP_MID_DATA }, NULL),
			 0);
	BAD(conn, R29, SDP_MID_DATA);
}

static void bad_mode(void)
{
	struct sdp_conn conn;

	for (u32 byte = 0; byte < 256; byte += 0x10) {
		conn = up(&peer_full);
		if (byte == SDP_MCH_TO_BUFFERED ||
		    byte == SDP_MCH_TO_PIPELINED)
			continue;
		BAD(conn, R34, SDP_MID_MODE_CHANGE, .exts = 1,
		    .ext = { byte << 24 });
	}
	for (u32 byte = 0; byte < 256; byte += 0x10) {
		conn = pipelined();
		if (byte == SDP_MCH_PIPE_TO_COMB)
			continue;
		BAD(conn, R34, SDP_MID_MODE_CHANGE, .exts = 1,
		    .ext = { byte << 24 });
	}
	for (u32 byte = 0; byte < 256; byte += 0x10) {
		conn = up(&peer_full);
		GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1);
		BAD(conn, R34, SDP_MID_MODE_CHANGE, .exts = 1,
		    .ext = { byte << 24 });
	}
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	BAD(conn, R35, SDP_MID_MODE_CHANGE, .exts = 1);
}

static void bad_src_avail(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1);
	BAD(conn, R37, SRC_AVAIL(100, 4));

	conn = up(&peer_full);
	BAD(conn, R41, SRC_AVAIL(100, 0));
	conn = up(&peer_full);
	BAD(conn, R41, SRC_AVAIL(4, 4));
	conn = up(&peer_full);
	BAD(conn, R41, SRC_AVAIL(0, 4));
	conn = up(&peer_full);
	BAD(conn, R41, SRC_AVAIL((1U << 31) + 1, 4));
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(1U << 31, 4));
	conn = up(&peer_full);
	BAD(conn, R41, SDP_MID_SRC_AVAIL, .exts = 4,
	    .ext = { 8, 1, 0xffffffff, 0xfffffffc }, .payload = 1);

	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	BAD(conn, R42, SRC_AVAIL(100, 4));
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	BAD(conn, R42, SDP_MID_DATA, .payload = 1);
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	BAD(conn, R42, SDP_MID_DISCONN);
	/* Refused, but what the SendSm asked for has not come. */
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	expect_mid(&conn, SDP_MID_SEND_SM);
	GOOD(conn, SDP_MID_DATA, .payload = 95);
	BAD(conn, R42, SRC_AVAIL(100, 4));

	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	GOOD(conn, SDP_MID_SRC_CANCEL);
	BAD(conn, R53, SRC_AVAIL(100, 4));
	conn = up(&peer_full);
	GOOD(conn, SRC_AVAIL(100, 4));
	GOOD(conn, SDP_MID_SRC_CANCEL);
	BAD(conn, R53, SDP_MID_SRC_CANCEL);
}

static void bad_pipelined(void)
{
	struct sdp_conn conn = pipelined();

	BAD(conn, R43, SRC_AVAIL(100, 4));
	conn = pipelined();
	for (int i = 0; i < SDP_MAX_ADVERTS; i++)
		GOOD(conn, SRC_AVAIL(100, 0));
	BAD(conn, R43, SRC_AVAIL(100, 0));
	conn = pipelined();
	GOOD(conn, SRC_AVAIL(100, 0));
	BAD(conn, R43, SDP_MID_DATA, .payload = 1);
	/* Only the 100 bytes of the first may come while the second waits. */
	conn = pipelined();
	GOOD(conn, SRC_AVAIL(100, 0));
	expect_mid(&conn, SDP_MID_SEND_SM);
	GOOD(conn, SRC_AVAIL(100, 0));
	GOOD(conn, SDP_MID_DATA, .payload = 60);
	BAD(conn, R43, SDP_MID_DATA, .payload = 41);
}

static void bad_for_nothing(void)
{
	struct sdp_conn conn = up(&peer_full);

	BAD(conn, R44, SDP_MID_RDMA_RD_COMPL, .exts = 1, .ext = { 1 });
	conn = up(&peer_full);
	BAD(conn, R48, SDP_MID_SEND_SM);
	conn = up(&peer_full);
	BAD(conn, R67, SDP_MID_RDMA_WR_COMPL, .exts = 1, .ext = { 1 });
	conn = up(&peer_full);
	BAD(conn, R60, SDP_MID_SINK_AVAIL, .exts = 5, .ext = { 100000 });
	conn = up(&peer_full);
	BAD(conn, R60, SDP_MID_SINK_AVAIL, .exts = 5, .payload = 7);
	conn = up(&peer_full);
	BAD(conn, R94, SDP_MID_SUSP_COMM, .exts = 2);
	conn = up(&peer_full);
	BAD(conn, R94, SDP_MID_SUSP_COMM_ACK);
}

static void bad_after_fin(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_DISCONN);
	BAD(conn, R88, SDP_MID_DATA, .payload = 1);
	conn = up(&peer_full);
	GOOD(conn, SDP_MID_DISCONN);
	BAD(conn, R88, SDP_MID_DISCONN);
	conn = up(&peer_full);
	GOOD(conn, SDP_MID_DISCONN);
	BAD(conn, R88, SRC_AVAIL(100, 1));
}

static void bad_after_close(void)
{
	struct sdp_conn conn = up(&peer_full);

	sdp_close_rx(&conn);
	BAD(conn, R90, SDP_MID_DATA, .payload = 1);
	conn = up(&peer_full);
	sdp_close_rx(&conn);
	BAD(conn, R90, SRC_AVAIL(100, 1));
	conn = up(&peer_full);
	sdp_close_rx(&conn);
	GOOD(conn, SDP_MID_DATA);
	GOOD(conn, SDP_MID_DISCONN);
}

static void bad_resize(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 0xf000 });
	BAD(conn, R91, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 0xf000 });
	conn = up(&peer_full);
	sdp_grow_peer(&conn);
	expect_mid(&conn, SDP_MID_CH_RCV_BUF);
	BAD(conn, R91, SDP_MID_CH_RCV_BUF_ACK, .exts = 1, .ext = { 0x1fff });
}

/* The set-up's rules are provoked in test_setup.c. */
static void all_provoked(void)
{
	for (int i = 1; i < SDP_V_COUNT; i++) {
		const char *name = sdp_violation_name(i);

		if (i == SDP_V_R4 || i == SDP_V_R5 || i == SDP_V_R6 ||
		    i == SDP_V_R7 || i == SDP_V_R8 || i == SDP_V_R10)
			continue;
		if (!provoked[i])
			test_fail(__FILE__, __LINE__, "%s never", name);
	}
}

/* After the end nothing is taken, nothing is sent, the first cause stays. */
static void bad_twice(void)
{
	struct sdp_conn conn = up(&peer_full);

	BAD(conn, R21, 0x0f);
	conn.actions = 0;
	CHECK_EQ(FEED(&conn, SDP_MID_SUSP_COMM_ACK), -ENOTCONN);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 3), -ENOTCONN);
	CHECK_EQ(conn.violation, SDP_V_R21);
	CHECK(!(conn.actions & SDP_ACT_READABLE));
	expect_quiet(&conn);
}

/* Garbage of every length: an error or not, but no crash and no payload lie. */
static void garbage(void)
{
	u64 seed = 42;

	for (int i = 0; i < 200000; i++) {
		struct sdp_conn conn = up(i & 1 ? &peer_v1 : &peer_full);
		u8 bytes[SDP_HEADER_MAX];
		struct sdp_rx rx;
		struct sdp_tx tx;

		for (int n = 0; n < 4; n++) {
			u32 len = random_below(&seed, 80);
			static const u8 mids[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10,
				11, 12, 13, 14, 0x40, 0x7f, 0xfd, 0xfe, 0xff };

			for (u32 k = 0; k < sizeof(bytes); k++)
				bytes[k] = random_below(&seed, 256);
			bytes[0] = mids[random_below(&seed, sizeof(mids))];
			if (random_below(&seed, 8)) {
				put_be32(bytes + 4, len);
				put_be32(bytes + 8, conn.rx_mseq + 1);
				put_be32(bytes + 12, conn.tx_mseq);
			}
			if (random_below(&seed, 2))
				put_be32(bytes + 16, random_below(&seed, 200));
			if (!sdp_rx(&conn, bytes, len, &rx))
				CHECK(!rx.payload ||
				      rx.offset + rx.payload == len);
			else
				CHECK(conn.state == SDP_CLOSE);
			next_payload(&conn, 1, &tx);
		}
	}
}

const struct test bad_tests[] = {
	{ "bad: lengths (R15)", bad_length },
	{ "bad: longer than our buffers (R32)", bad_too_long },
	{ "bad: MSeq (R18)", bad_mseq },
	{ "bad: MSeqAck ahead (R20)", bad_ack },
	{ "bad: credits taken back (R22)", bad_credit },
	{ "bad: reserved ids, Hello in the stream (R21)", bad_mid },
	{ "bad: more messages than credits (R26, R29)", bad_overrun },
	{ "bad: ModeChange (R34, R35)", bad_mode },
	{ "bad: SrcAvail (R37, R41, R42, R53)", bad_src_avail },
	{ "bad: Pipelined (R43)", bad_pipelined },
	{ "bad: answers to nothing (R44, R48, R60, R67, R94)", bad_for_nothing },
	{ "bad: after the DisConn (R88)", bad_after_fin },
	{ "bad: after our close (R90)", bad_after_close },
	{ "bad: ChRcvBuf (R91)", bad_resize },
	{ "bad: every rule was provoked", all_provoked },
	{ "bad: a dead connection stays dead", bad_twice },
	{ "bad: garbage", garbage },
	{ }
};

/* ---- Odd, but legal ----------------------------------------------------- */

static void first_mseq(void)
{
	struct sdp_conn conn = up(&peer_full);

	CHECK_EQ(feed_hex(&conn, "ff000040 00000011 00000000 00000000", 1,
			  NULL), 0);
	CHECK_EQ(feed_hex(&conn, "ff000040 00000011 00000001 00000000", 1,
			  NULL), 0);
	CHECK_EQ(conn.rx_mseq, 1);
	conn = up(&peer_full);
	CHECK_EQ(feed_hex(&conn, "ff000040 00000011 00000000 00000000", 1,
			  NULL), 0);
	BAD(conn, R18, SDP_MID_DATA, .mseq = 2);
}

static void reserved_flags(void)
{
	struct sdp_conn conn = up(&peer_full);
	struct sdp_rx rx;

	CHECK_EQ(feed(&conn, (struct msg){ .mid = SDP_MID_DATA, .flags = 0xf8,
					   .payload = 2 }, &rx), 0);
	CHECK_EQ(rx.payload, 2);
	CHECK(!rx.urgent);
	CHECK(!(conn.actions & SDP_ACT_URGENT));
	GOOD(conn, SDP_MID_DATA, .flags = SDP_FLAG_REQ_PIPE);
	GOOD(conn, SDP_MID_DISCONN, .flags = 0xff);
}

/* PEND counts on any message, PRES on Data with payload only (2.4). */
static void oob_flags(void)
{
	struct sdp_conn conn = up(&peer_full);
	struct sdp_rx rx;

	CHECK_EQ(feed(&conn, (struct msg){ .mid = SDP_MID_DATA, .flags = 0x01 }, &rx),
		 0);
	CHECK(!rx.urgent && rx.update);
	CHECK(!(conn.actions & SDP_ACT_URGENT));
	CHECK_EQ(feed(&conn, (struct msg){ .mid = SDP_MID_SINK_CANCEL_ACK,
					   .flags = 0x03 }, &rx), 0);
	CHECK(!rx.urgent);
	CHECK(conn.actions & SDP_ACT_URGENT);
	conn.actions = 0;
	CHECK_EQ(feed(&conn, (struct msg){ .mid = SRC_AVAIL(100, 4), .flags = 0x01 },
		      &rx), 0);
	CHECK(!rx.urgent);
	/* PRES without PEND, as some send it. */
	conn = up(&peer_full);
	CHECK_EQ(feed(&conn, (struct msg){ .mid = SDP_MID_DATA, .flags = 0x01,
					   .payload = 1 }, &rx), 0);
	CHECK(rx.urgent);
}

static void experimental(void)
{
	struct sdp_conn conn = up(&peer_full);
	struct sdp_rx rx;
	struct sdp_tx tx;

	CHECK(next_payload(&conn, 1, &tx));
	for (u32 mid = 0x40; mid <= 0x7f; mid++) {
		CHECK_EQ(feed(&conn, (struct msg){ .mid = mid, .bufs = 9 }, &rx), 0);
		CHECK_EQ(conn.credit, 9);
		CHECK_EQ(feed(&conn, (struct msg){ .mid = mid, .bufs = 10,
						   .payload = 100 }, &rx), 0);
		CHECK_EQ(rx.payload, 0);
		CHECK_EQ(conn.credit, 10);
		sdp_rx_posted(&conn, 1);
	}
	CHECK_EQ(conn.nd, 0);
}

static void nothing_to_cancel(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_SRC_CANCEL);
	GOOD(conn, SDP_MID_SRC_CANCEL);
	GOOD(conn, SDP_MID_SINK_CANCEL);
	GOOD(conn, SDP_MID_SINK_CANCEL_ACK);
	GOOD(conn, SDP_MID_CH_RCV_BUF_ACK, .exts = 1, .ext = { 1 });
	CHECK_EQ(conn.peer_rcv_size, 0x2000);
	expect_quiet(&conn);
	GOOD(conn, SRC_AVAIL(100, 4));
}

static void mode_garbage(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x2fdeadbe });
	CHECK_EQ(conn.rx_mode, SDP_PIPELINED);
	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x1fffffff });
	CHECK_EQ(conn.rx_mode, SDP_COMBINED);
	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x0fffffff });
	CHECK_EQ(conn.rx_mode, SDP_BUFFERED);
}

/* A SrcAvail may stay incomplete over changes to Pipelined and back. */
static void mode_with_advert(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SRC_AVAIL(100, 4));
	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x20000000 });
	GOOD(conn, SRC_AVAIL(200, 0));
	GOOD(conn, SDP_MID_MODE_CHANGE, .exts = 1, .ext = { 0x10000000 });
	CHECK_EQ(conn.adverts, 2);
	expect_mid(&conn, SDP_MID_SEND_SM);
	expect_mid(&conn, SDP_MID_SEND_SM);
	CHECK_EQ(conn.owed, 96 + 200);
	GOOD(conn, SDP_MID_DATA, .payload = 296);
	GOOD(conn, SRC_AVAIL(100, 4));
}

/* Control of the other half, credit updates and PEND pass an advert. */
static void during_advert(void)
{
	struct sdp_conn conn = up(&peer_v1);

	GOOD(conn, SRC_AVAIL(100, 4));
	GOOD(conn, SDP_MID_DATA);
	GOOD(conn, SDP_MID_DATA, .flags = SDP_FLAG_OOB_PEND);
	CHECK(conn.actions & SDP_ACT_URGENT);
	GOOD(conn, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 0xf000 });
	CHECK_EQ(conn.nd, 1);
}

/* After both DisConns the peer's updates may still be on their way. */
static void after_fin(void)
{
	struct sdp_conn conn = up(&peer_full);

	GOOD(conn, SDP_MID_DISCONN);
	GOOD(conn, SDP_MID_DATA);
	GOOD(conn, SDP_MID_CH_RCV_BUF_ACK, .exts = 1, .ext = { 1 });
	sdp_shutdown(&conn);
	expect_mid(&conn, SDP_MID_DISCONN);
	GOOD(conn, SDP_MID_DATA);
	conn.actions = 0;
	GOOD(conn, SDP_MID_DATA, .flags = SDP_FLAG_OOB_PEND);
	CHECK(!(conn.actions & SDP_ACT_URGENT));
}

const struct test legal_tests[] = {
	{ "legal: first MSeq 0", first_mseq },
	{ "legal: reserved flag bits, REQ_PIPE anywhere", reserved_flags },
	{ "legal: OOB flags at odd places", oob_flags },
	{ "legal: experimental ids, credits taken", experimental },
	{ "legal: cancels and acks for nothing", nothing_to_cancel },
	{ "legal: garbage in reserved ModeChange bits", mode_garbage },
	{ "legal: mode changes around incomplete SrcAvails", mode_with_advert },
	{ "legal: messages during a SrcAvail", during_advert },
	{ "legal: messages after a DisConn", after_fin },
	{ }
};
