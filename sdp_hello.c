// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hello and HelloAck: what two ends tell each other in the private data of the
 * CM's REQ and REP, built byte-exact and judged before use (chapter 1).
 *
 * As sdp_proto.c, this file does no I/O and compiles into the host's tests.
 */
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "sdp_proto.h"

static void bsdh_build(struct sdp_bsdh *bsdh, u8 mid, u16 bufs, u32 len)
{
	bsdh->mid = mid;
	bsdh->flags = 0;
	bsdh->bufs = cpu_to_be16(bufs);
	bsdh->len = cpu_to_be32(len);
	bsdh->mseq = 0;
	bsdh->mseq_ack = 0;
}

/**
 * sdp_hello_build - fill a Hello, byte-exact (R2, R10)
 * @hello: where to, SDP_HELLO_LEN bytes
 * @own: our version, address family, credits, sizes (bytes), port, addresses
 */
void sdp_hello_build(struct sdp_hello *hello, const struct sdp_params *own)
{
	memset(hello, 0, sizeof(*hello));
	bsdh_build(&hello->bsdh, SDP_MID_HELLO, own->bufs, SDP_HELLO_LEN);
	hello->version = own->major << 4 | own->minor;
	hello->ipv_cap = own->ipv << 4 | (own->major >= 2 ? own->cap & 0xf : 0);
	hello->max_adverts = own->max_adverts;
	hello->des_rem_rcv_size = cpu_to_be32(own->des_rcv_size);
	hello->local_rcv_size = cpu_to_be32(own->rcv_size);
	hello->local_port = own->port;
	memcpy(hello->src_ip, own->src_ip, sizeof(hello->src_ip));
	memcpy(hello->dst_ip, own->dst_ip, sizeof(hello->dst_ip));
}

/* What Hello and HelloAck have in common; @min is the least BSDH.Len. */
static enum sdp_violation params_check(const struct sdp_bsdh *bsdh, u8 mid,
				       u32 min, const struct sdp_params *peer)
{
	if (bsdh->mid != mid)
		return SDP_V_R21;
	if (be32_to_cpu(bsdh->len) < min)
		return SDP_V_R15;
	if (peer->major != 1 && peer->major != 2)
		return SDP_V_R7;
	if (peer->max_adverts == 0)
		return SDP_V_R6;
	if (peer->bufs < SDP_MIN_CREDITS)
		return SDP_V_R4;
	if (peer->rcv_size < SDP_MIN_RCV_SIZE)
		return SDP_V_R5;
	return SDP_V_NONE;
}

/**
 * sdp_hello_parse - read and judge a Hello (1.9, R5..R10)
 * @hello: the REQ's private data, all of it; the length is judged by BSDH.Len
 * @peer: receives what it says
 *
 * Reserved bits are not looked at (R9). Return: SDP_V_NONE, or the rule for
 * which the REQ has to be rejected.
 */
enum sdp_violation sdp_hello_parse(const struct sdp_hello *hello,
				   struct sdp_params *peer)
{
	enum sdp_violation violation;

	memset(peer, 0, sizeof(*peer));
	peer->major = hello->version >> 4;
	peer->minor = hello->version & 0xf;
	peer->ipv = hello->ipv_cap >> 4;
	peer->cap = peer->major >= 2 ? hello->ipv_cap & 0xf : 0;
	peer->max_adverts = hello->max_adverts;
	if (peer->cap & SDP_CAP_EXT_MAX_ADVERTS &&
	    be32_to_cpu(hello->bsdh.len) >=
	    offsetofend(struct sdp_hello, ext_max_adverts))
		peer->max_adverts = be16_to_cpu(hello->ext_max_adverts);
	peer->bufs = be16_to_cpu(hello->bsdh.bufs);
	peer->rcv_size = be32_to_cpu(hello->local_rcv_size);
	peer->des_rcv_size = be32_to_cpu(hello->des_rem_rcv_size);
	peer->port = hello->local_port;
	memcpy(peer->src_ip, hello->src_ip, sizeof(peer->src_ip));
	memcpy(peer->dst_ip, hello->dst_ip, sizeof(peer->dst_ip));

	violation = params_check(&hello->bsdh, SDP_MID_HELLO,
				 offsetof(struct sdp_hello, reserved3), peer);
	if (violation == SDP_V_NONE && peer->ipv != 4 && peer->ipv != 6)
		violation = SDP_V_R10;
	return violation;
}

/**
 * sdp_hello_ack_build - fill a HelloAck, byte-exact (R3, R7)
 * @ack: where to, SDP_HELLO_ACK_LEN bytes
 * @own: our parameters; major and minor as negotiated
 */
void sdp_hello_ack_build(struct sdp_hello_ack *ack,
			 const struct sdp_params *own)
{
	memset(ack, 0, sizeof(*ack));
	bsdh_build(&ack->bsdh, SDP_MID_HELLO_ACK, own->bufs, SDP_HELLO_ACK_LEN);
	ack->version = own->major << 4 | own->minor;
	ack->cap = own->major >= 2 ? own->cap & 0xf : 0;
	ack->max_adverts = own->max_adverts;
	ack->act_rcv_size = cpu_to_be32(own->rcv_size);
}

/**
 * sdp_hello_ack_parse - read and judge a HelloAck (1.9, R5, R6, R8)
 * @ack: the REP's private data
 * @major: the major version that our Hello offered
 * @peer: receives what it says
 *
 * Return: SDP_V_NONE, or the rule for which the REP has to be rejected.
 */
enum sdp_violation sdp_hello_ack_parse(const struct sdp_hello_ack *ack,
				       u8 major, struct sdp_params *peer)
{
	enum sdp_violation violation;

	memset(peer, 0, sizeof(*peer));
	peer->major = ack->version >> 4;
	peer->minor = ack->version & 0xf;
	peer->max_adverts = ack->max_adverts;
	if (peer->major >= 2) {
		peer->cap = ack->cap & 0xf;
		peer->max_adverts |= ack->ext_max_adverts << 8;
	}
	peer->bufs = be16_to_cpu(ack->bsdh.bufs);
	peer->rcv_size = be32_to_cpu(ack->act_rcv_size);
	violation = params_check(&ack->bsdh, SDP_MID_HELLO_ACK,
				 offsetof(struct sdp_hello_ack, reserved),
				 peer);
	if (violation == SDP_V_NONE && peer->major != major)
		violation = SDP_V_R8;
	return violation;
}
