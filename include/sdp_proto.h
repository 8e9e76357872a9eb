/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The Sockets Direct Protocol's decisions, without any I/O.
 *
 * Everything that the wire may show is decided by the functions declared here
 * over plain structures: no verbs, no sockets, no locks, no allocation, no
 * time. The caller feeds what happened (a message, a completion, a CM event, a
 * wish of the user, a timer) and carries out what is asked: the bits of
 * sdp_conn.actions, and the messages that sdp_tx_next() hands out.
 *
 * The caller serialises all calls for one connection (the module: the socket
 * lock). Rule numbers R1..R100 refer to docs/protocol.md.
 */
#ifndef _SDP_PROTO_H
#define _SDP_PROTO_H

#include <linux/types.h>

#define SDP_SERVICE_ID_BASE	0x0000000000010000ULL	/* R1 */

#define SDP_HELLO_LEN		92
#define SDP_HELLO_ACK_LEN	196
#define SDP_HEADER_MAX		36	/* BSDH and the longest extension */
#define SDP_MIN_RCV_SIZE	37	/* R5 */
#define SDP_MIN_CREDITS		3	/* R4 */

/* Largest message sent or asked for: fits the 16 bits of 2005 peers. */
#define SDP_MAX_RCV_SIZE	61440
/* Spare bytes behind a grown buffer: OFED peers may send that much too many. */
#define SDP_RCV_SPARE		16
/* SrcAvails of the peer that may be incomplete at a time, and MaxAdverts. */
#define SDP_MAX_ADVERTS		8

enum sdp_mid {
	SDP_MID_HELLO		= 0x00,
	SDP_MID_HELLO_ACK	= 0x01,
	SDP_MID_DISCONN		= 0x02,
	SDP_MID_ABORT		= 0x03,
	SDP_MID_SEND_SM		= 0x04,
	SDP_MID_RDMA_WR_COMPL	= 0x05,
	SDP_MID_RDMA_RD_COMPL	= 0x06,
	SDP_MID_MODE_CHANGE	= 0x07,
	SDP_MID_SRC_CANCEL	= 0x08,
	SDP_MID_SINK_CANCEL	= 0x09,
	SDP_MID_SINK_CANCEL_ACK	= 0x0a,
	SDP_MID_CH_RCV_BUF	= 0x0b,
	SDP_MID_CH_RCV_BUF_ACK	= 0x0c,
	SDP_MID_SUSP_COMM	= 0x0d,
	SDP_MID_SUSP_COMM_ACK	= 0x0e,
	SDP_MID_SINK_AVAIL	= 0xfd,
	SDP_MID_SRC_AVAIL	= 0xfe,
	SDP_MID_DATA		= 0xff,
};

#define SDP_FLAG_OOB_PRES	0x01
#define SDP_FLAG_OOB_PEND	0x02
#define SDP_FLAG_REQ_PIPE	0x04

/* ModeChange, first byte: S bit and Mode; the rest is reserved. */
#define SDP_MCH_MASK		0xf0
#define SDP_MCH_TO_BUFFERED	0x00
#define SDP_MCH_PIPE_TO_COMB	0x10
#define SDP_MCH_TO_PIPELINED	0x20
#define SDP_MCH_BUF_TO_COMB	0x90

#define SDP_CAP_INVALIDATE	0x1
#define SDP_CAP_EXT_MAX_ADVERTS	0x2

struct sdp_bsdh {
	__u8	mid;
	__u8	flags;
	__be16	bufs;
	__be32	len;
	__be32	mseq;
	__be32	mseq_ack;
};

struct sdp_hello {
	struct sdp_bsdh bsdh;
	__u8	version;	/* major, minor */
	__u8	ipv_cap;	/* IPV, Cap */
	__u8	reserved1;
	__u8	max_adverts;
	__be32	des_rem_rcv_size;
	__be32	local_rcv_size;
	__be16	local_port;
	__be16	reserved2;
	__u8	src_ip[16];
	__u8	dst_ip[16];
	__be16	reserved3;
	__be16	ext_max_adverts;
	__u8	reserved4[24];
};

struct sdp_hello_ack {
	struct sdp_bsdh bsdh;
	__u8	version;
	__u8	cap;
	__u8	ext_max_adverts;	/* high byte, major 2 only */
	__u8	max_adverts;
	__be32	act_rcv_size;
	__u8	reserved[172];
};

struct sdp_src_avail {
	__be32	len;
	__be32	rkey;
	__be32	va_hi;
	__be32	va_lo;
};

/* States have TCP's numbers, which tools expect in /proc. */
enum sdp_state {
	SDP_ESTABLISHED	= 1,
	SDP_SYN_SENT,
	SDP_SYN_RECV,
	SDP_FIN_WAIT1,
	SDP_FIN_WAIT2,
	SDP_TIME_WAIT,
	SDP_CLOSE,
	SDP_CLOSE_WAIT,
	SDP_LAST_ACK,
	SDP_LISTEN,
	SDP_CLOSING,
	SDP_STATES,
};

enum sdp_mode {
	SDP_BUFFERED,
	SDP_COMBINED,
	SDP_PIPELINED,
};

/* What the other end is, as far as its Hello tells (chapter 11.1). */
enum sdp_peer_kind {
	SDP_PEER_V1,		/* 2005: read zero copy, no SendSm */
	SDP_PEER_OFED,		/* one SrcAvail at a time */
	SDP_PEER_COPY,		/* messages only; a SrcAvail corrupts */
	SDP_PEER_FULL,		/* everything */
};

/* The rules whose violation by the peer ends or refuses a connection. */
enum sdp_violation {
	SDP_V_NONE,
	SDP_V_R4, SDP_V_R5, SDP_V_R6, SDP_V_R7, SDP_V_R8, SDP_V_R10,
	SDP_V_R15, SDP_V_R18, SDP_V_R20, SDP_V_R21, SDP_V_R22, SDP_V_R26,
	SDP_V_R29, SDP_V_R32, SDP_V_R34, SDP_V_R35, SDP_V_R37, SDP_V_R41,
	SDP_V_R42, SDP_V_R43, SDP_V_R44, SDP_V_R48, SDP_V_R53, SDP_V_R60,
	SDP_V_R67, SDP_V_R88, SDP_V_R90, SDP_V_R91, SDP_V_R94,
	SDP_V_COUNT,
};

/* What the caller must do after any call; it clears what it has done. */
#define SDP_ACT_READABLE	0x0001	/* payload or end of file arrived */
#define SDP_ACT_PUSH		0x0002	/* a message may be sendable now */
#define SDP_ACT_URGENT		0x0004	/* an urgent byte is on its way */
#define SDP_ACT_STATE		0x0008	/* the state changed */
#define SDP_ACT_FAIL		0x0010	/* report sdp_conn.err to the user */
#define SDP_ACT_DISCONNECT	0x0020	/* send a DREQ, then give up the QP */
#define SDP_ACT_RELEASE		0x0040	/* give up the QP, answer DREQs */
#define SDP_ACT_READ		0x0080	/* sdp_read_next() has work */
#define SDP_ACT_RESIZE		0x0100	/* answer with sdp_resize() */

/* Facts about one end, exchanged in Hello and HelloAck. */
struct sdp_params {
	__u8	major;
	__u8	minor;
	__u8	ipv;		/* 4 or 6, Hello only */
	__u8	cap;
	__u16	max_adverts;
	__u16	bufs;		/* credits at the start */
	__u32	rcv_size;	/* bytes, with the BSDH */
	__u32	des_rcv_size;	/* Hello only: a hint */
	__be16	port;		/* Hello only */
	__u8	src_ip[16];	/* Hello only, wire form */
	__u8	dst_ip[16];	/* Hello only, wire form */
};

/* A SrcAvail of the peer, not yet processed (chapter 5). */
struct sdp_advert {
	__u32	len;		/* bytes advertised */
	__u32	rkey;
	__u64	va;
	__u32	done;		/* bytes delivered: payload and reads */
	__u32	unreported;	/* bytes read, RdmaRdCompl still owed */
};

struct sdp_conn {
	__u8	state;		/* enum sdp_state */
	__u8	tx_mode;	/* enum sdp_mode, we are the Source */
	__u8	rx_mode;	/* enum sdp_mode, the peer is the Source */
	__u8	major;
	__u8	peer_kind;	/* enum sdp_peer_kind */
	__u8	violation;	/* enum sdp_violation, the first one */
	bool	active;		/* we sent the Hello */
	bool	rx_started;	/* a first message fixed the MSeq */
	bool	rx_fin;		/* the peer's DisConn arrived */
	bool	rx_closed;	/* our user will never read again */
	bool	fin_wanted;	/* DisConn follows the queued payload */
	bool	fin_sent;
	bool	fin_done;	/* its send completed */
	bool	abort_wanted;	/* AbortConn is to be sent */
	bool	abort_pending;	/* ... or under way: no DREQ before */
	bool	aborted;	/* nothing but an AbortConn may be sent */
	bool	probe;		/* persist timer: spend a credit to ask */
	bool	last_rx_empty;	/* the last message was a credit update */
	bool	reading;	/* an RDMA READ is in process */
	bool	cancelled;	/* a SrcAvailCancel is being worked off */
	bool	resize_busy;	/* a received ChRcvBuf is unanswered */
	bool	resize_decided;	/* ... sdp_resize() was called for it */
	bool	resize_ack;	/* ... and its answer may go */
	bool	resize_pages;	/* ... it asked for whole pages, as OFED does */
	bool	grow_wanted;	/* we want the peer to grow its buffers */
	bool	grow_sent;	/* our ChRcvBuf is unanswered */
	bool	grow_refused;	/* never ask again (R92) */

	__u16	actions;	/* SDP_ACT_*, to be done by the caller */
	__u16	max_adverts;	/* what the peer allows us */
	int	err;		/* positive errno for SDP_ACT_FAIL */
	__u32	illegal;	/* refused state changes */

	__u32	tx_mseq;	/* last sent */
	__u32	rx_mseq;	/* last received */
	__u32	cancel_mseq;	/* MSeq of the cancel being worked off */
	__u32	posted;		/* receive buffers ever posted */
	__u32	received;	/* messages ever received */
	__u32	granted;	/* credits the peer thinks it has */
	__u32	credit;		/* messages we may send */

	__u32	rcv_size;	/* S of the buffers we post, bytes */
	__u32	rcv_limit;	/* longest message that is accepted */
	__u32	resize_to;	/* size wanted by, then told to the peer */
	__u32	resize_mark;	/* ack when so many messages have come */
	__u32	peer_rcv_size;	/* longest message the peer takes */
	__u32	grow_to;
	__u32	grow_mseq;	/* MSeq of our ChRcvBuf */

	__u32	pnd;		/* payload messages sent (R61..R66) */
	__u32	nd;		/* payload messages received */
	__u32	owed;		/* Data bytes that follow our SendSm */

	__u8	adverts;	/* incomplete ones */
	__u8	advert_first;
	struct sdp_advert advert[SDP_MAX_ADVERTS];
};

/* What one received message holds for the user. */
struct sdp_rx {
	__u8	mid;
	__u16	offset;		/* of the payload in the message */
	__u32	payload;	/* bytes */
	bool	urgent;		/* the last payload byte is the OOB byte */
	bool	update;		/* a Data message without payload */
};

/* What the caller has to send. */
struct sdp_tx_queue {
	__u32	payload;	/* bytes of the first queued message */
	bool	full;		/* nothing can be added to that message */
	bool	more;		/* other messages are queued behind it */
	bool	urgent;		/* its last byte is the OOB byte */
	bool	nodelay;	/* TCP_NODELAY */
	bool	cork;		/* TCP_CORK or MSG_MORE */
	bool	in_flight;	/* payload is posted and not completed */
};

/* A message to be posted now. */
struct sdp_tx {
	__u8	mid;
	__u8	header_len;	/* bytes of header[] */
	bool	payload;	/* the first queued message goes with it */
	bool	solicited;	/* chapter 10 */
	__u8	header[SDP_HEADER_MAX];
};

/* An RDMA READ to be posted now. */
struct sdp_read {
	__u64	va;
	__u32	rkey;
	__u32	len;
};

const char *sdp_mid_name(__u8 mid);
const char *sdp_violation_name(enum sdp_violation violation);

/* Set-up: chapter 1. */
void sdp_hello_build(struct sdp_hello *hello, const struct sdp_params *own);
enum sdp_violation sdp_hello_parse(const struct sdp_hello *hello,
				   struct sdp_params *peer);
void sdp_hello_ack_build(struct sdp_hello_ack *ack,
			 const struct sdp_params *own);
enum sdp_violation sdp_hello_ack_parse(const struct sdp_hello_ack *ack,
				       __u8 major, struct sdp_params *peer);
enum sdp_peer_kind sdp_peer_kind(const struct sdp_params *peer);
void sdp_conn_init(struct sdp_conn *conn);
void sdp_conn_start(struct sdp_conn *conn, bool active, __u32 rcv_size);
void sdp_conn_peer(struct sdp_conn *conn, const struct sdp_params *peer);
bool sdp_conn_set_state(struct sdp_conn *conn, enum sdp_state state);

/* Receiving: chapters 2 to 9. */
void sdp_rx_posted(struct sdp_conn *conn, __u32 buffers);
int sdp_rx(struct sdp_conn *conn, const void *message, __u32 len,
	   struct sdp_rx *rx);
void sdp_resize(struct sdp_conn *conn, __u32 size);

/* The peer's SrcAvails want an RDMA READ, once there is memory for it. */
static inline bool sdp_read_due(const struct sdp_conn *conn)
{
	return conn->adverts && conn->peer_kind == SDP_PEER_V1 &&
	       !conn->reading && !conn->cancelled && !conn->aborted;
}

bool sdp_read_next(struct sdp_conn *conn, __u32 max, struct sdp_read *read);
void sdp_read_done(struct sdp_conn *conn, __u32 len);

/* Sending: chapters 3 and 7 to 10. */
bool sdp_tx_next(struct sdp_conn *conn, const struct sdp_tx_queue *queue,
		 struct sdp_tx *tx);
void sdp_tx_done(struct sdp_conn *conn, __u8 mid);
__u32 sdp_tx_room(const struct sdp_conn *conn);
bool sdp_tx_starved(const struct sdp_conn *conn);
bool sdp_update_deferred(const struct sdp_conn *conn);
void sdp_grow_peer(struct sdp_conn *conn);
void sdp_probe(struct sdp_conn *conn);

/* Closing: chapter 8. */
void sdp_established(struct sdp_conn *conn);
void sdp_shutdown(struct sdp_conn *conn);
void sdp_close_rx(struct sdp_conn *conn);
void sdp_abort(struct sdp_conn *conn, int err);
void sdp_disconnected(struct sdp_conn *conn);
void sdp_transport_failed(struct sdp_conn *conn, int err);
void sdp_close_timeout(struct sdp_conn *conn);
void sdp_timewait_over(struct sdp_conn *conn);

#endif /* _SDP_PROTO_H */
