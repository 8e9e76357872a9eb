// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Hello and HelloAck: T1, its v1.1 variant, what is refused, what is not. */
#include <string.h>

#include "peer.h"

static const char hello_hex[] =
	"00000040 0000005c 00000000 00000000"
	"22400001 00008010 00008010 c0000000"
	"00000000 00000000 00000000 c0000201"
	"00000000 00000000 00000000 c0000202";

static struct sdp_params params_t1(void)
{
	struct sdp_params own = {
		.major = 2, .minor = 2, .ipv = 4, .max_adverts = 1, .bufs = 64,
		.rcv_size = 0x8010, .des_rcv_size = 0x8010,
	};
	const u8 port[2] = { 0xc0, 0x00 };

	memcpy(&own.port, port, 2);
	memcpy(own.src_ip + 12, "\xc0\x00\x02\x01", 4);
	memcpy(own.dst_ip + 12, "\xc0\x00\x02\x02", 4);
	return own;
}

static void hello_t1(struct sdp_hello *hello)
{
	const struct sdp_params own = params_t1();

	sdp_hello_build(hello, &own);
}

static void ack_t1(struct sdp_hello_ack *ack)
{
	const struct sdp_params own = params_t1();

	sdp_hello_ack_build(ack, &own);
}

static void t1_hello_built(void)
{
	u8 expected[SDP_HELLO_LEN] = { 0 };
	struct sdp_hello hello;

	CHECK_EQ(sizeof(hello), SDP_HELLO_LEN);
	memset(&hello, 0xff, sizeof(hello));
	hello_t1(&hello);
	CHECK_EQ(hex_bytes(hello_hex, expected, sizeof(expected)), 64);
	CHECK(!memcmp(&hello, expected, sizeof(hello)));
}

static void t1_hello_parsed(void)
{
	struct sdp_params own = params_t1(), peer;
	struct sdp_hello hello = { 0 };

	hex_bytes(hello_hex, (u8 *)&hello, sizeof(hello));
	memset(&peer, 0xff, sizeof(peer));
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK(!memcmp(&peer, &own, sizeof(own)));
}

static void t1_hello_ack(void)
{
	u8 expected[SDP_HELLO_ACK_LEN] = { 0 };
	struct sdp_params peer;
	struct sdp_hello_ack ack;

	CHECK_EQ(sizeof(ack), SDP_HELLO_ACK_LEN);
	memset(&ack, 0xff, sizeof(ack));
	ack_t1(&ack);
	hex_bytes("01000040 000000c4 00000000 00000000 22000001 00008010",
		  expected, sizeof(expected));
	CHECK(!memcmp(&ack, expected, sizeof(ack)));
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_NONE);
	CHECK_EQ(peer.rcv_size, 0x8010);
	CHECK_EQ(peer.bufs, 64);
	CHECK_EQ(peer.max_adverts, 1);
	CHECK_EQ(peer.major, 2);
	CHECK_EQ(peer.minor, 2);
}

/* The set-up that a 2005 peer has. */
static void t1_v1(void)
{
	struct sdp_params own = params_t1(), peer;
	u8 expected[SDP_HELLO_ACK_LEN] = { 0 };
	struct sdp_hello_ack ack;
	struct sdp_hello hello;

	own.major = 1;
	own.minor = 1;
	own.cap = 3;		/* v1.1 has no capabilities */
	own.max_adverts = 255;
	own.bufs = 63;
	own.rcv_size = 4096;
	own.des_rcv_size = 4096;
	sdp_hello_build(&hello, &own);
	hex_bytes("0000003f 0000005c 00000000 00000000"
		  "114000ff 00001000 00001000 c0000000",
		  expected, sizeof(expected));
	CHECK(!memcmp(&hello, expected, 32));
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK_EQ(peer.major, 1);
	CHECK_EQ(peer.cap, 0);

	sdp_hello_ack_build(&ack, &own);
	memset(expected, 0, sizeof(expected));
	hex_bytes("0100003f 000000c4 00000000 00000000 110000ff 00001000",
		  expected, sizeof(expected));
	CHECK(!memcmp(&ack, expected, sizeof(ack)));
	CHECK_EQ(sdp_hello_ack_parse(&ack, 1, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 255);
}

static void hello_refused(void)
{
	static const struct {
		u8 offset, value;
		enum sdp_violation violation;
	} cases[] = {
		{ 0, 1, SDP_V_R21 }, { 7, 63, SDP_V_R15 },
		{ 16, 0x32, SDP_V_R7 }, { 16, 0x02, SDP_V_R7 },
		{ 17, 0x50, SDP_V_R10 }, { 17, 0x00, SDP_V_R10 },
		{ 19, 0, SDP_V_R6 }, { 3, 2, SDP_V_R4 }, { 3, 0, SDP_V_R4 },
	};
	struct sdp_params peer;
	struct sdp_hello hello;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		hello_t1(&hello);
		((u8 *)&hello)[cases[i].offset] = cases[i].value;
		CHECK_EQ(sdp_hello_parse(&hello, &peer), cases[i].violation);
	}
	hello_t1(&hello);
	put_be32((u8 *)&hello + 24, 36);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_R5);
	put_be32((u8 *)&hello + 24, 37);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	((u8 *)&hello)[3] = 3;
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	memset(&hello, 0, sizeof(hello));
	CHECK(sdp_hello_parse(&hello, &peer) != SDP_V_NONE);
	memset(&hello, 0xff, sizeof(hello));
	CHECK(sdp_hello_parse(&hello, &peer) != SDP_V_NONE);
}

static void hello_ack_refused(void)
{
	static const struct {
		u8 offset, value;
		enum sdp_violation violation;
	} cases[] = {
		{ 0, 0, SDP_V_R21 }, { 7, 23, SDP_V_R15 },
		{ 16, 0x32, SDP_V_R7 }, { 16, 0x11, SDP_V_R8 },
		{ 19, 0, SDP_V_R6 }, { 3, 2, SDP_V_R4 },
	};
	struct sdp_params peer;
	struct sdp_hello_ack ack;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ack_t1(&ack);
		((u8 *)&ack)[cases[i].offset] = cases[i].value;
		CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer),
			 cases[i].violation);
	}
	ack_t1(&ack);
	put_be32((u8 *)&ack + 20, 36);
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_R5);
	put_be32((u8 *)&ack + 20, 37);
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_NONE);
	CHECK_EQ(sdp_hello_ack_parse(&ack, 1, &peer), SDP_V_R8);
}

/* R7, R9, 1.4: minor, reserved bits, unusual lengths, the 180-byte tail. */
static void tolerated(void)
{
	struct sdp_params peer;
	struct sdp_hello_ack ack;
	struct sdp_hello hello;
	u8 *byte = (u8 *)&hello;

	hello_t1(&hello);
	byte[16] = 0x20;
	byte[17] = 0x4c;	/* unknown capabilities */
	byte[18] = 0xff;
	byte[30] = 0xff;
	memset(byte + 64, 0xff, 28);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK_EQ(peer.minor, 0);
	CHECK_EQ(peer.max_adverts, 1);
	byte[1] = 0xff;
	put_be32(byte + 8, 0x12345678);
	put_be32(byte + 12, 0x9abcdef0);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	put_be32(byte + 4, 64);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);

	ack_t1(&ack);
	put_be32((u8 *)&ack + 4, 204);
	ack.version = 0x2f;
	memset(ack.reserved, 0xff, sizeof(ack.reserved));
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_NONE);
	CHECK_EQ(peer.minor, 15);
	put_be32((u8 *)&ack + 4, 24);
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_NONE);
}

/* 1.4, 1.6: 16 bits where they are announced, and only there. */
static void max_adverts(void)
{
	struct sdp_params peer;
	struct sdp_hello_ack ack;
	struct sdp_hello hello;
	u8 *byte = (u8 *)&hello;

	hello_t1(&hello);
	byte[17] |= SDP_CAP_EXT_MAX_ADVERTS;
	byte[19] = 0;
	byte[66] = 0x01;
	byte[67] = 0x02;
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 0x102);
	byte[66] = 0;
	byte[67] = 0;
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_R6);
	byte[19] = 7;
	put_be32(byte + 4, 66);	/* the field is not there */
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 7);
	byte[16] = 0x11;	/* v1.1: reserved nibble */
	put_be32(byte + 4, 92);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 7);

	ack_t1(&ack);
	((u8 *)&ack)[18] = 2;
	CHECK_EQ(sdp_hello_ack_parse(&ack, 2, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 0x201);
	ack.version = 0x11;
	CHECK_EQ(sdp_hello_ack_parse(&ack, 1, &peer), SDP_V_NONE);
	CHECK_EQ(peer.max_adverts, 1);
}

static void ipv6(void)
{
	struct sdp_params own = params_t1(), peer;
	struct sdp_hello hello;

	own.ipv = 6;
	memset(own.src_ip, 0xfd, 16);
	memset(own.dst_ip, 0xfe, 16);
	sdp_hello_build(&hello, &own);
	CHECK_EQ(hello.ipv_cap, 0x60);
	CHECK_EQ(sdp_hello_parse(&hello, &peer), SDP_V_NONE);
	CHECK(!memcmp(&peer, &own, sizeof(own)));
}

static void initial(void)
{
	struct sdp_conn conn;

	sdp_conn_init(&conn);
	CHECK_EQ(conn.state, SDP_CLOSE);
	conn_up(&conn, true, &peer_full);
	CHECK_EQ(conn.tx_mode, SDP_COMBINED);
	CHECK_EQ(conn.rx_mode, SDP_COMBINED);
	CHECK_EQ(conn.credit, 64);
	CHECK_EQ(conn.granted, 64);
	CHECK_EQ(conn.tx_mseq, 0);
	CHECK_EQ(conn.rx_mseq, 0);
	CHECK_EQ(conn.pnd, 0);
	CHECK_EQ(conn.nd, 0);
	expect_quiet(&conn);
}

static void kinds(void)
{
	struct sdp_conn conn;

	conn_up(&conn, true, &peer_v1);
	CHECK_EQ(conn.peer_kind, SDP_PEER_V1);
	CHECK_EQ(sdp_tx_room(&conn), 4080);
	conn_up(&conn, true, &peer_ofed);
	CHECK_EQ(conn.peer_kind, SDP_PEER_OFED);
	CHECK_EQ(sdp_tx_room(&conn), 0x8000);
	conn_up(&conn, true, &peer_copy);
	CHECK_EQ(conn.peer_kind, SDP_PEER_COPY);
	conn_up(&conn, true, &peer_full);
	CHECK_EQ(conn.peer_kind, SDP_PEER_FULL);
	conn.peer_rcv_size = 1U << 31;
	CHECK_EQ(sdp_tx_room(&conn), SDP_MAX_RCV_SIZE - 16);
	conn.peer_rcv_size = SDP_MIN_RCV_SIZE;
	CHECK_EQ(sdp_tx_room(&conn), 21);
}

static void names(void)
{
	CHECK(!strcmp(sdp_mid_name(SDP_MID_DATA), "Data"));
	CHECK(!strcmp(sdp_mid_name(SDP_MID_SUSP_COMM_ACK), "SuspCommAck"));
	CHECK(!strcmp(sdp_mid_name(0x0f), "unknown"));
	CHECK(!strcmp(sdp_violation_name(SDP_V_NONE), "none"));
	CHECK(!strcmp(sdp_violation_name(SDP_V_R94), "R94"));
	CHECK(!strcmp(sdp_violation_name(SDP_V_COUNT), "unknown"));
	for (int i = 0; i < SDP_V_COUNT; i++)
		CHECK(sdp_violation_name(i)[0] == (i ? 'R' : 'n'));
}

const struct test setup_tests[] = {
	{ "T1 Hello built", t1_hello_built },
	{ "T1 Hello parsed", t1_hello_parsed },
	{ "T1 HelloAck built and parsed", t1_hello_ack },
	{ "T1 the v1.1 variant", t1_v1 },
	{ "setup: a bad Hello names its rule", hello_refused },
	{ "setup: a bad HelloAck names its rule", hello_ack_refused },
	{ "setup: minor, reserved bits and odd lengths are accepted", tolerated },
	{ "setup: MaxAdverts of 8 and 16 bits", max_adverts },
	{ "setup: IPv6", ipv6 },
	{ "setup: initial modes, counters and credits", initial },
	{ "setup: kinds of peers and the room in a message", kinds },
	{ "setup: names of messages and rules", names },
	{ }
};
