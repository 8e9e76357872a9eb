// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

const struct sdp_params peer_v1 = {
	.major = 1, .minor = 1, .ipv = 4, .max_adverts = 255, .bufs = 64,
	.rcv_size = 4096,
};
const struct sdp_params peer_ofed = {
	.major = 2, .minor = 2, .ipv = 4, .max_adverts = 1, .bufs = 64,
	.rcv_size = 0x8010,
};
const struct sdp_params peer_copy = {
	.major = 2, .minor = 2, .ipv = 4, .max_adverts = 1, .bufs = 64,
	.rcv_size = 0x8000,
};
const struct sdp_params peer_full = {
	.major = 2, .minor = 2, .ipv = 4, .max_adverts = 8, .bufs = 64,
	.rcv_size = 0x2000,
};

void conn_up_with(struct sdp_conn *conn, bool active,
		  const struct sdp_params *peer, u32 posted, u32 bufs)
{
	struct sdp_params params = *peer;

	params.bufs = bufs;
	sdp_conn_init(conn);
	sdp_conn_start(conn, active, 0x8010);
	sdp_rx_posted(conn, posted);
	sdp_conn_peer(conn, &params);
	sdp_established(conn);
	CHECK_EQ(conn->state, SDP_ESTABLISHED);
	conn->actions = 0;
}

void conn_up(struct sdp_conn *conn, bool active, const struct sdp_params *peer)
{
	conn_up_with(conn, active, peer, 64, 64);
}

u32 get_be32(const u8 *from)
{
	return (u32)from[0] << 24 | from[1] << 16 | from[2] << 8 | from[3];
}

void put_be32(u8 *to, u32 value)
{
	to[0] = value >> 24;
	to[1] = value >> 16;
	to[2] = value >> 8;
	to[3] = value;
}

/* No more bytes than promised to sdp_rx(), so that the sanitizer sees. */
static int give(struct sdp_conn *conn, const u8 *bytes, u32 have, u32 len,
		struct sdp_rx *rx)
{
	u32 n = len < SDP_HEADER_MAX ? len : SDP_HEADER_MAX;
	struct sdp_rx ignored;
	u8 *copy = calloc(1, n ? n : 1);
	int err;

	memcpy(copy, bytes, n < have ? n : have);
	err = sdp_rx(conn, copy, len, rx ? rx : &ignored);
	free(copy);
	return err;
}

int feed_raw(struct sdp_conn *conn, struct msg msg, struct sdp_rx *rx)
{
	u32 have = 16 + 4 * msg.exts;
	u8 bytes[16 + 20] = { msg.mid, msg.flags };
	u32 bufs = msg.bufs ? msg.bufs : 64;

	bytes[2] = bufs >> 8;
	bytes[3] = bufs;
	put_be32(bytes + 4, msg.len ? msg.len : have + msg.payload);
	put_be32(bytes + 8, msg.mseq ? msg.mseq : conn->rx_mseq + 1);
	put_be32(bytes + 12, conn->tx_mseq + msg.ack_off);
	for (unsigned int i = 0; i < msg.exts; i++)
		put_be32(bytes + 16 + 4 * i, msg.ext[i]);
	return give(conn, bytes, have, have + msg.payload, rx);
}

int feed(struct sdp_conn *conn, struct msg msg, struct sdp_rx *rx)
{
	int err = feed_raw(conn, msg, rx);

	if (!msg.payload)
		sdp_rx_posted(conn, 1);
	return err;
}

unsigned int hex_bytes(const char *hex, u8 *to, unsigned int room)
{
	unsigned int n = 0;

	while (*hex) {
		char pair[3] = { hex[0], hex[1], 0 };

		if (!isxdigit((unsigned char)*hex)) {
			hex++;
			continue;
		}
		CHECK(n < room);
		to[n++] = strtoul(pair, NULL, 16);
		hex += 2;
	}
	return n;
}

int feed_hex(struct sdp_conn *conn, const char *hex, u32 payload,
	     struct sdp_rx *rx)
{
	u8 bytes[64];
	u32 n = hex_bytes(hex, bytes, sizeof(bytes));
	int err = give(conn, bytes, n, n + payload, rx);

	sdp_rx_posted(conn, 1);
	return err;
}

bool next_payload(struct sdp_conn *conn, u32 payload, struct sdp_tx *tx)
{
	struct sdp_tx_queue queue = { .payload = payload };

	memset(tx, 0xee, sizeof(*tx));
	return sdp_tx_next(conn, &queue, tx);
}

bool next(struct sdp_conn *conn, struct sdp_tx *tx)
{
	return next_payload(conn, 0, tx);
}

void expect_hex(struct sdp_conn *conn, const char *hex, u32 payload,
		bool urgent, bool solicited)
{
	struct sdp_tx_queue queue = { .payload = payload, .urgent = urgent };
	struct sdp_tx tx;
	u8 bytes[64];
	u32 n = hex_bytes(hex, bytes, sizeof(bytes));

	if (!sdp_tx_next(conn, &queue, &tx))
		test_fail(__FILE__, __LINE__, "nothing sent, not %s", hex);
	CHECK_EQ(tx.header_len, n);
	for (u32 i = 0; i < n; i++)
		if (tx.header[i] != bytes[i])
			test_fail(__FILE__, __LINE__,
				  "byte %u is %02x, not as in %s", i,
				  tx.header[i], hex);
	CHECK_EQ(tx.mid, bytes[0]);
	CHECK_EQ(tx.payload, payload != 0);
	CHECK_EQ(tx.solicited, solicited);
}

void expect_mid(struct sdp_conn *conn, u8 mid)
{
	struct sdp_tx tx;

	if (!next(conn, &tx))
		test_fail(__FILE__, __LINE__, "nothing sent, not %s",
			  sdp_mid_name(mid));
	if (tx.mid != mid)
		test_fail(__FILE__, __LINE__, "%s sent, not %s",
			  sdp_mid_name(tx.mid), sdp_mid_name(mid));
}

void expect_quiet(struct sdp_conn *conn)
{
	struct sdp_tx tx;

	if (next(conn, &tx))
		test_fail(__FILE__, __LINE__, "%s sent, not nothing",
			  sdp_mid_name(tx.mid));
}

u32 tx_bufs(const struct sdp_tx *tx)
{
	return tx->header[2] << 8 | tx->header[3];
}

u32 tx_len(const struct sdp_tx *tx)
{
	return get_be32(tx->header + 4);
}

u32 tx_mseq(const struct sdp_tx *tx)
{
	return get_be32(tx->header + 8);
}

u32 tx_ack(const struct sdp_tx *tx)
{
	return get_be32(tx->header + 12);
}

u32 tx_ext(const struct sdp_tx *tx, unsigned int word)
{
	CHECK(tx->header_len >= 16 + 4 * (word + 1));
	return get_be32(tx->header + 16 + 4 * word);
}
