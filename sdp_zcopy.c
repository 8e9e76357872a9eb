// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Zero copy: what every peer is owed.
 *
 * Most SrcAvails are answered by a SendSm, which the core does by itself. A
 * peer of version 1.1 does not know what to do with one (5.5): its memory is
 * read into receive buffers of ours, in stream order, as the user makes room.
 */
#include "sdp.h"
#include "sdp_compat.h"

/* Bytes that may be read ahead of the user now. */
static u32 read_ahead(struct sock *sk)
{
	u32 unread = sdp_sk(sk)->rcv_seq - sdp_sk(sk)->copied_seq;
	u32 limit = READ_ONCE(sk->sk_rcvbuf) / 2;

	return unread < limit ? sdp_sk(sk)->rx_alloc : 0;
}

/**
 * sdp_serve_src_avail - post the next RDMA READ that the peer's SrcAvails need
 * @sk: the socket, with a channel
 *
 * Without memory it is tried again when the user reads, or by the timer.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_serve_src_avail(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_read read;
	struct sk_buff *skb;

	if (!sdp_read_due(&ssk->conn) || !read_ahead(sk) ||
	    !sdp_channel_tx_room(ssk->channel))
		return;
	skb = sdp_rx_buffer(sk, GFP_ATOMIC);
	if (!skb)
		return;
	if (!sdp_read_next(&ssk->conn, read_ahead(sk), &read)) {
		consume_skb(skb);
		return;
	}
	sdp_cb(skb)->offset = 0;
	sdp_cb(skb)->payload = read.len;
	sdp_count(sk, RDMA_READS);
	sdp_count_add(sk, RDMA_READ_BYTES, read.len);
	sdp_channel_post_read(sk, &read, skb);
}

/**
 * sdp_read_completed - an RDMA READ has filled its buffer
 * @sk: the socket
 * @skb: the buffer; taken over
 *
 * Context: socket lock, process or softirq.
 */
void sdp_read_completed(struct sock *sk, struct sk_buff *skb)
{
	u32 len = sdp_cb(skb)->payload;

	sdp_queue_payload(sk, skb);
	sdp_read_done(&sdp_sk(sk)->conn, len);
}
