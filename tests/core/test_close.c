// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* States (8.3) and closing in every order (8.1..8.4). */
#include <errno.h>
#include <string.h>

#include "peer.h"

static const char * const names[SDP_STATES] = {
	[SDP_ESTABLISHED] = "ESTABLISHED", [SDP_SYN_SENT] = "SYN_SENT",
	[SDP_SYN_RECV] = "SYN_RECV", [SDP_FIN_WAIT1] = "FIN_WAIT1",
	[SDP_FIN_WAIT2] = "FIN_WAIT2", [SDP_TIME_WAIT] = "TIME_WAIT",
	[SDP_CLOSE] = "CLOSE", [SDP_CLOSE_WAIT] = "CLOSE_WAIT",
	[SDP_LAST_ACK] = "LAST_ACK", [SDP_LISTEN] = "LISTEN",
	[SDP_CLOSING] = "CLOSING",
};

#define TO(s) (1U << SDP_##s)

/* Written from 8.3 and 1.8, not from the core. */
static const u32 legal[SDP_STATES] = {
	[SDP_CLOSE] = TO(SYN_SENT) | TO(SYN_RECV) | TO(LISTEN),
	[SDP_LISTEN] = TO(CLOSE),
	[SDP_SYN_SENT] = TO(ESTABLISHED) | TO(CLOSE),
	[SDP_SYN_RECV] = TO(ESTABLISHED) | TO(CLOSE),
	[SDP_ESTABLISHED] = TO(FIN_WAIT1) | TO(CLOSE_WAIT) | TO(CLOSE),
	[SDP_FIN_WAIT1] = TO(FIN_WAIT2) | TO(CLOSING) | TO(LAST_ACK) |
			  TO(CLOSE),
	[SDP_FIN_WAIT2] = TO(TIME_WAIT) | TO(CLOSE),
	[SDP_CLOSING] = TO(TIME_WAIT) | TO(CLOSE),
	[SDP_CLOSE_WAIT] = TO(LAST_ACK) | TO(CLOSE),
	[SDP_LAST_ACK] = TO(CLOSE),
	[SDP_TIME_WAIT] = TO(CLOSE),
};

static void table(void)
{
	struct sdp_conn conn;

	for (u32 from = 1; from < SDP_STATES; from++) {
		for (u32 to = 1; to < SDP_STATES; to++) {
			bool yes = from == to || legal[from] & 1U << to;

			memset(&conn, 0, sizeof(conn));
			conn.state = from;
			if (sdp_conn_set_state(&conn, to) != yes)
				test_fail(__FILE__, __LINE__, "%s to %s",
					  names[from], names[to]);
			CHECK_EQ(conn.state, yes ? to : from);
			CHECK_EQ(conn.illegal, !yes);
			CHECK_EQ(!!(conn.actions & SDP_ACT_STATE),
				 yes && from != to);
		}
	}
}

/* R12: the first message is the RTU. */
static void message_before_rtu(void)
{
	struct sdp_conn conn;

	for (int fin = 0; fin < 2; fin++) {
		sdp_conn_init(&conn);
		sdp_conn_start(&conn, false, 0x2000);
		sdp_rx_posted(&conn, 8);
		sdp_conn_peer(&conn, &peer_full);
		CHECK_EQ(conn.state, SDP_SYN_RECV);
		CHECK_EQ(FEED(&conn, fin ? SDP_MID_DISCONN : SDP_MID_DATA,
			      .payload = fin ? 0 : 7), 0);
		CHECK_EQ(conn.state, fin ? SDP_CLOSE_WAIT : SDP_ESTABLISHED);
		sdp_established(&conn);	/* the RTU, late */
		CHECK_EQ(conn.state, fin ? SDP_CLOSE_WAIT : SDP_ESTABLISHED);
		CHECK_EQ(conn.illegal, 0);
	}
}

static void nothing_to_close(void)
{
	struct sdp_conn conn;

	sdp_conn_init(&conn);
	sdp_shutdown(&conn);
	sdp_close_timeout(&conn);
	sdp_timewait_over(&conn);
	sdp_established(&conn);
	sdp_abort(&conn, ECONNRESET);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.actions, 0);
	CHECK_EQ(conn.err, 0);
	CHECK_EQ(conn.illegal, 0);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), -ENOTCONN);
	CHECK_EQ(conn.violation, SDP_V_NONE);
	sdp_conn_start(&conn, true, 0x2000);
	sdp_shutdown(&conn);
	CHECK_EQ(conn.state, SDP_SYN_SENT);
	sdp_abort(&conn, ECONNREFUSED);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, ECONNREFUSED);
	/* A second attempt, with 1.1. */
	sdp_conn_start(&conn, true, 0x2000);
	CHECK_EQ(conn.state, SDP_SYN_SENT);
	CHECK_EQ(conn.illegal, 0);
}

const struct test state_tests[] = {
	{ "state: every transition of 8.3, every other refused", table },
	{ "state: a message before the RTU (R12)", message_before_rtu },
	{ "state: nothing to close, a second attempt", nothing_to_close },
	{ }
};

/* A connection in @state, by the ways that lead there. */
static void up_in(struct sdp_conn *conn, u8 state)
{
	conn_up(conn, true, &peer_full);
	if (state == SDP_CLOSE_WAIT || state == SDP_LAST_ACK)
		CHECK_EQ(FEED(conn, SDP_MID_DISCONN), 0);
	if (state == SDP_FIN_WAIT1 || state == SDP_FIN_WAIT2 ||
	    state == SDP_CLOSING || state == SDP_LAST_ACK ||
	    state == SDP_TIME_WAIT) {
		sdp_shutdown(conn);
		expect_mid(conn, SDP_MID_DISCONN);
	}
	if (state == SDP_FIN_WAIT2 || state == SDP_TIME_WAIT)
		sdp_tx_done(conn, SDP_MID_DISCONN);
	if (state == SDP_CLOSING || state == SDP_TIME_WAIT)
		CHECK_EQ(FEED(conn, SDP_MID_DISCONN), 0);
	CHECK_EQ(conn->state, state);
	CHECK_EQ(conn->illegal, 0);
	conn->actions &= SDP_ACT_DISCONNECT;
}

/* R81: the first closer disconnects when the second DisConn comes. */
static void first_closer(void)
{
	struct sdp_conn conn;

	up_in(&conn, SDP_FIN_WAIT2);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 3), 0);
	CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
	CHECK_EQ(FEED(&conn, SDP_MID_DISCONN), 0);
	CHECK_EQ(conn.state, SDP_TIME_WAIT);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	CHECK(conn.actions & SDP_ACT_READABLE);
	CHECK_EQ(conn.err, 0);
	sdp_timewait_over(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
}

/* R80, R81: the second sends what it likes, then waits for the DREQ. */
static void second_closer(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	up_in(&conn, SDP_CLOSE_WAIT);
	for (int i = 0; i < 50; i++)
		CHECK(next_payload(&conn, 100, &tx) && tx.payload);
	sdp_shutdown(&conn);
	CHECK_EQ(conn.state, SDP_LAST_ACK);
	expect_mid(&conn, SDP_MID_DISCONN);
	sdp_tx_done(&conn, SDP_MID_DISCONN);
	CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
	sdp_disconnected(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, 0);
	CHECK(conn.actions & SDP_ACT_RELEASE);
	CHECK(!(conn.actions & (SDP_ACT_DISCONNECT | SDP_ACT_FAIL)));
	/* The timer instead of the DREQ. */
	up_in(&conn, SDP_LAST_ACK);
	sdp_tx_done(&conn, SDP_MID_DISCONN);
	sdp_close_timeout(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, 0);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	CHECK(!(conn.actions & SDP_ACT_FAIL));
}

static void simultaneous(void)
{
	struct sdp_conn conn;

	up_in(&conn, SDP_CLOSING);
	CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
	sdp_tx_done(&conn, SDP_MID_DISCONN);
	CHECK_EQ(conn.state, SDP_TIME_WAIT);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	/* The DREQs cross (R82). */
	conn.actions = 0;
	sdp_disconnected(&conn);
	CHECK_EQ(conn.state, SDP_TIME_WAIT);
	CHECK(conn.actions & SDP_ACT_RELEASE);
	CHECK(!(conn.actions & (SDP_ACT_DISCONNECT | SDP_ACT_FAIL)));
	/* The peer's DREQ ahead of our completion. */
	up_in(&conn, SDP_CLOSING);
	sdp_disconnected(&conn);
	CHECK_EQ(conn.state, SDP_TIME_WAIT);
	CHECK_EQ(conn.err, 0);
}

/* Our DisConn still queued when the peer's arrives: we are second. */
static void queued_disconn(void)
{
	struct sdp_conn conn;
	struct sdp_tx tx;

	conn_up_with(&conn, true, &peer_full, 64, 2);
	sdp_shutdown(&conn);
	CHECK(!next_payload(&conn, 9, &tx));
	CHECK_EQ(FEED(&conn, SDP_MID_DISCONN, .bufs = 64), 0);
	CHECK_EQ(conn.state, SDP_LAST_ACK);
	CHECK(next_payload(&conn, 9, &tx));
	CHECK(tx.payload);
	expect_mid(&conn, SDP_MID_DISCONN);
	sdp_tx_done(&conn, SDP_MID_DISCONN);
	CHECK_EQ(conn.state, SDP_LAST_ACK);
	CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
	sdp_disconnected(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, 0);
}

/* 8.1: credit updates and answers go on after our DisConn. */
static void control_after_fin(void)
{
	struct sdp_conn conn;

	up_in(&conn, SDP_FIN_WAIT2);
	CHECK_EQ(FEED(&conn, SRC_AVAIL(100, 4)), 0);
	expect_mid(&conn, SDP_MID_SEND_SM);
	CHECK_EQ(FEED(&conn, SDP_MID_CH_RCV_BUF, .exts = 1, .ext = { 1 }), 0);
	sdp_resize(&conn, conn.rcv_size);
	expect_mid(&conn, SDP_MID_CH_RCV_BUF_ACK);
	sdp_rx_posted(&conn, 200);
	expect_mid(&conn, SDP_MID_DATA);
}

/* R83, R84: a DREQ in each state; the receive CQ was drained before. */
static void dreq(void)
{
	static const struct {
		u8 state, then;
		int err;
	} cases[] = {
		{ SDP_ESTABLISHED, SDP_CLOSE, ECONNRESET },
		{ SDP_FIN_WAIT1, SDP_CLOSE, ECONNRESET },
		{ SDP_FIN_WAIT2, SDP_CLOSE, ECONNRESET },
		{ SDP_CLOSE_WAIT, SDP_CLOSE, EPIPE },
		{ SDP_LAST_ACK, SDP_CLOSE, 0 },
		{ SDP_CLOSING, SDP_TIME_WAIT, 0 },
		{ SDP_TIME_WAIT, SDP_TIME_WAIT, 0 },
	};
	struct sdp_conn conn;

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		up_in(&conn, cases[i].state);
		sdp_disconnected(&conn);
		CHECK_EQ(conn.state, cases[i].then);
		CHECK_EQ(conn.err, cases[i].err);
		CHECK_EQ(!!(conn.actions & SDP_ACT_FAIL), cases[i].err != 0);
		CHECK(conn.actions & SDP_ACT_RELEASE);
		CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
		CHECK_EQ(conn.illegal, 0);
		CHECK_EQ(conn.rx_fin, cases[i].state == SDP_CLOSE_WAIT ||
			 cases[i].state == SDP_LAST_ACK ||
			 cases[i].state == SDP_CLOSING ||
			 cases[i].state == SDP_TIME_WAIT);
		expect_quiet(&conn);
	}
	/* LAST_ACK with the DisConn still queued: the writer has lost data. */
	up_in(&conn, SDP_CLOSE_WAIT);
	sdp_shutdown(&conn);
	sdp_disconnected(&conn);
	CHECK_EQ(conn.err, EPIPE);
	/* During set-up. */
	sdp_conn_init(&conn);
	sdp_conn_start(&conn, false, 0x2000);
	sdp_disconnected(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, ECONNRESET);
}

static void transport(void)
{
	static const struct {
		u8 state, then;
		int err;
	} cases[] = {
		{ SDP_ESTABLISHED, SDP_CLOSE, ETIMEDOUT },
		{ SDP_FIN_WAIT1, SDP_CLOSE, ETIMEDOUT },
		{ SDP_FIN_WAIT2, SDP_CLOSE, ETIMEDOUT },
		{ SDP_CLOSE_WAIT, SDP_CLOSE, ETIMEDOUT },
		{ SDP_LAST_ACK, SDP_CLOSE, ETIMEDOUT },
		{ SDP_CLOSING, SDP_CLOSE, ETIMEDOUT },
		{ SDP_TIME_WAIT, SDP_TIME_WAIT, 0 },
	};
	struct sdp_conn conn;

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		up_in(&conn, cases[i].state);
		sdp_transport_failed(&conn, ETIMEDOUT);
		CHECK_EQ(conn.state, cases[i].then);
		CHECK_EQ(conn.err, cases[i].err);
		CHECK(conn.actions & SDP_ACT_DISCONNECT);
		CHECK_EQ(conn.illegal, 0);
		expect_quiet(&conn);
	}
	/* All of ours arrived: nothing was lost. */
	up_in(&conn, SDP_LAST_ACK);
	sdp_tx_done(&conn, SDP_MID_DISCONN);
	sdp_transport_failed(&conn, ETIMEDOUT);
	CHECK_EQ(conn.state, SDP_CLOSE);
	CHECK_EQ(conn.err, 0);
}

static void timeouts(void)
{
	static const u8 waiting[] = { SDP_FIN_WAIT1, SDP_FIN_WAIT2,
				      SDP_CLOSING, SDP_LAST_ACK };
	static const u8 others[] = { SDP_ESTABLISHED, SDP_CLOSE_WAIT,
				     SDP_TIME_WAIT };
	struct sdp_conn conn;

	for (u32 i = 0; i < sizeof(waiting); i++) {
		up_in(&conn, waiting[i]);
		sdp_close_timeout(&conn);
		CHECK_EQ(conn.state, SDP_CLOSE);
		CHECK_EQ(conn.err, ETIMEDOUT);
		CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
		expect_mid(&conn, SDP_MID_ABORT);
		CHECK(conn.abort_pending);
		/* Its completion never comes either. */
		sdp_close_timeout(&conn);
		CHECK(conn.actions & SDP_ACT_DISCONNECT);
		CHECK(!conn.abort_pending);
		conn.actions = 0;
		sdp_close_timeout(&conn);
		sdp_tx_done(&conn, SDP_MID_ABORT);
		CHECK_EQ(conn.actions, 0);
		/* A peer that gives no credit is not waited for again. */
		up_in(&conn, waiting[i]);
		conn.credit = 0;
		sdp_close_timeout(&conn);
		CHECK_EQ(conn.err, ETIMEDOUT);
		CHECK(conn.actions & SDP_ACT_DISCONNECT);
		expect_quiet(&conn);
	}
	for (u32 i = 0; i < sizeof(others); i++) {
		up_in(&conn, others[i]);
		conn.actions = 0;
		sdp_close_timeout(&conn);
		CHECK_EQ(conn.state, others[i]);
		CHECK_EQ(conn.actions, 0);
		CHECK_EQ(conn.err, 0);
	}
}

/* R85 in each state; our own violations and R90 are no exception. */
static void aborts(void)
{
	static const u8 states[] = { SDP_ESTABLISHED, SDP_CLOSE_WAIT,
		SDP_FIN_WAIT1, SDP_FIN_WAIT2, SDP_CLOSING, SDP_LAST_ACK };
	struct sdp_conn conn;

	for (u32 i = 0; i < sizeof(states); i++) {
		for (int cause = 0; cause < 2; cause++) {
			bool fin = i >= 2;

			up_in(&conn, states[i]);
			if (cause)
				sdp_abort(&conn, ECONNABORTED);
			else
				FEED(&conn, SDP_MID_SUSP_COMM_ACK);
			CHECK_EQ(conn.state, SDP_CLOSE);
			CHECK_EQ(conn.err, cause ? ECONNABORTED : ECONNRESET);
			CHECK_EQ(!!(conn.actions & SDP_ACT_DISCONNECT), !fin);
			CHECK_EQ(conn.abort_pending, fin);
			if (fin) {
				expect_mid(&conn, SDP_MID_ABORT);
				sdp_tx_done(&conn, SDP_MID_ABORT);
			}
			CHECK(conn.actions & SDP_ACT_DISCONNECT);
			expect_quiet(&conn);
			CHECK_EQ(conn.illegal, 0);
		}
	}
	/* close() sent the DisConn; then the peer sends more. */
	conn_up(&conn, true, &peer_full);
	sdp_close_rx(&conn);
	sdp_shutdown(&conn);
	expect_mid(&conn, SDP_MID_DISCONN);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA, .payload = 4), -EPROTO);
	CHECK_EQ(conn.violation, SDP_V_R90);
	expect_mid(&conn, SDP_MID_ABORT);
	/* The DisConn only queued: no message at all. */
	conn_up(&conn, true, &peer_full);
	sdp_shutdown(&conn);
	sdp_abort(&conn, ECONNRESET);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	expect_quiet(&conn);
}

/* An AbortConn waits for credit: a bare DREQ would look graceful. */
static void abort_without_credit(void)
{
	struct sdp_conn conn;
	struct sdp_rx rx;

	up_in(&conn, SDP_FIN_WAIT2);
	conn.credit = 0;
	sdp_abort(&conn, ECONNRESET);
	CHECK(!(conn.actions & SDP_ACT_DISCONNECT));
	expect_quiet(&conn);
	CHECK_EQ(feed(&conn, (struct msg){ .mid = SDP_MID_DATA, .payload = 9,
					   .bufs = 2 }, &rx), -ENOTCONN);
	CHECK_EQ(rx.payload, 0);
	CHECK(!(conn.actions & SDP_ACT_READABLE));
	CHECK(conn.actions & SDP_ACT_PUSH);
	expect_mid(&conn, SDP_MID_ABORT);
	expect_quiet(&conn);
	CHECK_EQ(FEED(&conn, SDP_MID_DATA), -ENOTCONN);
	sdp_tx_done(&conn, SDP_MID_ABORT);
	CHECK(conn.actions & SDP_ACT_DISCONNECT);
	/* Whatever ends the QP ends the waiting. */
	for (int how = 0; how < 3; how++) {
		up_in(&conn, SDP_FIN_WAIT2);
		conn.credit = 0;
		sdp_abort(&conn, ECONNRESET);
		if (how == 0)
			sdp_disconnected(&conn);
		else if (how == 1)
			sdp_transport_failed(&conn, ETIMEDOUT);
		else
			sdp_close_timeout(&conn);
		CHECK(!conn.abort_wanted && !conn.abort_pending);
		CHECK_EQ(conn.err, ECONNRESET);
		CHECK_EQ(!!(conn.actions & SDP_ACT_DISCONNECT), how != 0);
	}
}

/* R86, and 8.4's AbortConn without DisConn. */
static void abort_received(void)
{
	static const u8 states[] = { SDP_ESTABLISHED, SDP_CLOSE_WAIT,
		SDP_FIN_WAIT1, SDP_FIN_WAIT2, SDP_CLOSING, SDP_LAST_ACK,
		SDP_TIME_WAIT };
	struct sdp_conn conn;

	for (u32 i = 0; i < sizeof(states); i++) {
		up_in(&conn, states[i]);
		CHECK_EQ(FEED(&conn, SDP_MID_ABORT), -ECONNRESET);
		CHECK_EQ(conn.state, SDP_CLOSE);
		CHECK_EQ(conn.err, ECONNRESET);
		CHECK(!conn.rx_fin);
		CHECK(conn.actions & SDP_ACT_FAIL);
		CHECK(conn.actions & SDP_ACT_DISCONNECT);
		CHECK_EQ(conn.violation, SDP_V_NONE);
		CHECK_EQ(conn.illegal, 0);
		expect_quiet(&conn);
	}
}

/* The first error stays; later ones are consequences. */
static void first_error(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_full);
	sdp_abort(&conn, ETIMEDOUT);
	sdp_abort(&conn, ECONNRESET);
	sdp_transport_failed(&conn, EIO);
	sdp_disconnected(&conn);
	FEED(&conn, SDP_MID_ABORT);
	CHECK_EQ(conn.err, ETIMEDOUT);
}

const struct test close_tests[] = {
	{ "close: first closer (R81)", first_closer },
	{ "close: second closer (R80, R81)", second_closer },
	{ "close: simultaneous, crossing DREQs (R82)", simultaneous },
	{ "close: DisConn queued when the peer's arrives", queued_disconn },
	{ "close: control messages after our DisConn", control_after_fin },
	{ "close: DREQ in each state (R83, R84)", dreq },
	{ "close: transport error in each state", transport },
	{ "close: timeouts", timeouts },
	{ "close: abort in each state (R85, R90)", aborts },
	{ "close: AbortConn without credit", abort_without_credit },
	{ "close: AbortConn received in each state (R86)", abort_received },
	{ "close: the first error stays", first_error },
	{ }
};
