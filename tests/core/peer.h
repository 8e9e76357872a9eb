/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Connections in a wanted state, messages fed to them, messages expected. */
#ifndef _PEER_H
#define _PEER_H

#include <linux/types.h>

#include "harness.h"
#include "sdp_proto.h"

/* A message of the peer; zero fields take the value that is right now. */
struct msg {
	u8 mid;
	u8 flags;
	u16 bufs;	/* 0: 64 */
	u32 len;	/* 0: as long as it is */
	u32 mseq;	/* 0: the next */
	s32 ack_off;	/* added to the right MSeqAck */
	unsigned int exts;
	u32 ext[5];
	u32 payload;
};

extern const struct sdp_params peer_v1, peer_ofed, peer_copy, peer_full;

/* Established, 64 credits each way, buffers of 0x8010 bytes, no actions. */
void conn_up(struct sdp_conn *conn, bool active, const struct sdp_params *peer);
void conn_up_with(struct sdp_conn *conn, bool active,
		  const struct sdp_params *peer, u32 posted, u32 bufs);

/* What sdp_rx() says; the buffer is posted again unless it holds payload. */
int feed(struct sdp_conn *conn, struct msg msg, struct sdp_rx *rx);
#define FEED(conn, ...) feed(conn, (struct msg){ .mid = __VA_ARGS__ }, NULL)
/* The same without posting again. */
int feed_raw(struct sdp_conn *conn, struct msg msg, struct sdp_rx *rx);

#define SRC_AVAIL(length, bytes)					\
	SDP_MID_SRC_AVAIL, .exts = 4,					\
	.ext = { length, 0x1a2b, 0x7f00, 0x12345010 }, .payload = bytes

/* A message in hex, ext and payload after '|', exactly as chapter 12 has it. */
int feed_hex(struct sdp_conn *conn, const char *hex, u32 payload,
	     struct sdp_rx *rx);

/* The next message to be sent is exactly this one, with or without payload. */
void expect_hex(struct sdp_conn *conn, const char *hex, u32 payload,
		bool urgent, bool solicited);
/* The next message has this id; false: nothing is to be sent. */
bool next(struct sdp_conn *conn, struct sdp_tx *tx);
bool next_payload(struct sdp_conn *conn, u32 payload, struct sdp_tx *tx);
void expect_mid(struct sdp_conn *conn, u8 mid);
void expect_quiet(struct sdp_conn *conn);

u32 tx_bufs(const struct sdp_tx *tx);
u32 tx_len(const struct sdp_tx *tx);
u32 tx_mseq(const struct sdp_tx *tx);
u32 tx_ack(const struct sdp_tx *tx);
u32 tx_ext(const struct sdp_tx *tx, unsigned int word);

u32 get_be32(const u8 *from);
void put_be32(u8 *to, u32 value);
unsigned int hex_bytes(const char *hex, u8 *to, unsigned int room);

#endif
