// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The worked traces T2..T12, byte for byte. What the core never sends is fed
 * to it, and its answers must be those of the trace.
 */
#include "peer.h"

static void t2(void)
{
	struct sdp_conn a, b;
	struct sdp_rx rx;
	struct sdp_tx tx;

	conn_up_with(&a, true, &peer_ofed, 4, 4);
	conn_up_with(&b, false, &peer_ofed, 4, 4);
	expect_hex(&a, "ff000004 00000015 00000001 00000000", 5, false, false);
	expect_hex(&a, "ff000004 00000016 00000002 00000000", 6, false, false);
	CHECK_EQ(a.credit, 2);
	CHECK(!next_payload(&a, 1, &tx));

	CHECK_EQ(feed_raw(&b, (struct msg){ .mid = SDP_MID_DATA, .bufs = 4,
					    .payload = 5 }, &rx), 0);
	CHECK_EQ(rx.payload, 5);
	CHECK_EQ(rx.offset, 16);
	CHECK_EQ(feed_raw(&b, (struct msg){ .mid = SDP_MID_DATA, .bufs = 4,
					    .payload = 6 }, &rx), 0);
	expect_quiet(&b);
	sdp_rx_posted(&b, 2);
	expect_hex(&b, "ff000004 00000010 00000001 00000002", 0, false, false);

	CHECK_EQ(feed_hex(&a, "ff000004 00000010 00000001 00000002", 0, &rx), 0);
	CHECK(rx.update && !rx.payload);
	CHECK_EQ(a.credit, 4);
	expect_hex(&a, "ff000004 00000011 00000003 00000001", 1, false, false);
	CHECK_EQ(a.credit, 3);
}

static const char src_avail[] =
	"fe000040 00000024 00000001 00000000 | 00010000 00001a2b 00007f00 12345010";

/* B is a v2 end towards a v1.1 peer: it reads. */
static void t3(void)
{
	struct sdp_conn b;
	struct sdp_read read;
	struct sdp_rx rx;

	conn_up(&b, false, &peer_v1);
	CHECK_EQ(feed_hex(&b, src_avail, 4, &rx), 0);
	CHECK_EQ(rx.payload, 4);
	CHECK_EQ(rx.offset, 32);
	CHECK_EQ(b.nd, 1);
	CHECK(b.actions & SDP_ACT_READ);
	CHECK(b.actions & SDP_ACT_READABLE);
	expect_quiet(&b);
	CHECK(sdp_read_next(&b, 1 << 20, &read));
	CHECK_EQ(read.va, 0x7f0012345014);
	CHECK_EQ(read.rkey, 0x1a2b);
	CHECK_EQ(read.len, 65532);
	CHECK(!sdp_read_next(&b, 1 << 20, &read));
	expect_quiet(&b);
	sdp_read_done(&b, 65532);
	expect_hex(&b, "06000040 00000014 00000001 00000001 | 0000fffc", 0,
		   false, true);
	CHECK_EQ(b.adverts, 0);
	CHECK_EQ(b.nd, 1);
	expect_quiet(&b);
}

/* Read in two pieces, told in one message: a Sink should send one (5.4). */
static void t3_pieces(void)
{
	struct sdp_conn b;
	struct sdp_read read;

	conn_up(&b, false, &peer_v1);
	feed_hex(&b, src_avail, 4, NULL);
	CHECK(sdp_read_next(&b, 32764, &read));
	CHECK_EQ(read.len, 32764);
	sdp_read_done(&b, 32764);
	expect_quiet(&b);
	CHECK(sdp_read_next(&b, 1 << 20, &read));
	CHECK_EQ(read.va, 0x7f0012345014 + 32764);
	CHECK_EQ(read.len, 32768);
	sdp_read_done(&b, 32768);
	expect_hex(&b, "06000040 00000014 00000001 00000001 | 0000fffc", 0,
		   false, true);
}

static void t4(void)
{
	struct sdp_conn b;
	struct sdp_read read;
	struct sdp_rx rx;

	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, src_avail, 4, &rx), 0);
	CHECK(!sdp_read_next(&b, 1 << 20, &read));
	expect_hex(&b, "04000040 00000010 00000001 00000001", 0, false, true);
	expect_quiet(&b);
	CHECK_EQ(b.owed, 65532);
	CHECK_EQ(feed_hex(&b, "ff000040 00008010 00000002 00000001", 32768,
			  &rx), 0);
	CHECK_EQ(rx.payload, 32768);
	CHECK_EQ(feed_hex(&b, "ff000040 0000800c 00000003 00000001", 32764,
			  &rx), 0);
	CHECK_EQ(b.owed, 0);
	CHECK_EQ(b.nd, 3);
}

static const char cancel[] = "08000040 00000010 00000002 00000000";

static void t5a(void)
{
	const struct sdp_params * const peers[] = { &peer_v1, &peer_ofed };
	struct sdp_conn b;

	for (int i = 0; i < 2; i++) {
		conn_up(&b, false, peers[i]);
		CHECK_EQ(feed_hex(&b, src_avail, 4, NULL), 0);
		CHECK_EQ(feed_hex(&b, cancel, 0, NULL), 0);
		expect_hex(&b, "04000040 00000010 00000001 00000002", 0, false,
			   true);
		expect_quiet(&b);
		CHECK_EQ(b.adverts, 0);
		CHECK_EQ(b.owed, 0);
		CHECK(!b.cancelled);
	}
}

static void t5b(void)
{
	struct sdp_conn b;
	struct sdp_read read;

	conn_up(&b, false, &peer_v1);
	feed_hex(&b, src_avail, 4, NULL);
	CHECK(sdp_read_next(&b, 32768, &read));
	CHECK_EQ(feed_hex(&b, cancel, 0, NULL), 0);
	expect_quiet(&b);
	sdp_read_done(&b, 32768);
	CHECK(!sdp_read_next(&b, 32768, &read));
	expect_hex(&b, "06000040 00000014 00000001 00000001 | 00008000", 0,
		   false, true);
	expect_hex(&b, "04000040 00000010 00000002 00000002", 0, false, true);
	expect_quiet(&b);
	CHECK_EQ(b.owed, 0);
}

static void t5c(void)
{
	struct sdp_conn b;
	struct sdp_read read;

	conn_up(&b, false, &peer_v1);
	feed_hex(&b, src_avail, 4, NULL);
	CHECK(sdp_read_next(&b, 65532, &read));
	sdp_read_done(&b, 65532);
	expect_hex(&b, "06000040 00000014 00000001 00000001 | 0000fffc", 0,
		   false, true);
	CHECK_EQ(feed_hex(&b, cancel, 0, NULL), 0);
	expect_quiet(&b);
	CHECK(!b.cancelled);
	CHECK_EQ(feed_hex(&b, "ff000040 00000011 00000003 00000001", 1, NULL),
		 0);
}

/* Pipelined, two SrcAvails: only a v1.1 peer is read from. REQ_PIPE is 0. */
static void t6(void)
{
	struct sdp_conn b;
	struct sdp_read read;

	conn_up(&b, false, &peer_v1);
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000001 00000000 | 20000000",
			  0, NULL), 0);
	CHECK_EQ(b.rx_mode, SDP_PIPELINED);
	CHECK_EQ(feed_hex(&b, "fe000040 00000020 00000002 00000000 |"
			  "00020000 00001a2b 00007f00 12345000", 0, NULL), 0);
	CHECK_EQ(feed_hex(&b, "fe000040 00000020 00000003 00000000 |"
			  "00010000 00001a2c 00007f00 12400000", 0, NULL), 0);
	CHECK_EQ(b.nd, 0);
	CHECK(sdp_read_next(&b, 1 << 20, &read));
	CHECK_EQ(read.va, 0x7f0012345000);
	CHECK_EQ(read.len, 0x20000);
	sdp_read_done(&b, 0x20000);
	CHECK(!sdp_read_next(&b, 1 << 20, &read));	/* told first (R46) */
	b.actions = 0;
	expect_hex(&b, "06000040 00000014 00000001 00000003 | 00020000", 0,
		   false, true);
	CHECK(b.actions & SDP_ACT_READ);
	CHECK(sdp_read_next(&b, 1 << 20, &read));
	CHECK_EQ(read.va, 0x7f0012400000);
	CHECK_EQ(read.rkey, 0x1a2c);
	sdp_read_done(&b, 0x10000);
	expect_hex(&b, "06000040 00000014 00000002 00000003 | 00010000", 0,
		   false, true);
	expect_quiet(&b);
}

/* Pipelined towards a v2 peer: each SrcAvail gets its SendSm, oldest first. */
static void t6_refused(void)
{
	struct sdp_conn b;

	conn_up(&b, false, &peer_full);
	feed_hex(&b, "07000040 00000014 00000001 00000000 | 20000000", 0, NULL);
	feed_hex(&b, "fe000040 00000020 00000002 00000000 |"
		 "00020000 00001a2b 00007f00 12345000", 0, NULL);
	feed_hex(&b, "fe000040 00000020 00000003 00000000 |"
		 "00010000 00001a2c 00007f00 12400000", 0, NULL);
	expect_hex(&b, "04000040 00000010 00000001 00000003", 0, false, true);
	expect_hex(&b, "04000040 00000010 00000002 00000003", 0, false, true);
	expect_quiet(&b);
	CHECK_EQ(b.owed, 0x30000);
}

/* We never go Pipelined, so a SinkAvail is always R60 (T7, T8). */
static void t7(void)
{
	struct sdp_conn a;

	conn_up(&a, true, &peer_full);
	CHECK_EQ(feed_hex(&a, "fd000040 00000024 00000001 00000000 |"
			  "00010000 00005c6d 00007f00 aa000000 00000000", 0,
			  NULL), -71);
	CHECK_EQ(a.violation, SDP_V_R60);

	/* B of the trace receives a RdmaWrCompl for nothing. */
	conn_up(&a, true, &peer_full);
	CHECK_EQ(feed_hex(&a, "05000040 00000014 00000001 00000000 | 00010000",
			  0, NULL), -71);
	CHECK_EQ(a.violation, SDP_V_R67);

	/* The cancel finds nothing (R71), its ack is ignored (R96). */
	conn_up(&a, true, &peer_full);
	CHECK_EQ(feed_hex(&a, "09000040 00000010 00000001 00000000", 0, NULL),
		 0);
	CHECK_EQ(feed_hex(&a, "0a000040 00000010 00000002 00000000", 0, NULL),
		 0);
	expect_quiet(&a);
}

static void t8(void)
{
	struct sdp_conn a;

	conn_up(&a, true, &peer_full);
	a.tx_mseq = 1;
	expect_hex(&a, "ff000040 00000015 00000002 00000000", 5, false, false);
	CHECK_EQ(a.pnd, 1);
	CHECK_EQ(feed_hex(&a, "fd000040 00000024 00000001 00000001 |"
			  "00010000 00005c6d 00007f00 aa000000 00000000", 0,
			  NULL), -71);
	CHECK_EQ(a.violation, SDP_V_R60);
}

static void t9(void)
{
	struct sdp_conn a, b;
	struct sdp_rx rx;

	conn_up(&a, true, &peer_ofed);
	expect_hex(&a, "ff030040 00000014 00000001 00000000", 4, true, true);

	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, "ff030040 00000014 00000001 00000000", 4, &rx),
		 0);
	CHECK(rx.urgent);
	CHECK(b.actions & SDP_ACT_URGENT);

	/* The early notification. */
	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, "ff020040 0000001a 00000001 00000000", 10, &rx),
		 0);
	CHECK(!rx.urgent);
	CHECK(b.actions & SDP_ACT_URGENT);
	b.actions = 0;
	CHECK_EQ(feed_hex(&b, "ff010040 00000014 00000002 00000000", 4, &rx),
		 0);
	CHECK(rx.urgent);
	CHECK(!(b.actions & SDP_ACT_URGENT));
}

static void t10(void)
{
	struct sdp_conn a, b;

	conn_up(&a, true, &peer_ofed);
	conn_up(&b, false, &peer_ofed);
	expect_hex(&a, "ff000040 00000013 00000001 00000000", 3, false, false);
	sdp_shutdown(&a);
	CHECK_EQ(a.state, SDP_FIN_WAIT1);
	expect_hex(&a, "02000040 00000010 00000002 00000000", 0, false, false);
	sdp_tx_done(&a, SDP_MID_DISCONN);
	CHECK_EQ(a.state, SDP_FIN_WAIT2);

	feed_hex(&b, "ff000040 00000013 00000001 00000000", 3, NULL);
	CHECK_EQ(feed_hex(&b, "02000040 00000010 00000002 00000000", 0, NULL),
		 0);
	CHECK_EQ(b.state, SDP_CLOSE_WAIT);
	CHECK(b.rx_fin);
	expect_hex(&b, "ff000040 00000015 00000001 00000002", 5, false, false);
	sdp_shutdown(&b);
	CHECK_EQ(b.state, SDP_LAST_ACK);
	expect_hex(&b, "02000040 00000010 00000002 00000002", 0, false, false);
	sdp_tx_done(&b, SDP_MID_DISCONN);
	CHECK_EQ(b.state, SDP_LAST_ACK);
	CHECK(!(b.actions & (SDP_ACT_DISCONNECT | SDP_ACT_RELEASE)));

	feed_hex(&a, "ff000040 00000015 00000001 00000002", 5, NULL);
	CHECK_EQ(feed_hex(&a, "02000040 00000010 00000002 00000002", 0, NULL),
		 0);
	CHECK_EQ(a.state, SDP_TIME_WAIT);
	CHECK(a.actions & SDP_ACT_DISCONNECT);
	sdp_disconnected(&b);
	CHECK_EQ(b.state, SDP_CLOSE);
	CHECK_EQ(b.err, 0);
	CHECK(b.actions & SDP_ACT_RELEASE);
	sdp_timewait_over(&a);
	CHECK_EQ(a.state, SDP_CLOSE);
	CHECK_EQ(a.err, 0);
}

static void t11(void)
{
	struct sdp_conn a, b;

	conn_up(&a, true, &peer_ofed);
	sdp_shutdown(&a);
	expect_hex(&a, "02000040 00000010 00000001 00000000", 0, false, false);
	sdp_abort(&a, 104);
	CHECK(!(a.actions & SDP_ACT_DISCONNECT));
	expect_hex(&a, "03000040 00000010 00000002 00000000", 0, false, true);
	CHECK(!(a.actions & SDP_ACT_DISCONNECT));
	sdp_tx_done(&a, SDP_MID_ABORT);
	CHECK(a.actions & SDP_ACT_DISCONNECT);

	conn_up(&b, false, &peer_ofed);
	feed_hex(&b, "02000040 00000010 00000001 00000000", 0, NULL);
	CHECK(b.rx_fin);
	CHECK_EQ(feed_hex(&b, "03000040 00000010 00000002 00000000", 0, NULL),
		 -104);
	CHECK(!b.rx_fin);
	CHECK_EQ(b.err, 104);
	CHECK_EQ(b.violation, SDP_V_NONE);
	CHECK(b.actions & SDP_ACT_FAIL);

	/* Before the DisConn: no message. */
	conn_up(&a, true, &peer_ofed);
	sdp_abort(&a, 104);
	CHECK(a.actions & SDP_ACT_DISCONNECT);
	expect_quiet(&a);
}

static void t12_resize(void)
{
	struct sdp_conn a, b;

	/* Asked, as the trace has it, by a peer that looks like OFED's. */
	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, "0b000040 00000014 00000001 00000000 | 00010010",
			  0, NULL), 0);
	CHECK(b.actions & SDP_ACT_RESIZE);
	CHECK_EQ(b.resize_to, 65552);
	expect_quiet(&b);
	sdp_resize(&b, b.rcv_size);
	expect_hex(&b, "0c000040 00000014 00000001 00000001 | 00008010", 0,
		   false, false);
	expect_quiet(&b);

	/* The core asks for 61440 where the trace has 65552. */
	conn_up(&a, true, &peer_full);
	sdp_grow_peer(&a);
	expect_hex(&a, "0b000040 00000014 00000001 00000000 | 0000f000", 0,
		   false, false);
	CHECK_EQ(feed_hex(&a, "0c000040 00000014 00000001 00000001 | 00002000",
			  0, NULL), 0);
	CHECK(a.grow_refused);
}

static void t12_suspend(void)
{
	struct sdp_conn b;

	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, "0d000040 00000018 00000001 00000000 |"
			  "00000000 0001138a", 0, NULL), -71);
	CHECK_EQ(b.violation, SDP_V_R94);
	conn_up(&b, false, &peer_ofed);
	CHECK_EQ(feed_hex(&b, "0e000040 00000010 00000001 00000000", 0, NULL),
		 -71);
	CHECK_EQ(b.violation, SDP_V_R94);
}

static void t12_modes(void)
{
	struct sdp_conn b;

	conn_up(&b, false, &peer_full);
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000001 00000000 | 20000000",
			  0, NULL), 0);
	CHECK_EQ(b.rx_mode, SDP_PIPELINED);
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000002 00000000 | 10000000",
			  0, NULL), 0);
	CHECK_EQ(b.rx_mode, SDP_COMBINED);
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000003 00000000 | 00000000",
			  0, NULL), 0);
	CHECK_EQ(b.rx_mode, SDP_BUFFERED);
	CHECK_EQ(b.tx_mode, SDP_COMBINED);
	/* Only the Sink leads out of Buffered: we are not Buffered as Source. */
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000004 00000000 | 90000000",
			  0, NULL), -71);
	CHECK_EQ(b.violation, SDP_V_R34);
	conn_up(&b, false, &peer_full);
	b.tx_mode = SDP_BUFFERED;
	CHECK_EQ(feed_hex(&b, "07000040 00000014 00000001 00000000 | 90000000",
			  0, NULL), 0);
	CHECK_EQ(b.tx_mode, SDP_COMBINED);
	CHECK_EQ(b.rx_mode, SDP_COMBINED);
}

const struct test trace_tests[] = {
	{ "T2 small data and a credit update", t2 },
	{ "T3 SrcAvail read whole", t3 },
	{ "T3 SrcAvail read in pieces, one RdmaRdCompl", t3_pieces },
	{ "T4 SrcAvail refused by SendSm", t4 },
	{ "T5a SrcAvail cancelled, untouched", t5a },
	{ "T5b SrcAvail cancelled, READ in process", t5b },
	{ "T5c cancel crosses the completion", t5c },
	{ "T6 Pipelined, two SrcAvails read", t6 },
	{ "T6 Pipelined, two SrcAvails refused", t6_refused },
	{ "T7 SinkAvail, RdmaWrCompl and cancel outside Pipelined", t7 },
	{ "T8 SinkAvail outside Pipelined after Data", t8 },
	{ "T9 urgent byte, together and early", t9 },
	{ "T10 half-close and full close", t10 },
	{ "T11 abort after and before the DisConn", t11 },
	{ "T12 ChRcvBuf and ChRcvBufAck", t12_resize },
	{ "T12 SuspComm and SuspCommAck", t12_suspend },
	{ "T12 ModeChange", t12_modes },
	{ }
};
