// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The buffered path: one copy from the user into pages that are sent as
 * messages, one copy from received messages to the user.
 *
 *   sendmsg -> sk_write_queue -> sdp_push: the core chooses -> send queue
 *   receive queue -> sdp_received: the core judges -> sk_receive_queue ->
 *   recvmsg -> rx_free -> posted again
 *
 * A buffer in sk_write_queue is one message. A receive buffer is an skb with
 * one page (of some order), charged to the socket for as long as it exists; it
 * goes round without being allocated again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched/signal.h>
#include <net/tcp_states.h>

#include "sdp.h"
#include "sdp_compat.h"

/* So many full messages in a row make a connection busy. */
#define BULK_MESSAGES	8

static bool seq_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* ---- Sending: the queue of messages ------------------------------------- */

/**
 * sdp_tx_free - free a message's payload and give back its charge
 * @sk: the socket
 * @skb: in no queue
 *
 * Context: socket lock, process or softirq.
 */
void sdp_tx_free(struct sock *sk, struct sk_buff *skb)
{
	sk_wmem_queued_add(sk, -(int)skb->truesize);
	sk_mem_uncharge(sk, skb->truesize);
	consume_skb(skb);
}

/**
 * sdp_tx_purge - drop what was not posted
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_tx_purge(struct sock *sk)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&sk->sk_write_queue)))
		sdp_tx_free(sk, skb);
	sk_mem_reclaim(sk);
}

/* A new, empty message at the end of the queue; NULL: no memory. */
static struct sk_buff *new_message(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_skb_cb *cb;
	struct sk_buff *skb;

	skb = alloc_skb(0, sk->sk_allocation);
	if (!skb)
		return NULL;
	if (!sk_wmem_schedule(sk, skb->truesize)) {
		kfree_skb(skb);
		return NULL;
	}
	skb->ip_summed = CHECKSUM_PARTIAL;	/* no checksum while copying */
	sk_wmem_queued_add(sk, skb->truesize);
	sk_mem_charge(sk, skb->truesize);
	cb = sdp_cb(skb);
	memset(cb, 0, sizeof(*cb));
	cb->seq = ssk->write_seq;
	cb->room = sdp_tx_room(&ssk->conn);
	__skb_queue_tail(&sk->sk_write_queue, skb);
	return skb;
}

/* The message that takes the next byte; NULL: wait for memory. */
static struct sk_buff *open_message(struct sock *sk)
{
	struct sk_buff *skb = skb_peek_tail(&sk->sk_write_queue);

	if (skb && !sdp_cb(skb)->closed)
		return skb;
	if (!sk_stream_memory_free(sk))
		return NULL;
	return new_message(sk);
}

static void drop_empty_message(struct sock *sk)
{
	struct sk_buff *skb = skb_peek_tail(&sk->sk_write_queue);

	if (skb && !skb->len) {
		__skb_unlink(skb, &sk->sk_write_queue);
		sdp_tx_free(sk, skb);
	}
}

/*
 * Copy from the user into @skb. Returns the bytes copied, 0 when the message
 * takes no more pages, -ENOMEM to wait for memory, or -EFAULT.
 */
static int fill_message(struct sock *sk, struct sk_buff *skb,
			struct msghdr *msg)
{
	struct page_frag *pfrag = sk_page_frag(sk);
	int i = skb_shinfo(skb)->nr_frags;
	struct sdp_skb_cb *cb = sdp_cb(skb);
	bool merge;
	int copy, err;

	if (!sk_page_frag_refill(sk, pfrag))
		return -ENOMEM;
	merge = skb_can_coalesce(skb, i, pfrag->page, pfrag->offset);
	if (!merge && i >= SDP_TX_FRAGS) {
		cb->closed = true;
		return 0;
	}
	copy = min3((u32)msg_data_left(msg), pfrag->size - pfrag->offset,
		    cb->room - skb->len);
	if (!sk_wmem_schedule(sk, copy))
		return -ENOMEM;
	err = skb_copy_to_page_nocache(sk, &msg->msg_iter, skb, pfrag->page,
				       pfrag->offset, copy);
	if (err)
		return err;
	if (merge) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], copy);
	} else {
		skb_fill_page_desc(skb, i, pfrag->page, pfrag->offset, copy);
		get_page(pfrag->page);
	}
	pfrag->offset += copy;
	cb->closed = skb->len >= cb->room;
	return copy;
}

/* The user waits for memory: take what completed, send what may go, sleep. */
static int wait_for_memory(struct sock *sk, long *timeo)
{
	bool full = !sk_stream_memory_free(sk);

	sdp_channel_poll_sends(sk);
	if (full && sk_stream_memory_free(sk))
		return 0;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	sdp_push(sk);
	sdp_count(sk, MEMORY_WAITS);
	return sk_stream_wait_memory(sk, timeo);
}

/* Queue all of @msg; returns 0 or a negative errno, *copied counts. */
static int queue_all(struct sock *sk, struct msghdr *msg, long *timeo,
		     size_t *copied)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sk_buff *skb;
	int n;

	while (msg_data_left(msg)) {
		skb = open_message(sk);
		n = skb ? fill_message(sk, skb, msg) : -ENOMEM;
		if (n == -ENOMEM) {
			drop_empty_message(sk);
			n = wait_for_memory(sk, timeo);
			if (n)
				return n;
			continue;
		}
		if (n < 0) {
			drop_empty_message(sk);
			return n;
		}
		ssk->write_seq += n;
		*copied += n;
		if (sdp_cb(skb)->closed && msg_data_left(msg) &&
		    skb_queue_len(&sk->sk_write_queue) >= SDP_TX_BATCH)
			sdp_push(sk);
	}
	return 0;
}

static int send_locked(struct sock *sk, struct msghdr *msg)
{
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	struct sdp_sock *ssk = sdp_sk(sk);
	int flags = msg->msg_flags;
	size_t copied = 0;
	int err;

	if (flags & MSG_FASTOPEN)
		return -EOPNOTSUPP;
	/* As TCP: who sends to a peer that had closed gets EPIPE. */
	if (ssk->peer_closed && sk->sk_err == ECONNRESET)
		sock_error(sk);
	if ((1 << sk->sk_state) & ~(TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)) {
		err = sk_stream_wait_connect(sk, &timeo);
		if (err)
			return sk_stream_error(sk, flags, err);
	}
	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	if (sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN)
		return sk_stream_error(sk, flags, -EPIPE);

	err = queue_all(sk, msg, &timeo, &copied);
	if (copied && flags & MSG_OOB && !err) {
		sdp_cb(skb_peek_tail(&sk->sk_write_queue))->urgent = true;
		sdp_cb(skb_peek_tail(&sk->sk_write_queue))->closed = true;
	}
	ssk->more = flags & MSG_MORE;
	sdp_push(sk);
	if (copied)
		return copied;
	if (!err)
		return 0;
	err = sk_stream_error(sk, flags, err);
	/* Nothing is queued that could wake an edge-triggered waiter. */
	if (skb_queue_empty(&sk->sk_write_queue) && err == -EAGAIN)
		sk->sk_write_space(sk);
	return err;
}

/**
 * sdp_sendmsg - struct proto's sendmsg
 * @sk: the socket
 * @msg: what to send
 * @len: bytes
 *
 * Context: process. Return: bytes queued or a negative errno, as TCP.
 */
int sdp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	int ret;

	lock_sock(sk);
	ret = send_locked(sk, msg);
	release_sock(sk);
	return ret;
}

/* ---- Sending: from the queue to the wire -------------------------------- */

static void describe_queue(struct sock *sk, struct sdp_tx_queue *queue)
{
	struct sk_buff *skb = skb_peek(&sk->sk_write_queue);
	struct sdp_sock *ssk = sdp_sk(sk);

	memset(queue, 0, sizeof(*queue));
	if (!skb)
		return;
	queue->payload = skb->len;
	queue->full = sdp_cb(skb)->closed;
	queue->more = !skb_queue_is_last(&sk->sk_write_queue, skb);
	queue->urgent = sdp_cb(skb)->urgent;
	queue->nodelay = ssk->nodelay || ssk->push_now;
	queue->cork = (ssk->cork || ssk->more) && !ssk->push_now;
	queue->in_flight = ssk->in_flight;
}

/* A stream of full messages deserves large buffers at both ends (9.1). */
static void note_bulk(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (!sdp_cb(skb)->closed || sdp_cb(skb)->urgent) {
		ssk->bulk = 0;
		return;
	}
	if (++ssk->bulk != BULK_MESSAGES)
		return;
	sdp_grow_peer(&ssk->conn);
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK) &&
	    sk->sk_sndbuf < SDP_TX_BUSY_SNDBUF)
		WRITE_ONCE(sk->sk_sndbuf, SDP_TX_BUSY_SNDBUF);
}

static struct sk_buff *take_payload(struct sock *sk)
{
	struct sk_buff *skb = __skb_dequeue(&sk->sk_write_queue);
	struct sdp_sock *ssk = sdp_sk(sk);

	ssk->unsent_seq += skb->len;
	ssk->in_flight++;
	ssk->push_now = false;
	note_bulk(sk, skb);
	sdp_count_add(sk, BYTES_SENT, skb->len);
	return skb;
}

/*
 * Post up to SDP_TX_BATCH messages with one doorbell. The last payload message
 * of a batch always completes, so that in_flight is known to fall.
 */
static unsigned int push_batch(struct sock *sk)
{
	struct sk_buff *skbs[SDP_TX_BATCH];
	struct sdp_tx tx[SDP_TX_BATCH];
	struct sdp_sock *ssk = sdp_sk(sk);
	unsigned int n, room;
	struct sdp_tx_queue queue;
	bool payload = false;

	room = min_t(u32, sdp_channel_tx_room(ssk->channel), SDP_TX_BATCH);
	for (n = 0; n < room; n++) {
		describe_queue(sk, &queue);
		if (!sdp_tx_next(&ssk->conn, &queue, &tx[n]))
			break;
		skbs[n] = tx[n].payload ? take_payload(sk) : NULL;
		payload |= tx[n].payload;
		sdp_count_message(sk, tx[n].mid, true);
		if (tx[n].mid == SDP_MID_DATA && !tx[n].payload)
			sdp_count(sk, CREDIT_UPDATES_SENT);
		if (tx[n].solicited)
			sdp_count(sk, SOLICITED_SENT);
	}
	if (n)
		sdp_channel_post_messages(sk, tx, skbs, n, payload);
	return n;
}

/*
 * Somebody waits for sends to complete, or may do so without our knowing (poll
 * waits when two thirds of SO_SNDBUF are used): have that reported.
 */
static bool completion_wanted(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_conn *conn = &ssk->conn;

	return !skb_queue_empty(&sk->sk_write_queue) ||
	       !sdp_channel_tx_room(ssk->channel) ||
	       sk->sk_wmem_queued >= min(SDP_TX_LAZY, sk->sk_sndbuf / 2) ||
	       (conn->fin_sent && !conn->fin_done) || conn->aborted ||
	       conn->reading || ssk->keep_posted;
}

static void count_waits(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (skb_queue_empty(&sk->sk_write_queue))
		return;
	if (sdp_tx_starved(&ssk->conn))
		sdp_count(sk, CREDIT_WAITS);
	else if (!sdp_channel_tx_room(ssk->channel))
		sdp_count(sk, SEND_QUEUE_WAITS);
}

/**
 * sdp_push - send whatever the core lets go
 * @sk: the socket, may be without a channel
 *
 * Context: socket lock, process or softirq.
 */
void sdp_push(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	bool pushed = false;

	if (!ssk->channel || ssk->in_push)
		return;
	ssk->in_push = true;
	/* What has completed unnoticed must not hold back a message. */
	if (ssk->in_flight && !skb_queue_empty(&sk->sk_write_queue))
		sdp_channel_poll_sends(sk);
	while (push_batch(sk))
		pushed = true;
	ssk->in_push = false;
	ssk->conn.actions &= ~SDP_ACT_PUSH;
	if (pushed)
		ssk->last_active = jiffies;
	count_waits(sk);
	if (completion_wanted(sk))
		sdp_channel_want_sends(sk);
	sdp_tx_timer_update(sk);
	if (ssk->conn.actions)
		sdp_act(sk);
}

/* ---- Receiving: buffers ------------------------------------------------- */

/*
 * Is there room for @size more bytes of buffers? All are charged, whether
 * posted, unread or free. The least that the protocol needs is always there.
 */
static bool rx_room(struct sock *sk, u32 size)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	return ssk->rx_total < SDP_RX_MIN ||
	       atomic_read(&sk->sk_rmem_alloc) + size <= ssk->rx_window;
}

/**
 * sdp_rx_buffer - allocate a receive buffer and charge it to the socket
 * @sk: the socket
 * @gfp: allocation flags
 *
 * It goes back by kfree_skb(), unless the caller makes it one of those that
 * circulate (cb->circulates, counted in rx_total).
 *
 * Context: socket lock, process or softirq. Return: the buffer or NULL.
 */
struct sk_buff *sdp_rx_buffer(struct sock *sk, gfp_t gfp)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 alloc = ssk->rx_alloc;
	struct sk_buff *skb;
	struct page *page;

	skb = alloc_skb(0, gfp | __GFP_NOWARN);
	if (!skb)
		return NULL;
	/* Large pages are a luxury: never from the atomic reserves. */
	if (alloc > PAGE_SIZE && !gfpflags_allow_blocking(gfp))
		gfp = GFP_NOWAIT | __GFP_NOMEMALLOC;
	page = alloc_pages(gfp | __GFP_NOWARN | __GFP_NORETRY | __GFP_COMP,
			   get_order(alloc));
	if (!page)
		goto free_skb;
	skb_add_rx_frag(skb, 0, page, 0, alloc, alloc);
	if (!sk_rmem_schedule(sk, skb, skb->truesize))
		goto free_skb;
	skb_set_owner_r(skb, sk);
	memset(sdp_cb(skb), 0, sizeof(struct sdp_skb_cb));
	sdp_cb(skb)->alloc = alloc;
	return skb;

free_skb:
	kfree_skb(skb);
	sdp_count(sk, RECV_BUFFER_FAILURES);
	return NULL;
}

/* Buffers that an earlier connection has posted are not counted any more. */
static bool of_present_channel(struct sock *sk, struct sk_buff *skb)
{
	return sdp_cb(skb)->circulates &&
	       sdp_cb(skb)->generation == sdp_sk(sk)->rx_generation;
}

/**
 * sdp_rx_drop - free a receive buffer
 * @sk: the socket
 * @skb: in no queue
 *
 * Context: socket lock, process or softirq.
 */
void sdp_rx_drop(struct sock *sk, struct sk_buff *skb)
{
	if (of_present_channel(sk, skb))
		sdp_sk(sk)->rx_total--;
	consume_skb(skb);
}

/* Can the buffer be posted again? */
static bool usable(struct sock *sk, struct sk_buff *skb)
{
	return of_present_channel(sk, skb) && sdp_sk(sk)->channel &&
	       sdp_cb(skb)->alloc == sdp_sk(sk)->rx_alloc;
}

static struct sk_buff *circulating_buffer(struct sock *sk, gfp_t gfp)
{
	struct sk_buff *skb = sdp_rx_buffer(sk, gfp);

	if (skb) {
		sdp_cb(skb)->circulates = true;
		sdp_cb(skb)->generation = sdp_sk(sk)->rx_generation;
		sdp_sk(sk)->rx_total++;
	}
	return skb;
}

/**
 * sdp_rx_recycle - a receive buffer was read: keep it or let it go
 * @sk: the socket
 * @skb: in no queue
 *
 * Context: socket lock, process or softirq.
 */
void sdp_rx_recycle(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (usable(sk, skb) &&
	    (rx_room(sk, 0) || ssk->rx_total == SDP_RX_MIN))
		__skb_queue_tail(&ssk->rx_free, skb);
	else
		sdp_rx_drop(sk, skb);
}

static void purge_list(struct sock *sk, struct sk_buff_head *list)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(list)))
		sdp_rx_drop(sk, skb);
}

/**
 * sdp_rx_purge - drop everything received and every free buffer
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_rx_purge(struct sock *sk)
{
	purge_list(sk, &sk->sk_receive_queue);
	purge_list(sk, &sdp_sk(sk)->rx_free);
	sdp_sk(sk)->copied_seq = sdp_sk(sk)->rcv_seq;
}

/**
 * sdp_rx_detach - the socket has lost its channel, which frees what is posted
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_rx_detach(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	purge_list(sk, &ssk->rx_free);
	ssk->rx_generation++;
	ssk->rx_total = 0;
}

static struct sk_buff *next_buffer(struct sock *sk, gfp_t gfp)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sk_buff *skb = __skb_dequeue(&ssk->rx_free);

	if (skb || !rx_room(sk, SKB_TRUESIZE(ssk->rx_alloc)))
		return skb;
	skb = circulating_buffer(sk, gfp);
	/* What a softirq does not get, the channel's work may. */
	if (!skb && !gfpflags_allow_blocking(gfp))
		sdp_channel_event(ssk->channel, SDP_EV_MEMORY);
	return skb;
}

/**
 * sdp_post_receives - post free receive buffers, and new ones if wanted
 * @sk: the socket
 * @gfp: allocation flags
 *
 * Context: socket lock, process or softirq.
 */
void sdp_post_receives(struct sock *sk, gfp_t gfp)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sk_buff *skb;
	u32 posted = 0;

	if (!ssk->channel || !ssk->channel->qp)
		return;
	while (sdp_channel_rx_room(ssk->channel) &&
	       (skb = next_buffer(sk, gfp))) {
		if (!sdp_channel_post_receive(sk, skb)) {
			__skb_queue_head(&ssk->rx_free, skb);
			sdp_tx_timer_update(sk);	/* to try again */
			break;
		}
		posted++;
	}
	if (posted)
		sdp_rx_posted(&ssk->conn, posted);
}

/**
 * sdp_rx_prepare - choose size and number of the first receive buffers
 * @sk: the socket, about to connect or just accepted
 * @peer: its Hello, NULL if we connect
 *
 * A peer that does not ask for larger buffers gets them at once, if SO_RCVBUF
 * has room for them.
 *
 * Context: socket lock. Return: the buffer size S, bytes.
 */
u32 sdp_rx_prepare(struct sock *sk, const struct sdp_params *peer)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 least = 2 * SDP_RX_MIN * SDP_RX_LEGACY;

	ssk->rx_alloc = SDP_RX_START;
	if (peer && sdp_peer_kind(peer) != SDP_PEER_FULL &&
	    READ_ONCE(sk->sk_rcvbuf) >= least)
		ssk->rx_alloc = SDP_RX_LEGACY;
	ssk->rx_window = SDP_RX_MIN * SKB_TRUESIZE(ssk->rx_alloc);
	return ssk->rx_alloc;
}

static bool may_grow(struct sock *sk)
{
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		return sk->sk_rcvbuf >= 2 * SDP_RX_MIN * SDP_RX_GROWN;
	return true;
}

/**
 * sdp_rx_resize - the peer sent a ChRcvBuf: grow the buffers, or refuse
 * @sk: the socket
 *
 * The new buffers exist before anything is promised.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_rx_resize(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_conn *conn = &ssk->conn;
	u32 old = ssk->rx_alloc, got = 0;
	struct sk_buff_head list;
	struct sk_buff *skb;

	if (conn->resize_to <= conn->rcv_size || old >= SDP_RX_GROWN ||
	    !may_grow(sk)) {
		sdp_resize(conn, conn->rcv_size);
		return;
	}
	__skb_queue_head_init(&list);
	ssk->rx_alloc = SDP_RX_GROWN;
	while (got < 2 * SDP_RX_MIN && (skb = circulating_buffer(sk, GFP_ATOMIC))) {
		__skb_queue_tail(&list, skb);
		got++;
	}
	if (got < SDP_RX_MIN) {
		purge_list(sk, &list);
		ssk->rx_alloc = old;
		sdp_resize(conn, conn->rcv_size);
		return;
	}
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK) &&
	    sk->sk_rcvbuf < SDP_RX_BUSY_RCVBUF)
		WRITE_ONCE(sk->sk_rcvbuf, SDP_RX_BUSY_RCVBUF);
	ssk->rx_window = max_t(u32, ssk->rx_window,
			       got * SKB_TRUESIZE(SDP_RX_GROWN));
	purge_list(sk, &ssk->rx_free);
	sdp_resize(conn, SDP_MAX_RCV_SIZE);
	while ((skb = __skb_dequeue(&list)))
		__skb_queue_tail(&ssk->rx_free, skb);
	sdp_post_receives(sk, GFP_ATOMIC);
}

/* ---- Receiving: messages ------------------------------------------------ */

static u8 *buffer_page(struct sk_buff *skb)
{
	return page_address(skb_frag_page(&skb_shinfo(skb)->frags[0]));
}

/* An urgent byte ends the stream at a mark; a newer one takes its place. */
static void note_urgent(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_skb_cb *cb = sdp_cb(skb);
	u8 *page = buffer_page(skb);
	struct sk_buff *head;

	/* As TCP: an unread urgent byte that is next to be read is lost. */
	if (ssk->urg_data && ssk->urg_seq == ssk->copied_seq &&
	    !sock_flag(sk, SOCK_URGINLINE) && ssk->copied_seq != cb->seq) {
		WRITE_ONCE(ssk->copied_seq, ssk->copied_seq + 1);
		head = skb_peek(&sk->sk_receive_queue);
		if (head && !seq_after(sdp_cb(head)->seq +
				       sdp_cb(head)->payload,
				       ssk->copied_seq)) {
			__skb_unlink(head, &sk->sk_receive_queue);
			sdp_rx_recycle(sk, head);
		}
	}
	WRITE_ONCE(ssk->urg_seq, cb->seq + cb->payload - 1);
	WRITE_ONCE(ssk->urg_data,
		   SDP_URG_VALID | page[cb->offset + cb->payload - 1]);
}

/**
 * sdp_queue_payload - put payload in reach of recvmsg
 * @sk: the socket
 * @skb: with cb->offset and cb->payload set; taken over
 *
 * Context: socket lock, process or softirq.
 */
void sdp_queue_payload(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_skb_cb *cb = sdp_cb(skb);

	cb->seq = ssk->rcv_seq;
	WRITE_ONCE(ssk->rcv_seq, ssk->rcv_seq + cb->payload);
	__skb_queue_tail(&sk->sk_receive_queue, skb);
	sdp_count_add(sk, BYTES_RECEIVED, cb->payload);
}

static bool window_at_limit(struct sock *sk)
{
	return sdp_sk(sk)->rx_window >= READ_ONCE(sk->sk_rcvbuf);
}

/*
 * The peer has run out of credits for payload: give it more, whether the user
 * reads or not, up to what SO_RCVBUF allows.
 */
static void widen_window(struct sock *sk, gfp_t gfp)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (ssk->conn.granted >= SDP_MIN_CREDITS || window_at_limit(sk))
		return;
	ssk->rx_window = min_t(u32, 2 * ssk->rx_window,
			       READ_ONCE(sk->sk_rcvbuf));
	sdp_post_receives(sk, gfp);
}

/**
 * sdp_set_rcvlowat - SO_RCVLOWAT: make room for so many unread bytes
 * @sk: the socket, locked
 * @val: bytes
 *
 * Context: process. Return: 0.
 */
int sdp_set_rcvlowat(struct sock *sk, int val)
{
	int limit = sk->sk_userlocks & SOCK_RCVBUF_LOCK ? sk->sk_rcvbuf :
		    sk->sk_prot->sysctl_rmem[2];
	int need;

	val = min(val, limit / 2);
	WRITE_ONCE(sk->sk_rcvlowat, val ?: 1);
	need = 2 * val + SDP_RX_MIN * SKB_TRUESIZE(sdp_sk(sk)->rx_alloc);
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK) && sk->sk_rcvbuf < need)
		WRITE_ONCE(sk->sk_rcvbuf, min(need, limit));
	if (sdp_sk(sk)->channel) {
		widen_window(sk, GFP_KERNEL);
		sdp_push(sk);
	}
	return 0;
}

/* Move the payload of @skb behind that of @to, if it fits there. */
static bool merge(struct sock *sk, struct sk_buff *to, struct sk_buff *skb)
{
	struct sdp_skb_cb *from = sdp_cb(skb), *cb = sdp_cb(to);

	if (cb->offset + cb->payload + from->payload > cb->alloc)
		return false;
	memcpy(buffer_page(to) + cb->offset + cb->payload,
	       buffer_page(skb) + from->offset, from->payload);
	cb->payload += from->payload;
	__skb_unlink(skb, &sk->sk_receive_queue);
	sdp_rx_recycle(sk, skb);
	return true;
}

/*
 * All buffers that SO_RCVBUF allows are out, and the peer cannot send payload:
 * as TCP collapses its queue under pressure, small messages then share a
 * buffer. The whole queue is looked at only while half of it is empty.
 */
static void collapse(struct sock *sk)
{
	struct sk_buff_head *queue = &sk->sk_receive_queue;
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 unread = ssk->rcv_seq - ssk->copied_seq;
	struct sk_buff *skb, *next, *to;

	if (ssk->conn.granted >= SDP_MIN_CREDITS || !window_at_limit(sk))
		return;
	to = skb_peek_tail(queue);
	if (skb_queue_is_first(queue, to))
		return;
	if (2 * unread < atomic_read(&sk->sk_rmem_alloc))
		to = skb_peek(queue);
	else
		to = skb_queue_prev(queue, to);
	for (skb = skb_queue_next(queue, to);; skb = next) {
		bool last = skb_queue_is_last(queue, skb);

		next = last ? NULL : skb_queue_next(queue, skb);
		if (!merge(sk, to, skb))
			to = skb;
		if (last)
			break;
	}
	sdp_post_receives(sk, GFP_ATOMIC);
}

static void receive_payload(struct sock *sk, struct sk_buff *skb,
			    const struct sdp_rx *rx)
{
	sdp_cb(skb)->offset = rx->offset;
	sdp_cb(skb)->payload = rx->payload;
	sdp_queue_payload(sk, skb);
	if (rx->urgent)
		note_urgent(sk, skb);
	collapse(sk);
	widen_window(sk, GFP_ATOMIC);
}

/* The first message may overtake the RTU (R12). */
static void establish_early(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (ssk->conn.state != SDP_SYN_RECV)
		return;
	sdp_channel_early(ssk->channel);
	sdp_established(&ssk->conn);
	sdp_act(sk);
}

/**
 * sdp_received - a message arrived
 * @sk: the socket, with a channel
 * @skb: the receive buffer that holds it; taken over
 * @len: bytes received
 *
 * Context: socket lock, process or softirq.
 */
void sdp_received(struct sock *sk, struct sk_buff *skb, u32 len)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_rx rx;
	int err;

	establish_early(sk);
	ssk->last_active = jiffies;
	err = sdp_rx(&ssk->conn, buffer_page(skb), len, &rx);
	if (err == -ENOTCONN) {
		sdp_rx_recycle(sk, skb);
		return;
	}
	if (err) {
		sdp_count_violation(sk);
		rx.payload = 0;
	}
	sdp_count_message(sk, rx.mid, false);
	if (rx.update)
		sdp_count(sk, CREDIT_UPDATES_RECEIVED);
	if (rx.payload) {
		receive_payload(sk, skb, &rx);
	} else {
		/* What holds no payload is posted again at once (3.7). */
		if (usable(sk, skb))
			__skb_queue_tail(&ssk->rx_free, skb);
		else
			sdp_rx_drop(sk, skb);
		sdp_post_receives(sk, GFP_ATOMIC);
	}
	/* Wake-ups and pushes wait for the end of the batch. */
	if (ssk->conn.actions & ~(SDP_ACT_PUSH | SDP_ACT_READABLE))
		sdp_act(sk);
}

/* ---- Receiving: the user ------------------------------------------------ */

/* One call of recvmsg. */
struct reader {
	struct msghdr *msg;
	size_t len;		/* bytes still wanted */
	int flags;
	long timeo;
	int target;
	int copied;
	u32 *seq;		/* the next byte: copied_seq, or peek */
	u32 peek;
};

/* The user has read: post the buffers again, tell the peer. */
static void after_read(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (!ssk->channel ||
	    (skb_queue_empty(&ssk->rx_free) && !ssk->conn.adverts))
		return;
	sdp_post_receives(sk, GFP_KERNEL);
	sdp_serve_src_avail(sk);
	sdp_push(sk);
}

static struct sk_buff *find_byte(struct sock *sk, u32 seq)
{
	struct sk_buff *skb;

	skb_queue_walk(&sk->sk_receive_queue, skb)
		if (seq - sdp_cb(skb)->seq < sdp_cb(skb)->payload)
			return skb;
	return NULL;
}

/* Drop @skb from the queue when its last byte has been read. */
static void consume(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (ssk->urg_data && seq_after(ssk->copied_seq, ssk->urg_seq))
		WRITE_ONCE(ssk->urg_data, 0);
	if (ssk->copied_seq - sdp_cb(skb)->seq < sdp_cb(skb)->payload)
		return;
	__skb_unlink(skb, &sk->sk_receive_queue);
	sdp_rx_recycle(sk, skb);
}

/*
 * How much of @used bytes at *r->seq may be read in one go: up to the urgent
 * byte; that byte itself is skipped unless SO_OOBINLINE is set.
 */
static u32 up_to_urgent(struct sock *sk, struct reader *r, u32 used)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 distance = ssk->urg_seq - *r->seq;

	if (!ssk->urg_data || distance >= used)
		return used;
	if (distance)
		return distance;
	if (sock_flag(sk, SOCK_URGINLINE))
		return used;
	WRITE_ONCE(*r->seq, *r->seq + 1);
	return used - 1;
}

/* Copy from one buffer. Returns 0 or a negative errno. */
static int read_buffer(struct sock *sk, struct reader *r, struct sk_buff *skb)
{
	struct sdp_skb_cb *cb = sdp_cb(skb);
	u32 used, offset;
	int err;

	used = min_t(size_t, r->len, cb->seq + cb->payload - *r->seq);
	used = up_to_urgent(sk, r, used);
	offset = *r->seq - cb->seq;
	if (used && !(r->flags & MSG_TRUNC)) {
		err = skb_copy_datagram_msg(skb, cb->offset + offset, r->msg,
					    used);
		if (err)
			return -EFAULT;
	}
	WRITE_ONCE(*r->seq, *r->seq + used);
	r->copied += used;
	r->len -= used;
	if (!(r->flags & MSG_PEEK))
		consume(sk, skb);
	return 0;
}

/* Is the reading over, with what is there? Sets r->copied if it failed. */
static bool reading_ends(struct sock *sk, struct reader *r)
{
	if (r->copied)
		return r->copied >= r->target || !r->timeo || sk->sk_err ||
		       sk->sk_state == TCP_CLOSE ||
		       sk->sk_shutdown & RCV_SHUTDOWN ||
		       signal_pending(current);
	if (sock_flag(sk, SOCK_DONE))
		return true;
	if (sk->sk_err)
		r->copied = sock_error(sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		return true;
	else if (sk->sk_state == TCP_CLOSE)
		r->copied = -ENOTCONN;
	else if (!r->timeo)
		r->copied = -EAGAIN;
	else if (signal_pending(current))
		r->copied = sock_intr_errno(r->timeo);
	return r->copied;
}

/* At the urgent mark a read stops, so that the program can see it. */
static bool at_mark(struct sock *sk, struct reader *r)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (!ssk->urg_data || ssk->urg_seq != *r->seq)
		return false;
	if (r->copied)
		return true;
	if (!signal_pending(current))
		return false;
	r->copied = r->timeo ? sock_intr_errno(r->timeo) : -EAGAIN;
	return true;
}

static void read_stream(struct sock *sk, struct reader *r)
{
	struct sk_buff *skb;
	int err;

	do {
		if (at_mark(sk, r))
			return;
		skb = find_byte(sk, *r->seq);
		if (skb) {
			err = read_buffer(sk, r, skb);
			if (err) {
				r->copied = r->copied ?: err;
				return;
			}
			continue;
		}
		if (reading_ends(sk, r))
			return;
		after_read(sk);
		err = sk_wait_data(sk, &r->timeo,
				   skb_peek_tail(&sk->sk_receive_queue));
		if (err < 0) {
			r->copied = r->copied ?: err;
			return;
		}
		/* Another thread may have read what was peeked. */
		if (r->flags & MSG_PEEK &&
		    seq_after(sdp_sk(sk)->copied_seq, r->peek))
			r->peek = sdp_sk(sk)->copied_seq;
	} while (r->len > 0);
}

static int read_urgent(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	char byte = ssk->urg_data;
	int err = 0;

	if (sock_flag(sk, SOCK_URGINLINE) || !ssk->urg_data ||
	    ssk->urg_data == SDP_URG_READ)
		return -EINVAL;
	if (sk->sk_state == TCP_CLOSE && !sock_flag(sk, SOCK_DONE))
		return -ENOTCONN;
	if (!(ssk->urg_data & SDP_URG_VALID))
		return sk->sk_shutdown & RCV_SHUTDOWN ? 0 : -EAGAIN;

	if (!(flags & MSG_PEEK))
		WRITE_ONCE(ssk->urg_data, SDP_URG_READ);
	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	if (!(flags & MSG_TRUNC))
		err = memcpy_to_msg(msg, &byte, 1);
	return err ? -EFAULT : 1;
}

/**
 * sdp_recvmsg - struct proto's recvmsg
 * @sk: the socket
 * @msg: where to
 * @len: bytes
 * @flags: MSG_*
 * @addr_len: not used, a stream has no sender's address
 *
 * Context: process. Return: bytes read or a negative errno, as TCP.
 */
int sdp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		int *addr_len)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct reader r = {
		.msg = msg,
		.len = len,
		.flags = flags,
	};

	if (unlikely(flags & MSG_ERRQUEUE))
		return sock_recv_errqueue(sk, msg, len, SOL_IP, IP_RECVERR);

	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		r.copied = -ENOTCONN;
	} else if (flags & MSG_OOB) {
		r.copied = read_urgent(sk, msg, len, flags);
	} else {
		r.timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
		r.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
		r.peek = ssk->copied_seq;
		r.seq = flags & MSG_PEEK ? &r.peek : &ssk->copied_seq;
		read_stream(sk, &r);
		after_read(sk);
	}
	release_sock(sk);
	return r.copied;
}
