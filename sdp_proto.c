// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The protocol core: parsing and validating messages, sequence and credit
 * arithmetic, which message may be sent now, flow-control modes, the peer's
 * advertisements, and closing. See sdp_proto.h for how it is driven.
 *
 * This file does no I/O, takes no lock, allocates nothing and knows no time.
 * It compiles into the module and, unchanged, into the tests of the host.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "sdp_proto.h"

#define STATE(s)	(1U << SDP_##s)

/* The legal transitions: legal_next[from] holds the states that may follow. */
static const u16 legal_next[SDP_STATES] = {
	[SDP_CLOSE]	  = STATE(SYN_SENT) | STATE(SYN_RECV) | STATE(LISTEN),
	[SDP_LISTEN]	  = STATE(CLOSE),
	[SDP_SYN_SENT]	  = STATE(ESTABLISHED) | STATE(CLOSE),
	[SDP_SYN_RECV]	  = STATE(ESTABLISHED) | STATE(CLOSE),
	[SDP_ESTABLISHED] = STATE(FIN_WAIT1) | STATE(CLOSE_WAIT) | STATE(CLOSE),
	[SDP_FIN_WAIT1]	  = STATE(FIN_WAIT2) | STATE(CLOSING) |
			    STATE(LAST_ACK) | STATE(CLOSE),
	[SDP_FIN_WAIT2]	  = STATE(TIME_WAIT) | STATE(CLOSE),
	[SDP_CLOSING]	  = STATE(TIME_WAIT) | STATE(CLOSE),
	[SDP_TIME_WAIT]	  = STATE(CLOSE),
	[SDP_CLOSE_WAIT]  = STATE(LAST_ACK) | STATE(CLOSE),
	[SDP_LAST_ACK]	  = STATE(CLOSE),
};

/* In these states messages flow. */
#define LIVE_STATES	(STATE(ESTABLISHED) | STATE(FIN_WAIT1) | \
			 STATE(FIN_WAIT2) | STATE(CLOSE_WAIT) | \
			 STATE(LAST_ACK) | STATE(CLOSING))

/* In these we wait for something of the peer or of a send. */
#define CLOSING_STATES	(STATE(FIN_WAIT1) | STATE(FIN_WAIT2) | \
			 STATE(LAST_ACK) | STATE(CLOSING))

/* In these they may arrive: around the RTU, and crossing our DREQ. */
#define RX_STATES	(LIVE_STATES | STATE(SYN_SENT) | STATE(SYN_RECV) | \
			 STATE(TIME_WAIT))

static bool state_in(const struct sdp_conn *conn, u32 states)
{
	return states & (1U << conn->state);
}

/**
 * sdp_conn_set_state - the one place where a connection's state changes
 * @conn: the connection
 * @state: the new state
 *
 * Return: false when the table has no such transition; it is then refused and
 * counted in @conn->illegal.
 */
bool sdp_conn_set_state(struct sdp_conn *conn, enum sdp_state state)
{
	if (conn->state == state)
		return true;
	if (!(legal_next[conn->state] & (1U << state))) {
		conn->illegal++;
		return false;
	}
	conn->state = state;
	conn->actions |= SDP_ACT_STATE;
	return true;
}

static const char * const violation_names[SDP_V_COUNT] = {
	[SDP_V_NONE] = "none",
	[SDP_V_R4] = "R4", [SDP_V_R5] = "R5", [SDP_V_R6] = "R6",
	[SDP_V_R7] = "R7", [SDP_V_R8] = "R8", [SDP_V_R10] = "R10",
	[SDP_V_R15] = "R15", [SDP_V_R18] = "R18", [SDP_V_R20] = "R20",
	[SDP_V_R21] = "R21", [SDP_V_R22] = "R22", [SDP_V_R26] = "R26",
	[SDP_V_R29] = "R29", [SDP_V_R32] = "R32", [SDP_V_R34] = "R34",
	[SDP_V_R35] = "R35", [SDP_V_R37] = "R37", [SDP_V_R41] = "R41",
	[SDP_V_R42] = "R42", [SDP_V_R43] = "R43", [SDP_V_R44] = "R44",
	[SDP_V_R48] = "R48", [SDP_V_R53] = "R53", [SDP_V_R60] = "R60",
	[SDP_V_R67] = "R67", [SDP_V_R88] = "R88", [SDP_V_R90] = "R90",
	[SDP_V_R91] = "R91", [SDP_V_R94] = "R94",
};

/**
 * sdp_violation_name - the rule that was violated, as "R15"
 * @violation: what sdp_conn.violation or a parser returned
 */
const char *sdp_violation_name(enum sdp_violation violation)
{
	return violation < SDP_V_COUNT ? violation_names[violation] : "unknown";
}

/* End the connection with @err for the user; the peer gets a DREQ. */
static void fail(struct sdp_conn *conn, int err)
{
	if (conn->state == SDP_CLOSE || conn->state == SDP_TIME_WAIT)
		return;
	conn->err = err;
	conn->aborted = true;
	sdp_conn_set_state(conn, SDP_CLOSE);
	conn->actions |= SDP_ACT_FAIL | SDP_ACT_DISCONNECT;
}

static int violated(struct sdp_conn *conn, enum sdp_violation violation)
{
	if (conn->violation == SDP_V_NONE)
		conn->violation = violation;
	sdp_abort(conn, ECONNRESET);
	return -EPROTO;
}

/* ---- A connection's life begins ----------------------------------------- */

/**
 * sdp_conn_init - a connection that does not exist yet: CLOSE, all zero
 * @conn: the connection
 */
void sdp_conn_init(struct sdp_conn *conn)
{
	memset(conn, 0, sizeof(*conn));
	conn->state = SDP_CLOSE;
}

/**
 * sdp_conn_start - begin an attempt to connect, or a passive connection
 * @conn: in CLOSE
 * @active: we send the Hello
 * @rcv_size: S of our receive buffers, bytes
 *
 * All counters start at 0 and both halves in Combined (R13, 1.7).
 */
void sdp_conn_start(struct sdp_conn *conn, bool active, u32 rcv_size)
{
	sdp_conn_init(conn);
	conn->active = active;
	conn->tx_mode = SDP_COMBINED;
	conn->rx_mode = SDP_COMBINED;
	conn->rcv_size = rcv_size;
	conn->rcv_limit = rcv_size;
	sdp_conn_set_state(conn, active ? SDP_SYN_SENT : SDP_SYN_RECV);
}

/**
 * sdp_peer_kind - what the other end is, as far as its Hello tells (11.1)
 * @peer: its parameters
 */
enum sdp_peer_kind sdp_peer_kind(const struct sdp_params *peer)
{
	if (peer->major == 1)
		return SDP_PEER_V1;
	if (peer->max_adverts > 1)
		return SDP_PEER_FULL;
	return peer->rcv_size % 4096 == 16 ? SDP_PEER_OFED : SDP_PEER_COPY;
}

/**
 * sdp_conn_peer - take over what the peer said in Hello or HelloAck
 * @conn: started
 * @peer: parsed and found good
 *
 * Our Bufs of the Hello or HelloAck are what is posted now (R4).
 */
void sdp_conn_peer(struct sdp_conn *conn, const struct sdp_params *peer)
{
	conn->major = peer->major;
	conn->peer_kind = sdp_peer_kind(peer);
	conn->max_adverts = peer->max_adverts;
	conn->credit = peer->bufs;
	conn->peer_rcv_size = peer->rcv_size;
	conn->granted = min_t(u32, conn->posted, 0xffff);
}

/* ---- Receiving ---------------------------------------------------------- */

/**
 * sdp_rx_posted - receive buffers were posted
 * @conn: the connection
 * @buffers: how many
 */
void sdp_rx_posted(struct sdp_conn *conn, u32 buffers)
{
	conn->posted += buffers;
	conn->actions |= SDP_ACT_PUSH;
}

static struct sdp_advert *oldest_advert(struct sdp_conn *conn)
{
	return &conn->advert[conn->advert_first];
}

static void drop_oldest_advert(struct sdp_conn *conn)
{
	conn->advert_first = (conn->advert_first + 1) % SDP_MAX_ADVERTS;
	conn->adverts--;
}

/*
 * A SrcAvail of a v1.1 peer is read into private memory; it does not know what
 * to do with a SendSm (5.5). Everybody else is asked to send Data.
 */
static bool serve_by_read(const struct sdp_conn *conn)
{
	return conn->peer_kind == SDP_PEER_V1;
}

/* Every payload of the peer's half goes through here once. */
static int take_payload(struct sdp_conn *conn, struct sdp_rx *rx)
{
	if (conn->rx_fin)
		return violated(conn, SDP_V_R88);
	/* R26: the peer cannot know of more credits than were ever posted. */
	if (conn->posted - conn->received < SDP_MIN_CREDITS - 1)
		return violated(conn, SDP_V_R26);
	if (conn->rx_closed)
		return violated(conn, SDP_V_R90);
	conn->nd++;
	conn->actions |= SDP_ACT_READABLE;
	return 0;
}

static int rx_data(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		   const u8 *ext, struct sdp_rx *rx)
{
	if (!rx->payload) {
		rx->update = true;
		conn->last_rx_empty = true;
		return 0;
	}
	/* With adverts incomplete only what our SendSm asked for (R47). */
	if (conn->adverts && rx->payload > conn->owed)
		return violated(conn, conn->rx_mode == SDP_PIPELINED ?
				SDP_V_R43 : SDP_V_R42);
	conn->owed -= min(conn->owed, rx->payload);
	rx->urgent = bsdh->flags & SDP_FLAG_OOB_PRES;
	return take_payload(conn, rx);
}

/* Is a SrcAvail legal in the mode of the peer's half (R37, R41..R43, R53)? */
static enum sdp_violation judge_src_avail(const struct sdp_conn *conn,
					  u32 payload, u32 len, u64 va)
{
	if (conn->cancelled)
		return SDP_V_R53;
	if (!len || len > 1U << 31 || va + len < va)
		return SDP_V_R41;
	switch (conn->rx_mode) {
	case SDP_COMBINED:
		if (conn->adverts || conn->owed)
			return SDP_V_R42;
		return payload && len > payload ? SDP_V_NONE : SDP_V_R41;
	case SDP_PIPELINED:
		return !payload && conn->adverts < SDP_MAX_ADVERTS ?
			SDP_V_NONE : SDP_V_R43;
	default:
		return SDP_V_R37;
	}
}

static int rx_src_avail(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			const u8 *ext, struct sdp_rx *rx)
{
	enum sdp_violation violation;
	struct sdp_advert *advert;
	struct sdp_src_avail src;
	u32 len;
	u64 va;

	memcpy(&src, ext, sizeof(src));
	len = be32_to_cpu(src.len);
	va = (u64)be32_to_cpu(src.va_hi) << 32 | be32_to_cpu(src.va_lo);
	if (conn->rx_fin)
		return violated(conn, SDP_V_R88);
	if (conn->rx_closed)
		return violated(conn, SDP_V_R90);
	violation = judge_src_avail(conn, rx->payload, len, va);
	if (violation != SDP_V_NONE)
		return violated(conn, violation);
	if (rx->payload && take_payload(conn, rx))
		return -EPROTO;

	advert = &conn->advert[(conn->advert_first + conn->adverts) %
			       SDP_MAX_ADVERTS];
	advert->len = len;
	advert->rkey = be32_to_cpu(src.rkey);
	advert->va = va;
	advert->done = rx->payload;
	advert->unreported = 0;
	conn->adverts++;
	conn->actions |= serve_by_read(conn) ? SDP_ACT_READ : SDP_ACT_PUSH;
	return 0;
}

static int rx_src_cancel(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			 const u8 *ext, struct sdp_rx *rx)
{
	if (!conn->adverts) {	/* R54 */
		/* Our SendSm crossed it: the rest may never come (5.5). */
		conn->owed = 0;
		return 0;
	}
	if (conn->cancelled)
		return violated(conn, SDP_V_R53);
	conn->cancelled = true;
	conn->cancel_mseq = be32_to_cpu(bsdh->mseq);
	conn->actions |= SDP_ACT_PUSH;
	return 0;
}

static int rx_disconn(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		      const u8 *ext, struct sdp_rx *rx)
{
	if (conn->rx_fin)
		return violated(conn, SDP_V_R88);
	if (conn->adverts)
		return violated(conn, SDP_V_R42);
	conn->rx_fin = true;
	conn->actions |= SDP_ACT_READABLE;
	switch (conn->state) {
	case SDP_ESTABLISHED:
		sdp_conn_set_state(conn, SDP_CLOSE_WAIT);
		break;
	case SDP_FIN_WAIT1:
		/*
		 * A DisConn that still waits behind queued data makes us the
		 * second closer, who leaves the DREQ to the peer (R81).
		 */
		sdp_conn_set_state(conn, conn->fin_sent ? SDP_CLOSING :
				   SDP_LAST_ACK);
		break;
	case SDP_FIN_WAIT2:
		sdp_conn_set_state(conn, SDP_TIME_WAIT);
		conn->actions |= SDP_ACT_DISCONNECT;
		break;
	default:
		break;
	}
	return 0;
}

static int rx_abort(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		    const u8 *ext, struct sdp_rx *rx)
{
	conn->rx_fin = false;	/* R86: the end of file is forgotten */
	if (conn->state == SDP_TIME_WAIT) {	/* our DREQ is on its way */
		conn->err = ECONNRESET;
		conn->aborted = true;
		sdp_conn_set_state(conn, SDP_CLOSE);
		conn->actions |= SDP_ACT_FAIL;
	}
	fail(conn, ECONNRESET);
	return -ECONNRESET;
}

static int rx_mode_change(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			  const u8 *ext, struct sdp_rx *rx)
{
	switch (ext[0] & SDP_MCH_MASK) {
	case SDP_MCH_TO_BUFFERED:
		if (conn->rx_mode != SDP_COMBINED)
			break;
		if (conn->adverts)
			return violated(conn, SDP_V_R35);
		conn->rx_mode = SDP_BUFFERED;
		return 0;
	case SDP_MCH_TO_PIPELINED:
		if (conn->rx_mode != SDP_COMBINED)
			break;
		conn->rx_mode = SDP_PIPELINED;
		return 0;
	case SDP_MCH_PIPE_TO_COMB:
		if (conn->rx_mode != SDP_PIPELINED)
			break;
		conn->rx_mode = SDP_COMBINED;
		return 0;
	case SDP_MCH_BUF_TO_COMB:
		if (conn->tx_mode != SDP_BUFFERED)
			break;
		conn->tx_mode = SDP_COMBINED;
		return 0;
	}
	return violated(conn, SDP_V_R34);
}

static int rx_ch_rcv_buf(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			 const u8 *ext, struct sdp_rx *rx)
{
	u32 ack = be32_to_cpu(bsdh->mseq_ack);
	__be32 size;

	if (conn->resize_busy)
		return violated(conn, SDP_V_R91);
	if (conn->grow_sent && (s32)(ack - conn->grow_mseq) < 0) {
		/* Crossed (R93): the accepting end's request wins. */
		if (!conn->active)
			return 0;
		conn->grow_sent = false;
		conn->grow_wanted = true;
	}
	memcpy(&size, ext, sizeof(size));
	conn->resize_busy = true;
	conn->resize_decided = false;
	conn->resize_to = be32_to_cpu(size);
	conn->resize_pages = conn->resize_to % 4096 == 0;
	conn->actions |= SDP_ACT_RESIZE;
	return 0;
}

static int rx_ch_rcv_buf_ack(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			     const u8 *ext, struct sdp_rx *rx)
{
	__be32 be_size;
	u32 size;

	if (!conn->grow_sent)	/* R96 */
		return 0;
	memcpy(&be_size, ext, sizeof(be_size));
	size = be32_to_cpu(be_size);
	conn->grow_sent = false;
	if (size < conn->peer_rcv_size)
		return violated(conn, SDP_V_R91);
	if (size == conn->peer_rcv_size)
		conn->grow_refused = true;
	conn->peer_rcv_size = size;
	return 0;
}

/* These need an advertisement of ours, and there is none. */
static int rx_rdma_rd_compl(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			    const u8 *ext, struct sdp_rx *rx)
{
	return violated(conn, SDP_V_R44);
}

static int rx_send_sm(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		      const u8 *ext, struct sdp_rx *rx)
{
	return violated(conn, SDP_V_R48);
}

static int rx_rdma_wr_compl(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			    const u8 *ext, struct sdp_rx *rx)
{
	return violated(conn, SDP_V_R67);
}

/* Our half is never Pipelined, so the peer may not advertise sinks (R60). */
static int rx_sink_avail(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			 const u8 *ext, struct sdp_rx *rx)
{
	return violated(conn, SDP_V_R60);
}

/* SinkAvailCancel with nothing to cancel (R71), an unexpected ack (R96). */
static int rx_ignored(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		      const u8 *ext, struct sdp_rx *rx)
{
	return 0;
}

/* Duplication of sockets is not served: the peer must not wait (R94). */
static int rx_susp_comm(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
			const u8 *ext, struct sdp_rx *rx)
{
	return violated(conn, SDP_V_R94);
}

struct message_type {
	u8 mid;
	u8 ext;			/* bytes of the extended header */
	bool payload;		/* may carry payload */
	bool solicited;		/* chapter 10 */
	const char *name;
	int (*rx)(struct sdp_conn *conn, const struct sdp_bsdh *bsdh,
		  const u8 *ext, struct sdp_rx *rx);
};

static const struct message_type message_types[] = {
	{ SDP_MID_DATA, 0, true, false, "Data", rx_data },
	{ SDP_MID_SRC_AVAIL, 16, true, false, "SrcAvail", rx_src_avail },
	{ SDP_MID_SINK_AVAIL, 20, true, false, "SinkAvail", rx_sink_avail },
	{ SDP_MID_DISCONN, 0, false, false, "DisConn", rx_disconn },
	{ SDP_MID_ABORT, 0, false, true, "AbortConn", rx_abort },
	{ SDP_MID_SEND_SM, 0, false, true, "SendSm", rx_send_sm },
	{ SDP_MID_RDMA_WR_COMPL, 4, false, true, "RdmaWrCompl",
	  rx_rdma_wr_compl },
	{ SDP_MID_RDMA_RD_COMPL, 4, false, true, "RdmaRdCompl",
	  rx_rdma_rd_compl },
	{ SDP_MID_MODE_CHANGE, 4, false, false, "ModeChange", rx_mode_change },
	{ SDP_MID_SRC_CANCEL, 0, false, true, "SrcAvailCancel", rx_src_cancel },
	{ SDP_MID_SINK_CANCEL, 0, false, true, "SinkAvailCancel", rx_ignored },
	{ SDP_MID_SINK_CANCEL_ACK, 0, false, true, "SinkCancelAck",
	  rx_ignored },
	{ SDP_MID_CH_RCV_BUF, 4, false, false, "ChRcvBuf", rx_ch_rcv_buf },
	{ SDP_MID_CH_RCV_BUF_ACK, 4, false, false, "ChRcvBufAck",
	  rx_ch_rcv_buf_ack },
	{ SDP_MID_SUSP_COMM, 8, false, true, "SuspComm", rx_susp_comm },
	{ SDP_MID_SUSP_COMM_ACK, 0, false, true, "SuspCommAck", rx_susp_comm },
};

static const struct message_type *message_type(u8 mid)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(message_types); i++)
		if (message_types[i].mid == mid)
			return &message_types[i];
	return NULL;
}

/**
 * sdp_mid_name - the message's name as the specification has it
 * @mid: the message id
 */
const char *sdp_mid_name(u8 mid)
{
	const struct message_type *type = message_type(mid);

	return type ? type->name : "unknown";
}

/* Sequence and credits, before anything else (R14, R18, R20, R22, R29). */
static enum sdp_violation rx_account(struct sdp_conn *conn,
				     const struct sdp_bsdh *bsdh)
{
	u32 mseq = be32_to_cpu(bsdh->mseq);
	u32 ack = be32_to_cpu(bsdh->mseq_ack);
	u32 in_flight = conn->tx_mseq - ack;

	if (conn->posted == conn->received)
		return SDP_V_R29;
	conn->received++;
	if (conn->granted)
		conn->granted--;

	if (conn->rx_started ? mseq != conn->rx_mseq + 1 : mseq > 1)
		return SDP_V_R18;
	conn->rx_started = true;
	conn->rx_mseq = mseq;

	if ((s32)in_flight < 0)
		return SDP_V_R20;
	if (be16_to_cpu(bsdh->bufs) < in_flight)
		return SDP_V_R22;
	conn->credit = be16_to_cpu(bsdh->bufs) - in_flight;
	return SDP_V_NONE;
}

/* All buffers of the old size are consumed: the new one may be told (9.1). */
static void resize_progress(struct sdp_conn *conn)
{
	if (conn->resize_busy && conn->resize_decided && !conn->resize_ack &&
	    (s32)(conn->received - conn->resize_mark) >= 0) {
		conn->resize_ack = true;
		conn->rcv_size = conn->resize_to;
		conn->actions |= SDP_ACT_PUSH;
	}
}

/**
 * sdp_rx - a message arrived
 * @conn: the connection; a message before the RTU establishes it (R12)
 * @message: its first min(@len, SDP_HEADER_MAX) bytes at least
 * @len: bytes received
 * @rx: says what it holds for the user
 *
 * Validates everything before it is used (8.6). Return: 0; -ENOTCONN when there
 * is no connection (any more); another negative errno after the connection was
 * failed: @conn->violation then names the rule, unless the peer aborted.
 */
int sdp_rx(struct sdp_conn *conn, const void *message, u32 len,
	   struct sdp_rx *rx)
{
	const struct message_type *type;
	enum sdp_violation violation;
	struct sdp_bsdh bsdh;
	u32 header;

	memset(rx, 0, sizeof(*rx));
	if (!state_in(conn, RX_STATES) && !conn->abort_wanted)
		return -ENOTCONN;
	if (len < sizeof(bsdh))
		return violated(conn, SDP_V_R15);
	memcpy(&bsdh, message, sizeof(bsdh));
	if (be32_to_cpu(bsdh.len) != len)
		return violated(conn, SDP_V_R15);
	if (len > conn->rcv_limit)
		return violated(conn, SDP_V_R32);
	violation = rx_account(conn, &bsdh);
	if (violation != SDP_V_NONE)
		return violated(conn, violation);

	conn->actions |= SDP_ACT_PUSH;
	if (conn->aborted)	/* credits for the AbortConn, nothing else */
		return -ENOTCONN;
	sdp_established(conn);	/* R12 */
	conn->last_rx_empty = false;
	resize_progress(conn);
	rx->mid = bsdh.mid;
	if (bsdh.mid >= 0x40 && bsdh.mid <= 0x7f)	/* experimental */
		return 0;
	type = message_type(bsdh.mid);
	if (!type)
		return violated(conn, SDP_V_R21);
	header = sizeof(bsdh) + type->ext;
	if (len < header || (len > header && !type->payload))
		return violated(conn, SDP_V_R15);
	rx->offset = header;
	rx->payload = len - header;
	if (bsdh.flags & SDP_FLAG_OOB_PEND && !conn->rx_fin)	/* R77 */
		conn->actions |= SDP_ACT_URGENT;
	return type->rx(conn, &bsdh, (const u8 *)message + sizeof(bsdh), rx);
}

/*
 * OFED counts the payload only in these two messages, whole pages, and takes
 * the answer for its new payload limit: it would send 16 bytes too many (9.1).
 */
static u32 resize_answer(const struct sdp_conn *conn, u32 size)
{
	bool payload_only = conn->resize_pages &&
			    (conn->peer_kind == SDP_PEER_OFED ||
			     conn->peer_kind == SDP_PEER_COPY);

	return payload_only ? size - sizeof(struct sdp_bsdh) : size;
}

/**
 * sdp_resize - answer SDP_ACT_RESIZE: the size of the buffers posted from now
 * @conn: with a ChRcvBuf to be answered
 * @size: new S, bytes; the present one refuses
 *
 * The ChRcvBufAck goes when all buffers of the old size are consumed, at once
 * when nothing changes (R91).
 */
void sdp_resize(struct sdp_conn *conn, u32 size)
{
	conn->resize_to = size;
	conn->resize_mark = size > conn->rcv_size ? conn->posted :
			    conn->received;
	if (size > conn->rcv_size)
		conn->rcv_limit = size + SDP_RCV_SPARE;
	conn->actions &= ~SDP_ACT_RESIZE;
	conn->resize_decided = true;
	resize_progress(conn);
}

/**
 * sdp_read_next - the next RDMA READ that the peer's SrcAvails ask for
 * @conn: the connection
 * @max: bytes that there is memory for
 * @read: receives what to read
 *
 * One READ at a time, in stream order (R46, R98). Return: false if there is
 * nothing to read now. After true the caller posts it and calls
 * sdp_read_done(), or fails the connection.
 */
bool sdp_read_next(struct sdp_conn *conn, u32 max, struct sdp_read *read)
{
	struct sdp_advert *advert = oldest_advert(conn);

	if (!conn->adverts || conn->reading || conn->cancelled || !max ||
	    conn->aborted || !serve_by_read(conn) || advert->done == advert->len)
		return false;
	read->va = advert->va + advert->done;
	read->rkey = advert->rkey;
	read->len = min(max, advert->len - advert->done);
	conn->reading = true;
	return true;
}

/**
 * sdp_read_done - the RDMA READ completed; its bytes are delivered
 * @conn: the connection
 * @len: bytes read
 */
void sdp_read_done(struct sdp_conn *conn, u32 len)
{
	struct sdp_advert *advert = oldest_advert(conn);

	conn->reading = false;
	advert->done += len;
	advert->unreported += len;
	conn->actions |= SDP_ACT_READABLE | SDP_ACT_PUSH | SDP_ACT_READ;
}

/* ---- Sending ------------------------------------------------------------ */

static u32 available(const struct sdp_conn *conn)
{
	return min_t(u32, conn->posted - conn->received, 0xffff);
}

/* MSeqAck for the next message: held back during a cancel (R19, R55, R56). */
static u32 ack_to_send(const struct sdp_conn *conn, u8 mid)
{
	if (conn->cancelled && mid != SDP_MID_SEND_SM)
		return conn->cancel_mseq - 1;
	return conn->rx_mseq;
}

/*
 * Credits that the peer will think it has after a message with @ack sent now:
 * it takes what is not acknowledged for still under way (3.3, 3.4).
 */
static u32 grant(const struct sdp_conn *conn, u32 ack)
{
	u32 held = conn->rx_mseq - ack;
	u32 avail = available(conn);

	return avail > held ? avail - held : 0;
}

/* Credits that @mid sent now would bring the peer (3.5). */
static u32 news(const struct sdp_conn *conn, u8 mid)
{
	u32 next = grant(conn, ack_to_send(conn, mid));

	return next > conn->granted ? next - conn->granted : 0;
}

/*
 * While MSeqAck is held back a message must not take credits back: the peer may
 * have used them, and its difference would wrap. Only buffers of the held
 * messages that are not yet posted again bring this about.
 */
static bool would_revoke(const struct sdp_conn *conn, u8 mid)
{
	return grant(conn, ack_to_send(conn, mid)) < conn->granted;
}

static bool may_send_control(const struct sdp_conn *conn, u8 mid)
{
	if (would_revoke(conn, mid))
		return false;
	return conn->credit >= 2 || (conn->credit == 1 && news(conn, mid));
}

/**
 * sdp_update_deferred - does a credit update wait for the persist timer?
 * @conn: the connection
 *
 * With both readers stalled at the reserve every empty Data obliges its
 * receiver (R27) to send one, which obliges the sender: for ever. Here the
 * chain ends, and the caller calls sdp_probe() after the persist time, as it
 * does for payload held back by missing credits.
 */
bool sdp_update_deferred(const struct sdp_conn *conn)
{
	return state_in(conn, LIVE_STATES) && !conn->probe &&
	       conn->last_rx_empty && conn->granted == 1 &&
	       conn->credit < SDP_MIN_CREDITS &&
	       available(conn) < SDP_MIN_CREDITS && news(conn, SDP_MID_DATA);
}

/*
 * R27 and the policy of 3.6. R31: where an update for every empty Data would
 * make the other end send one too, for ever, only every second is answered.
 * That is so with three buffers, be it all or what a stalled reader leaves.
 */
static bool update_due(const struct sdp_conn *conn)
{
	u32 fresh = news(conn, SDP_MID_DATA);

	if (!fresh || !conn->credit)
		return false;
	if (conn->granted <= 1)
		return !sdp_update_deferred(conn);
	if (conn->last_rx_empty && available(conn) <= SDP_MIN_CREDITS)
		return false;
	return conn->granted == 2 || fresh >= max(2U, available(conn) / 2);
}

/*
 * The probe obliges the peer to answer, and its answer takes one of our
 * buffers. With two left that would oblige us in turn: two ends whose readers
 * are both stalled would never fall silent.
 */
static bool probe_due(const struct sdp_conn *conn,
		      const struct sdp_tx_queue *queue)
{
	return conn->probe && conn->credit == SDP_MIN_CREDITS - 1 &&
	       queue->payload && available(conn) >= SDP_MIN_CREDITS;
}

/* An RdmaRdCompl is owed: all is read, or a cancel ends the reading. */
static bool read_report_due(struct sdp_conn *conn)
{
	struct sdp_advert *advert = oldest_advert(conn);

	return conn->adverts && !conn->reading && advert->unreported &&
	       (advert->done == advert->len || conn->cancelled);
}

/* With no report due: refuse the oldest SrcAvail, or answer a cancel (R56). */
static bool send_sm_due(const struct sdp_conn *conn)
{
	return conn->adverts && !conn->reading &&
	       (conn->cancelled || !serve_by_read(conn));
}

static bool fin_due(const struct sdp_conn *conn,
		    const struct sdp_tx_queue *queue)
{
	return conn->fin_wanted && !conn->fin_sent && !queue->payload;
}

/* Nagle: a message that is not full waits while payload is in flight. */
static bool payload_due(const struct sdp_conn *conn,
			const struct sdp_tx_queue *queue)
{
	if (!queue->payload || conn->fin_sent)
		return false;
	if (queue->full || queue->more || queue->urgent || conn->fin_wanted)
		return true;
	if (queue->cork)
		return false;
	return queue->nodelay || !queue->in_flight;
}

/* Everything but Data; it may go ahead of queued payload (3.5). */
static bool choose_control(struct sdp_conn *conn,
			   const struct sdp_tx_queue *queue, u8 *mid)
{
	if (read_report_due(conn))
		*mid = SDP_MID_RDMA_RD_COMPL;
	else if (send_sm_due(conn))
		*mid = SDP_MID_SEND_SM;
	else if (conn->resize_ack)
		*mid = SDP_MID_CH_RCV_BUF_ACK;
	else if (fin_due(conn, queue))
		*mid = SDP_MID_DISCONN;
	else if (conn->grow_wanted && !conn->resize_busy && !conn->fin_sent)
		*mid = SDP_MID_CH_RCV_BUF;
	else
		return false;
	return may_send_control(conn, *mid);
}

/* Which message goes now? false: none. */
static bool choose(struct sdp_conn *conn, const struct sdp_tx_queue *queue,
		   u8 *mid)
{
	if (conn->aborted) {
		*mid = SDP_MID_ABORT;
		return conn->abort_wanted && may_send_control(conn, *mid);
	}
	if (!state_in(conn, LIVE_STATES))
		return false;
	if (choose_control(conn, queue, mid))
		return true;
	*mid = SDP_MID_DATA;
	if (would_revoke(conn, *mid))
		return false;
	return (conn->credit >= SDP_MIN_CREDITS && payload_due(conn, queue)) ||
	       update_due(conn) || probe_due(conn, queue);
}

static u32 put_be32(u8 *to, u32 value)
{
	__be32 be = cpu_to_be32(value);

	memcpy(to, &be, sizeof(be));
	return sizeof(be);
}

static void report_read(struct sdp_conn *conn, u8 *ext)
{
	struct sdp_advert *advert = oldest_advert(conn);

	put_be32(ext, advert->unreported);
	advert->unreported = 0;
	if (advert->done < advert->len)
		return;
	drop_oldest_advert(conn);
	if (!conn->adverts)
		conn->cancelled = false;
	else if (!conn->cancelled)
		conn->actions |= SDP_ACT_READ;
}

/* After a cancel the remainder is not owed: the Source decides (5.7). */
static void refuse_advert(struct sdp_conn *conn)
{
	struct sdp_advert *advert = oldest_advert(conn);

	if (conn->cancelled) {
		conn->adverts = 0;
		conn->owed = 0;
		conn->cancelled = false;
		return;
	}
	conn->owed += advert->len - advert->done;
	drop_oldest_advert(conn);
}

/*
 * What sending @mid changes; fills the extended header, returns its length.
 * MSeqAck of the RdmaRdCompl stays below a cancel's MSeq even though the
 * report may end the cancel: the caller samples it first (R55).
 */
static u32 sending(struct sdp_conn *conn, u8 mid, u8 *ext)
{
	switch (mid) {
	case SDP_MID_RDMA_RD_COMPL:
		report_read(conn, ext);
		return 4;
	case SDP_MID_SEND_SM:
		refuse_advert(conn);
		return 0;
	case SDP_MID_CH_RCV_BUF_ACK:
		conn->resize_ack = false;
		conn->resize_busy = false;
		return put_be32(ext, resize_answer(conn, conn->resize_to));
	case SDP_MID_CH_RCV_BUF:
		conn->grow_wanted = false;
		conn->grow_sent = true;
		conn->grow_mseq = conn->tx_mseq + 1;
		return put_be32(ext, conn->grow_to);
	case SDP_MID_DISCONN:
		conn->fin_sent = true;
		return 0;
	case SDP_MID_ABORT:
		conn->abort_wanted = false;
		return 0;
	default:
		return 0;
	}
}

/**
 * sdp_tx_next - decide on and build the message that may be posted now
 * @conn: the connection
 * @queue: what the user has to send
 * @tx: receives the message
 *
 * MSeq, Bufs and MSeqAck are a consistent snapshot taken here (R29): the
 * caller must post in the order of the calls, with what is posted to the
 * receive queue reported before. Return: false if nothing may go (R23..R26).
 */
bool sdp_tx_next(struct sdp_conn *conn, const struct sdp_tx_queue *queue,
		 struct sdp_tx *tx)
{
	struct sdp_bsdh bsdh = {};
	u32 ack, ext, len;
	u8 mid;

	if (!choose(conn, queue, &mid))
		return false;
	ack = ack_to_send(conn, mid);
	tx->mid = mid;
	tx->payload = mid == SDP_MID_DATA && conn->credit >= SDP_MIN_CREDITS &&
		      payload_due(conn, queue);
	tx->solicited = message_type(mid)->solicited;
	if (tx->payload) {
		conn->pnd++;
		if (queue->urgent) {
			bsdh.flags = SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND;
			tx->solicited = true;
		}
	}
	ext = sending(conn, mid, tx->header + sizeof(bsdh));
	len = sizeof(bsdh) + ext + (tx->payload ? queue->payload : 0);

	conn->probe = false;
	conn->granted = grant(conn, ack);
	conn->credit--;
	bsdh.mid = mid;
	bsdh.bufs = cpu_to_be16(available(conn));
	bsdh.len = cpu_to_be32(len);
	bsdh.mseq = cpu_to_be32(++conn->tx_mseq);
	bsdh.mseq_ack = cpu_to_be32(ack);
	memcpy(tx->header, &bsdh, sizeof(bsdh));
	tx->header_len = sizeof(bsdh) + ext;
	return true;
}

/**
 * sdp_tx_done - the send of a message completed without error
 * @conn: the connection
 * @mid: of the message
 */
void sdp_tx_done(struct sdp_conn *conn, u8 mid)
{
	if (mid == SDP_MID_ABORT && conn->abort_pending) {
		conn->abort_pending = false;
		conn->actions |= SDP_ACT_DISCONNECT;
	}
	if (mid != SDP_MID_DISCONN)
		return;
	conn->fin_done = true;
	if (conn->state == SDP_FIN_WAIT1) {
		sdp_conn_set_state(conn, SDP_FIN_WAIT2);
	} else if (conn->state == SDP_CLOSING) {
		sdp_conn_set_state(conn, SDP_TIME_WAIT);
		conn->actions |= SDP_ACT_DISCONNECT;
	}
}

/**
 * sdp_tx_room - the most payload that one Data message may carry, bytes (R32)
 * @conn: with a known peer
 */
u32 sdp_tx_room(const struct sdp_conn *conn)
{
	return min_t(u32, conn->peer_rcv_size, SDP_MAX_RCV_SIZE) -
	       sizeof(struct sdp_bsdh);
}

/**
 * sdp_tx_starved - is queued payload held back by missing credits?
 * @conn: the connection
 */
bool sdp_tx_starved(const struct sdp_conn *conn)
{
	return state_in(conn, LIVE_STATES) && conn->credit < SDP_MIN_CREDITS;
}

/**
 * sdp_grow_peer - the user sends much: ask the peer for larger buffers (9.1)
 * @conn: the connection
 *
 * Only peers known to serve it in the same units are asked, once.
 */
void sdp_grow_peer(struct sdp_conn *conn)
{
	if (conn->peer_kind != SDP_PEER_FULL || conn->grow_sent ||
	    conn->grow_wanted || conn->grow_refused ||
	    conn->peer_rcv_size >= SDP_MAX_RCV_SIZE)
		return;
	conn->grow_wanted = true;
	conn->grow_to = SDP_MAX_RCV_SIZE;
}

/**
 * sdp_probe - the persist timer ran out (3.6)
 * @conn: with payload held back by missing credits, or an update deferred
 *
 * An empty Data brings the grant down to where the peer must refresh it. Not
 * while our own reader is stalled at the reserve, see probe_due().
 */
void sdp_probe(struct sdp_conn *conn)
{
	conn->probe = true;
	conn->actions |= SDP_ACT_PUSH;
}

/* ---- Closing: chapter 8 ------------------------------------------------- */

/**
 * sdp_established - REP, RTU, or a first message before the RTU (1.8, R12)
 * @conn: in SYN_SENT or SYN_RECV; otherwise nothing happens
 */
void sdp_established(struct sdp_conn *conn)
{
	if (!state_in(conn, STATE(SYN_SENT) | STATE(SYN_RECV)))
		return;
	sdp_conn_set_state(conn, SDP_ESTABLISHED);
	conn->actions |= SDP_ACT_PUSH;
}

/**
 * sdp_shutdown - the user sends no more: DisConn follows the queue (8.1, R79)
 * @conn: the connection
 */
void sdp_shutdown(struct sdp_conn *conn)
{
	if (conn->state == SDP_ESTABLISHED)
		sdp_conn_set_state(conn, SDP_FIN_WAIT1);
	else if (conn->state == SDP_CLOSE_WAIT)
		sdp_conn_set_state(conn, SDP_LAST_ACK);
	else
		return;
	conn->fin_wanted = true;
	conn->actions |= SDP_ACT_PUSH;
}

/**
 * sdp_close_rx - the user will never read again: payload aborts (R90)
 * @conn: the connection
 *
 * A SrcAvail that is not served yet is unread data: it aborts at once (R89).
 */
void sdp_close_rx(struct sdp_conn *conn)
{
	conn->rx_closed = true;
	if (conn->adverts && state_in(conn, LIVE_STATES))
		sdp_abort(conn, ECONNRESET);
}

/**
 * sdp_abort - end the connection abortively (8.4, R85, R89)
 * @conn: the connection
 * @err: positive errno for our own user
 *
 * Before the DisConn: a DREQ at once. After it: AbortConn as soon as there is
 * credit for it, and the DREQ when that was sent. A bare DREQ would tell the
 * peer that the close was graceful. Meanwhile the state is CLOSE already, but
 * with @conn->abort_pending the caller keeps QP, completions and close timer:
 * sdp_close_timeout() ends the wait for a peer that gives no credit.
 */
void sdp_abort(struct sdp_conn *conn, int err)
{
	bool announce = conn->fin_sent && state_in(conn, LIVE_STATES);

	fail(conn, err);
	if (!announce)
		return;
	conn->abort_wanted = true;
	conn->abort_pending = true;
	conn->actions &= ~SDP_ACT_DISCONNECT;
	conn->actions |= SDP_ACT_PUSH;
}

/* The QP is gone; the DisConns decide what the user is told (R83, R84). */
static void ended(struct sdp_conn *conn, int err)
{
	conn->abort_wanted = false;
	conn->abort_pending = false;
	switch (conn->state) {
	case SDP_CLOSE:
	case SDP_TIME_WAIT:
		break;
	case SDP_LAST_ACK:
	case SDP_CLOSING:
	case SDP_CLOSE_WAIT:
		/* All of ours arrived: a clean end. */
		if (conn->fin_done)
			sdp_conn_set_state(conn, SDP_CLOSE);
		else	/* the reader sees all data and EOF, the writer EPIPE */
			fail(conn, err == ECONNRESET ? EPIPE : err);
		break;
	default:
		fail(conn, err);
	}
}

/**
 * sdp_disconnected - a DREQ of the peer arrived; the receive CQ is drained
 * @conn: the connection
 *
 * A peer that sends it after its own DisConn has got ours, even if our send
 * has not completed yet.
 */
void sdp_disconnected(struct sdp_conn *conn)
{
	if (conn->state == SDP_CLOSING)
		sdp_conn_set_state(conn, SDP_TIME_WAIT);
	else if (conn->state == SDP_LAST_ACK && conn->fin_sent)
		sdp_conn_set_state(conn, SDP_CLOSE);
	ended(conn, ECONNRESET);
	conn->actions &= ~SDP_ACT_DISCONNECT;	/* the DREP is the answer */
	conn->actions |= SDP_ACT_RELEASE;
}

/**
 * sdp_transport_failed - a completion in error, or the device goes away
 * @conn: the connection; its receive CQ is drained
 * @err: positive errno
 */
void sdp_transport_failed(struct sdp_conn *conn, int err)
{
	ended(conn, err);
	conn->actions |= SDP_ACT_DISCONNECT;
}

/**
 * sdp_close_timeout - the peer did not finish the close in time (8.3)
 * @conn: the connection; nothing happens unless it is closing or aborting
 */
void sdp_close_timeout(struct sdp_conn *conn)
{
	if (conn->state == SDP_LAST_ACK && conn->fin_done) {
		sdp_conn_set_state(conn, SDP_CLOSE);
		conn->actions |= SDP_ACT_DISCONNECT;
	} else if (state_in(conn, CLOSING_STATES)) {
		sdp_abort(conn, ETIMEDOUT);
		if (may_send_control(conn, SDP_MID_ABORT))
			return;
	}
	if (conn->abort_pending) {
		conn->abort_wanted = false;
		conn->abort_pending = false;
		conn->actions |= SDP_ACT_DISCONNECT;
	}
}

/**
 * sdp_timewait_over - the CM's time-wait ended
 * @conn: the connection
 */
void sdp_timewait_over(struct sdp_conn *conn)
{
	if (conn->state == SDP_TIME_WAIT)
		sdp_conn_set_state(conn, SDP_CLOSE);
}
