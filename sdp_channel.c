// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A channel's verbs objects: protection domain, completion queues, QP and the
 * rings of posted work requests; posting, and taking completions.
 *
 * Both CQs are polled under the socket lock only, so every ring index is
 * protected by it. A device's completion callback may come with the device's
 * lock held and interrupts off: it only schedules the softirq, and never
 * touches its CQ. ib_core's CQ helpers are not used because they cannot arm
 * for solicited completions only, and take no account of the socket lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <rdma/ib_cache.h>

#include "sdp.h"
#include "sdp_compat.h"

#define POLL_BATCH	8	/* completions taken at a time */
#define POLL_BUDGET	128	/* receives before others have their turn */
#define DRAIN_BUDGET	1024

/*
 * ACK timeout 2^18 * 4.096 us: with SDP_QP_RETRIES a connection lives through
 * 7.5 s without a path, as when a switch fails over. RNR NAK: 0.64 ms.
 */
#define QP_TIMEOUT	18
#define QP_MIN_RNR	12

/**
 * sdp_channel_alloc - a channel without socket, device or CM id
 * @gfp: allocation flags
 *
 * Return: the channel with its life reference, or NULL.
 */
struct sdp_channel *sdp_channel_alloc(gfp_t gfp)
{
	struct sdp_channel *ch = kzalloc(sizeof(*ch), gfp);

	if (!ch)
		return NULL;
	kref_init(&ch->ref);
	INIT_LIST_HEAD(&ch->device_entry);
	INIT_WORK(&ch->work, sdp_channel_work);
	INIT_DELAYED_WORK(&ch->linger, sdp_channel_linger);
	INIT_DELAYED_WORK(&ch->no_rtu, sdp_channel_no_rtu);
	return ch;
}

static void channel_release(struct kref *ref)
{
	struct sdp_channel *ch = container_of(ref, struct sdp_channel, ref);

	if (ch->sk)
		sock_put(ch->sk);
	kfree(ch->path);
	kfree_rcu(ch, rcu);
}

/**
 * sdp_channel_put - drop a reference; any context
 * @ch: the channel
 */
void sdp_channel_put(struct sdp_channel *ch)
{
	kref_put(&ch->ref, channel_release);
}

/* ---- Completion events -------------------------------------------------- */

/*
 * The softirq. The poll is completed and the mark cleared first: an event that
 * comes while the CQs are being emptied schedules again. The reference that
 * the event took keeps channel and socket until the end.
 */
static int channel_softirq(struct irq_poll *iop, int budget)
{
	struct sdp_channel *ch = container_of(iop, struct sdp_channel, poll);
	struct sock *sk = ch->sk;

	irq_poll_complete(iop);
	clear_bit(0, &ch->scheduled);
	smp_mb__after_atomic();	/* the mark is clear before the CQs are read */

	bh_lock_sock(sk);
	if (sdp_sk(sk)->channel != ch)
		;
	else if (sock_owned_by_user(sk))
		set_bit(SDP_POLL_DEFERRED, &sdp_sk(sk)->flags);
	else
		sdp_channel_poll(sk);
	bh_unlock_sock(sk);
	sdp_channel_put(ch);
	return 0;
}

/* Any context, possibly with the device's CQ lock held. */
static void completion_event(struct ib_cq *cq, void *context)
{
	struct sdp_channel *ch = context;

	if (test_and_set_bit(0, &ch->scheduled))
		return;
	/* 6.1's soft-RoCE may call a little after ib_destroy_cq(). */
	if (!kref_get_unless_zero(&ch->ref))
		return;
	irq_poll_sched(&ch->poll);
}

static void cq_async_event(struct ib_event *event, void *context)
{
	sdp_channel_fail(context, ECONNRESET);
}

static void qp_async_event(struct ib_event *event, void *context)
{
	struct sdp_channel *ch = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* The first message itself establishes the connection. */
		completion_event(ch->recv_cq, ch);
		break;
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	default:
		sdp_channel_fail(ch, ECONNRESET);
	}
}

/**
 * sdp_channel_fail - the QP is of no use any more; any context
 * @ch: the channel
 * @err: positive errno for the user, unless another cause was first
 */
void sdp_channel_fail(struct sdp_channel *ch, int err)
{
	cmpxchg(&ch->deferred_err, 0, err);
	sdp_channel_event(ch, SDP_EV_FAILED);
}

/* ---- Creating and destroying -------------------------------------------- */

static int create_cqs(struct sdp_channel *ch, struct ib_device *device)
{
	struct ib_cq_init_attr attr = {
		.comp_vector = raw_smp_processor_id() %
			       max(1, device->num_comp_vectors),
	};

	attr.cqe = SDP_SQ_DEPTH;
	ch->send_cq = ib_create_cq(device, completion_event, cq_async_event,
				   ch, &attr);
	if (IS_ERR(ch->send_cq))
		return PTR_ERR(ch->send_cq);
	attr.cqe = SDP_RQ_DEPTH;
	ch->recv_cq = ib_create_cq(device, completion_event, cq_async_event,
				   ch, &attr);
	if (!IS_ERR(ch->recv_cq))
		return 0;
	ib_destroy_cq(ch->send_cq);
	return PTR_ERR(ch->recv_cq);
}

static int create_qp(struct sdp_channel *ch, struct ib_device *device)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= qp_async_event,
		.qp_context	= ch,
		.send_cq	= ch->send_cq,
		.recv_cq	= ch->recv_cq,
		.cap = {
			.max_send_wr	= SDP_SQ_DEPTH,
			.max_recv_wr	= SDP_RQ_DEPTH,
			.max_send_sge	= 1 + SDP_TX_FRAGS,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(ch->pd, &attr);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ch->qp = qp;
	return 0;
}

static int create_headers(struct sdp_channel *ch, struct ib_device *device)
{
	size_t size = SDP_TX_RING * SDP_HEADER_SLOT;

	ch->headers = kzalloc(size, GFP_KERNEL);
	if (!ch->headers)
		return -ENOMEM;
	ch->header_dma = ib_dma_map_single(device, ch->headers, size,
					   DMA_TO_DEVICE);
	if (!ib_dma_mapping_error(device, ch->header_dma))
		return 0;
	kfree(ch->headers);
	return -ENOMEM;
}

static void destroy_headers(struct sdp_channel *ch, struct ib_device *device)
{
	ib_dma_unmap_single(device, ch->header_dma,
			    SDP_TX_RING * SDP_HEADER_SLOT, DMA_TO_DEVICE);
	kfree(ch->headers);
	ch->headers = NULL;
}

/**
 * sdp_channel_create_qp - make the verbs objects, the QP in RESET
 * @ch: on a device, without QP
 *
 * Context: process, may sleep; the socket lock is not needed. Return: 0 or a
 * negative errno, with nothing left behind.
 */
int sdp_channel_create_qp(struct sdp_channel *ch)
{
	struct ib_device *device = ch->device->ib;
	int err;

	irq_poll_init(&ch->poll, 1, channel_softirq);
	err = create_headers(ch, device);
	if (err)
		return err;
	ch->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(ch->pd)) {
		err = PTR_ERR(ch->pd);
		goto free_headers;
	}
	err = create_cqs(ch, device);
	if (err)
		goto free_pd;
	err = create_qp(ch, device);
	if (err)
		goto free_cqs;
	err = xa_insert_bh(&ch->device->qps, ch->qp->qp_num, ch, GFP_KERNEL);
	if (err)
		goto free_qp;
	return 0;

free_qp:
	ib_destroy_qp(ch->qp);
	ch->qp = NULL;
free_cqs:
	ib_destroy_cq(ch->recv_cq);
	ib_destroy_cq(ch->send_cq);
free_pd:
	ib_dealloc_pd(ch->pd);
free_headers:
	destroy_headers(ch, device);
	ch->send_cq = NULL;
	ch->recv_cq = NULL;
	return err;
}

static void unmap_slot(struct ib_device *device, struct sdp_tx_slot *slot)
{
	bool read = slot->kind == SDP_SLOT_READ;
	u32 i;

	for (i = 0; i < slot->frags; i++)
		ib_dma_unmap_page(device, slot->dma[i], read ?
				  sdp_cb(slot->skb)->alloc :
				  skb_frag_size(&skb_shinfo(slot->skb)->frags[i]),
				  read ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
	slot->frags = 0;
}

static void unmap_rx(struct ib_device *device, struct sk_buff *skb)
{
	ib_dma_unmap_page(device, sdp_cb(skb)->dma, sdp_cb(skb)->alloc,
			  DMA_FROM_DEVICE);
}

static void free_rings(struct sdp_channel *ch, struct ib_device *device)
{
	struct sdp_tx_slot *slot;
	struct sk_buff *skb;

	while (ch->tx_tail != ch->tx_head) {
		slot = &ch->tx[ch->tx_tail++ % SDP_TX_RING];
		unmap_slot(device, slot);
		if (slot->skb && slot->kind == SDP_SLOT_READ)
			sdp_rx_recycle(ch->sk, slot->skb);
		else if (slot->skb)
			sdp_tx_free(ch->sk, slot->skb);
	}
	while (ch->rx_tail != ch->rx_head) {
		skb = ch->rx[ch->rx_tail++ % SDP_RX_RING];
		unmap_rx(device, skb);
		sdp_rx_drop(ch->sk, skb);
	}
}

/**
 * sdp_channel_destroy_qp - give up QP and buffers; the channel stays
 * @ch: the channel; nothing happens if it has no QP
 *
 * Once the QP is destroyed the device touches no memory of ours, whatever was
 * posted. Only then are the buffers freed.
 *
 * Context: process, may sleep; takes the socket lock.
 */
void sdp_channel_destroy_qp(struct sdp_channel *ch)
{
	struct ib_cq *send_cq, *recv_cq;
	struct ib_device *device;
	struct ib_qp *qp;

	if (!ch->qp)
		return;
	device = ch->device->ib;
	lock_sock(ch->sk);
	qp = ch->qp;
	send_cq = ch->send_cq;
	recv_cq = ch->recv_cq;
	ch->qp = NULL;
	ch->send_cq = NULL;
	ch->recv_cq = NULL;
	release_sock(ch->sk);

	xa_erase_bh(&ch->device->qps, qp->qp_num);
	ib_destroy_qp(qp);
	sdp_cq_events_done(device);
	ib_destroy_cq(recv_cq);
	ib_destroy_cq(send_cq);

	lock_sock(ch->sk);
	free_rings(ch, device);
	sk_mem_reclaim(ch->sk);
	ch->sk->sk_write_space(ch->sk);
	release_sock(ch->sk);
	destroy_headers(ch, device);
	ib_dealloc_pd(ch->pd);
}

static int modify_init(struct sdp_channel *ch, const struct sa_path_rec *path)
{
	struct ib_qp_attr attr = {
		.qp_state	 = IB_QPS_INIT,
		.port_num	 = ch->port,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = ib_find_cached_pkey(ch->device->ib, ch->port,
				  be16_to_cpu(path->pkey), &attr.pkey_index);
	if (err)
		return err;
	return ib_modify_qp(ch->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/**
 * sdp_channel_init_qp - bring the QP to INIT, so that receives can be posted
 * @ch: with a QP
 * @path: whose P_Key is used
 *
 * Context: process, may sleep. Return: 0 or a negative errno.
 */
int sdp_channel_init_qp(struct sdp_channel *ch, const struct sa_path_rec *path)
{
	return modify_init(ch, path);
}

/**
 * sdp_channel_ready_qp - bring the QP to RTR and RTS
 * @ch: whose CM id knows the peer
 *
 * The peer's numbers for RDMA READs are clamped to ours (R98). The passive side
 * comes here before its REP, so that the first message can be answered from
 * softirq; the core sends nothing before the connection is established.
 *
 * Context: process, may sleep. Return: 0 or a negative errno.
 */
int sdp_channel_ready_qp(struct sdp_channel *ch)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int err, mask;

	err = ib_cm_init_qp_attr(ch->cm_id, &attr, &mask);
	if (err)
		return err;
	attr.rq_psn = ch->psn;	/* a child's, ib_cm knows only after the REP */
	attr.max_dest_rd_atomic = ch->responder_resources;
	attr.min_rnr_timer = QP_MIN_RNR;
	err = ib_modify_qp(ch->qp, &attr, mask);
	if (err)
		return err;

	attr.qp_state = IB_QPS_RTS;
	err = ib_cm_init_qp_attr(ch->cm_id, &attr, &mask);
	if (err)
		return err;
	attr.max_rd_atomic = ch->initiator_depth;
	attr.timeout = QP_TIMEOUT;
	attr.retry_cnt = min_t(u8, attr.retry_cnt, SDP_QP_RETRIES);
	return ib_modify_qp(ch->qp, &attr, mask);
}

/* ---- Posting ------------------------------------------------------------ */

/**
 * sdp_channel_tx_room - work requests that the send queue can take now
 * @ch: the channel, may be NULL
 *
 * Context: socket lock.
 */
u32 sdp_channel_tx_room(const struct sdp_channel *ch)
{
	if (!ch || !ch->qp || ch->failed)
		return 0;
	return SDP_SQ_DEPTH - (ch->tx_head - ch->tx_tail);
}

static struct sdp_tx_slot *next_slot(struct sdp_channel *ch, u8 kind,
				     struct sk_buff *skb)
{
	struct sdp_tx_slot *slot = &ch->tx[ch->tx_head % SDP_TX_RING];

	slot->skb = skb;
	slot->frags = 0;
	slot->kind = kind;
	slot->mid = 0;
	return slot;
}

/* Map the pages of @slot->skb behind the header; false: no mapping. */
static bool map_payload(struct sdp_channel *ch, struct sdp_tx_slot *slot,
			struct ib_sge *sge)
{
	struct skb_shared_info *info = skb_shinfo(slot->skb);
	struct ib_device *device = ch->device->ib;
	u32 i;

	for (i = 0; i < info->nr_frags; i++) {
		skb_frag_t *frag = &info->frags[i];

		sge[i].addr = ib_dma_map_page(device, skb_frag_page(frag),
					      skb_frag_off(frag),
					      skb_frag_size(frag),
					      DMA_TO_DEVICE);
		if (ib_dma_mapping_error(device, sge[i].addr))
			return false;
		sge[i].length = skb_frag_size(frag);
		sge[i].lkey = ch->pd->local_dma_lkey;
		slot->dma[i] = sge[i].addr;
		slot->frags = i + 1;
	}
	return true;
}

static bool must_signal(struct sdp_channel *ch, u8 mid)
{
	return ++ch->unsignaled >= SDP_TX_SIGNAL || mid == SDP_MID_DISCONN ||
	       mid == SDP_MID_ABORT;
}

static bool build_message(struct sdp_channel *ch, const struct sdp_tx *tx,
			  struct sk_buff *skb, bool signal,
			  struct ib_send_wr *wr, struct ib_sge *sge)
{
	u32 index = ch->tx_head % SDP_TX_RING;
	struct sdp_tx_slot *slot = next_slot(ch, SDP_SLOT_MESSAGE, skb);
	u32 offset = index * SDP_HEADER_SLOT;

	slot->mid = tx->mid;
	memcpy(ch->headers + offset, tx->header, tx->header_len);
	ib_dma_sync_single_for_device(ch->device->ib, ch->header_dma + offset,
				      tx->header_len, DMA_TO_DEVICE);
	sge[0].addr = ch->header_dma + offset;
	sge[0].length = tx->header_len;
	sge[0].lkey = ch->pd->local_dma_lkey;
	if (skb && !map_payload(ch, slot, sge + 1)) {
		unmap_slot(ch->device->ib, slot);
		return false;
	}

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = ch->tx_head++;
	wr->opcode = IB_WR_SEND;
	wr->sg_list = sge;
	wr->num_sge = 1 + slot->frags;
	if (must_signal(ch, tx->mid) || signal) {
		wr->send_flags |= IB_SEND_SIGNALED;
		ch->unsignaled = 0;
	}
	if (tx->solicited)
		wr->send_flags |= IB_SEND_SOLICITED;
	return true;
}

/*
 * A software adapter starts sending in a softirq. With bottom halves disabled
 * that runs when they are enabled again, here, instead of in ksoftirqd.
 */
static int post_send(struct sdp_channel *ch, const struct ib_send_wr *wr)
{
	int err;

	local_bh_disable();
	err = ib_post_send(ch->qp, wr, NULL);
	local_bh_enable();
	return err;
}

/**
 * sdp_channel_post_messages - post messages in the order of their MSeq
 * @sk: the socket, with room in its send queue for @count
 * @messages: at most SDP_TX_BATCH
 * @skbs: the payload of each, or NULL; taken over
 * @count: how many
 * @signal: the last one has to complete
 *
 * A failure fails the channel; what was not posted is freed with the ring.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_post_messages(struct sock *sk, struct sdp_tx *messages,
			       struct sk_buff **skbs, unsigned int count,
			       bool signal)
{
	struct ib_sge sge[SDP_TX_BATCH][1 + SDP_TX_FRAGS];
	struct sdp_channel *ch = sdp_sk(sk)->channel;
	struct ib_send_wr wr[SDP_TX_BATCH];
	unsigned int i;
	int err = 0;

	for (i = 0; i < count; i++) {
		if (!build_message(ch, &messages[i], skbs[i],
				   signal && i == count - 1, &wr[i], sge[i])) {
			err = -ENOMEM;
			break;
		}
		if (i)
			wr[i - 1].next = &wr[i];
	}
	if (!err)
		err = post_send(ch, wr);
	if (!err)
		return;
	/* Those whose slot was not taken belong to nobody yet. */
	for (; i < count; i++)
		if (skbs[i])
			sdp_tx_free(sk, skbs[i]);
	ch->failed = true;
	sdp_channel_fail(ch, ECONNRESET);
}

/**
 * sdp_channel_rx_room - receive buffers that the receive queue can take now
 * @ch: the channel
 *
 * Context: socket lock.
 */
u32 sdp_channel_rx_room(const struct sdp_channel *ch)
{
	return SDP_RQ_DEPTH - (ch->rx_head - ch->rx_tail);
}

/**
 * sdp_channel_post_receive - post one receive buffer
 * @sk: the socket
 * @skb: the buffer; taken over on success
 *
 * Context: socket lock, process or softirq. Return: false if the receive queue
 * is full or the device refuses.
 */
bool sdp_channel_post_receive(struct sock *sk, struct sk_buff *skb)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;
	struct ib_device *device = ch->device->ib;
	struct sdp_skb_cb *cb = sdp_cb(skb);
	struct ib_recv_wr wr = {};
	struct ib_sge sge;

	if (!sdp_channel_rx_room(ch) || ch->failed || !ch->qp)
		return false;
	cb->dma = ib_dma_map_page(device,
				  skb_frag_page(&skb_shinfo(skb)->frags[0]), 0,
				  cb->alloc, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(device, cb->dma))
		return false;
	sge.addr = cb->dma;
	sge.length = cb->alloc;
	sge.lkey = ch->pd->local_dma_lkey;
	wr.wr_id = ch->rx_head;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (ib_post_recv(ch->qp, &wr, NULL)) {
		unmap_rx(device, skb);
		return false;
	}
	ch->rx[ch->rx_head++ % SDP_RX_RING] = skb;
	return true;
}

static void post_rdma(struct sock *sk, struct ib_rdma_wr *wr)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;

	wr->wr.wr_id = ch->tx_head++;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	ch->unsignaled = 0;
	if (!post_send(ch, &wr->wr))
		return;
	ch->failed = true;
	sdp_channel_fail(ch, ECONNRESET);
}

/**
 * sdp_channel_post_read - post an RDMA READ into private memory
 * @sk: the socket, with room in its send queue
 * @read: what to read
 * @skb: a receive buffer of at least that size; taken over
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_post_read(struct sock *sk, const struct sdp_read *read,
			   struct sk_buff *skb)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;
	struct sdp_tx_slot *slot = next_slot(ch, SDP_SLOT_READ, skb);
	struct ib_device *device = ch->device->ib;
	struct ib_rdma_wr wr = {};
	struct ib_sge sge;

	slot->dma[0] = ib_dma_map_page(device,
				       skb_frag_page(&skb_shinfo(skb)->frags[0]),
				       0, sdp_cb(skb)->alloc, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(device, slot->dma[0])) {
		sdp_rx_recycle(sk, skb);
		ch->failed = true;
		sdp_channel_fail(ch, ECONNRESET);
		return;
	}
	slot->frags = 1;
	sge.addr = slot->dma[0];
	sge.length = read->len;
	sge.lkey = ch->pd->local_dma_lkey;
	wr.wr.opcode = IB_WR_RDMA_READ;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = read->va;
	wr.rkey = read->rkey;
	post_rdma(sk, &wr);
	sdp_channel_want_sends(sk);
}

/**
 * sdp_channel_post_keepalive - post a probe: an RDMA WRITE of nothing (8.5)
 * @sk: the socket, with room in its send queue
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_post_keepalive(struct sock *sk)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };

	next_slot(sdp_sk(sk)->channel, SDP_SLOT_KEEPALIVE, NULL);
	post_rdma(sk, &wr);
	sdp_channel_want_sends(sk);
}

/* ---- Completions -------------------------------------------------------- */

/* What a completion in error means to the user. */
static int wc_errno(enum ib_wc_status status)
{
	return status == IB_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET;
}

static void note_error(struct sdp_channel *ch, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR && !ch->failed)
		pr_debug("QP %u: %s\n", wc->qp->qp_num,
			 ib_wc_status_msg(wc->status));
	cmpxchg(&ch->deferred_err, 0, wc_errno(wc->status));
	ch->failed = true;
}

static void complete_slot(struct sock *sk, struct sdp_channel *ch)
{
	struct sdp_tx_slot *slot = &ch->tx[ch->tx_tail++ % SDP_TX_RING];
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sk_buff *skb = slot->skb;

	unmap_slot(ch->device->ib, slot);
	slot->skb = NULL;
	switch (slot->kind) {
	case SDP_SLOT_READ:
		sdp_read_completed(sk, skb);
		break;
	case SDP_SLOT_KEEPALIVE:
		sdp_keepalive_done(sk);
		break;
	default:
		if (skb) {
			ssk->unacked_seq += skb->len;
			ssk->in_flight--;
			sdp_tx_free(sk, skb);
		}
		sdp_tx_done(&ssk->conn, slot->mid);
	}
}

/* A completion stands for all work requests posted before it. */
static void sends_done(struct sock *sk, struct sdp_channel *ch,
		       const struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS) {
		note_error(ch, wc);
		return;
	}
	while ((s32)((u32)wc->wr_id - ch->tx_tail) >= 0)
		complete_slot(sk, ch);
}

/**
 * sdp_channel_poll_sends - take what the send queue has completed
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_poll_sends(struct sock *sk)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;
	struct ib_wc wc[POLL_BATCH];
	int i, n;

	if (!ch || !ch->send_cq || ch->tx_head == ch->tx_tail)
		return;
	ch->send_armed = false;
	do {
		n = ib_poll_cq(ch->send_cq, POLL_BATCH, wc);
		for (i = 0; i < n; i++)
			sends_done(sk, ch, &wc[i]);
	} while (n == POLL_BATCH);
	if (ch->failed && !ch->failure_reported)
		completion_event(ch->send_cq, ch);	/* report_failure() */
	smp_mb();	/* wmem_queued before the flag; pairs with poll_stream() */
	if (sk->sk_socket && test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
		sk->sk_write_space(sk);
}

static void receive_done(struct sock *sk, struct sdp_channel *ch,
			 const struct ib_wc *wc)
{
	struct sk_buff *skb = ch->rx[ch->rx_tail++ % SDP_RX_RING];

	unmap_rx(ch->device->ib, skb);
	if (wc->status == IB_WC_SUCCESS) {
		sdp_received(sk, skb, wc->byte_len);
		return;
	}
	note_error(ch, wc);
	sdp_rx_recycle(sk, skb);
}

/* Returns false if there may be more: @budget is used up. */
static bool poll_receives(struct sock *sk, struct sdp_channel *ch, int *budget)
{
	struct ib_wc wc[POLL_BATCH];
	int i, n;

	do {
		if (sdp_sk(sk)->channel != ch || !ch->recv_cq)
			return true;
		if (*budget <= 0)
			return false;
		n = ib_poll_cq(ch->recv_cq, POLL_BATCH, wc);
		*budget -= n;
		for (i = 0; i < n; i++)
			receive_done(sk, ch, &wc[i]);
		if (n == POLL_BATCH)
			sdp_act(sk);
	} while (n == POLL_BATCH);
	return true;
}

/* The CQ is empty and all that came before the error has been seen (R83). */
static void report_failure(struct sock *sk, struct sdp_channel *ch)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (ssk->channel != ch || !ch->failed || ch->failure_reported)
		return;
	ch->failure_reported = true;
	sdp_act(sk);	/* what came before the failure comes first */
	if (ssk->conn.state != SDP_CLOSE && ssk->conn.state != SDP_TIME_WAIT)
		sdp_count(sk, RESET_TRANSPORT);
	sdp_transport_failed(&ssk->conn, ch->deferred_err ?: ECONNRESET);
	sdp_act(sk);
}

/* Returns true when completions came between the last poll and the arming. */
static bool arm(struct sdp_channel *ch, struct ib_cq *cq)
{
	return cq && !ch->failed &&
	       ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
				IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/**
 * sdp_channel_arm - ask for the first completion event
 * @ch: before any message can arrive
 *
 * Return: 0 or a negative errno.
 */
int sdp_channel_arm(struct sdp_channel *ch)
{
	return ib_req_notify_cq(ch->recv_cq, IB_CQ_NEXT_COMP);
}

/**
 * sdp_channel_want_sends - have the next completed send reported
 * @sk: the socket
 *
 * Sends complete unnoticed until somebody waits for it: for memory, for room in
 * the send queue, for a held back message or for the end.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_want_sends(struct sock *sk)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;

	if (!ch || !ch->send_cq || ch->send_armed || ch->failed ||
	    ch->tx_head == ch->tx_tail)
		return;
	ch->send_armed = true;
	if (arm(ch, ch->send_cq))
		completion_event(ch->send_cq, ch);
}

static void poll_budget(struct sock *sk, int budget)
{
	struct sdp_channel *ch = sdp_sk(sk)->channel;
	bool empty;

	if (!ch || !ch->recv_cq)
		return;
	kref_get(&ch->ref);
	do {
		sdp_channel_poll_sends(sk);
		empty = poll_receives(sk, ch, &budget);
	} while (empty && sdp_sk(sk)->channel == ch && arm(ch, ch->recv_cq));
	if (empty)
		report_failure(sk, ch);
	else if (ch->recv_cq)
		completion_event(ch->recv_cq, ch);	/* go on later */
	if (sdp_sk(sk)->channel == ch) {
		sdp_sk(sk)->conn.actions |= SDP_ACT_PUSH;
		sdp_act(sk);
	}
	sdp_channel_put(ch);
}

/**
 * sdp_channel_poll - take completions, and ask for the next
 * @sk: the socket, may be without a channel
 *
 * Sends are looked at first, so that the cause of a failure is known before
 * the flushed receives come.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_poll(struct sock *sk)
{
	poll_budget(sk, POLL_BUDGET);
}

/**
 * sdp_channel_drain - take all completions there are; then the end is judged
 * @sk: the socket, may be without a channel
 *
 * Nothing is posted to a channel that ends, so their number is bounded by the
 * queues' depths; a peer that goes on sending has credit for no more.
 *
 * Context: socket lock, process.
 */
void sdp_channel_drain(struct sock *sk)
{
	poll_budget(sk, DRAIN_BUDGET);
}
