// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: rdma_cm turns addresses into device and path, ib_cm makes the
 * connection. (Today's rdma_cm refuses the SDP port space and puts a header of
 * its own before the private data, so it cannot make an SDP connection.)
 *
 * CM handlers only note what happened. Everything is done by the channel's
 * work, which runs alone for its channel and may sleep: it is the only one that
 * touches the CM ids, and that creates and destroys the QP.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/random.h>
#include <linux/wait_bit.h>
#include <net/tcp_states.h>
#include <rdma/ib_cache.h>

#include "sdp.h"

/*
 * Our REQ is repeated after 2 * packet lifetime + the peer's response time,
 * 0.8 s with these, so that a slot freed in a full backlog is soon used; 15
 * repetitions end in ETIMEDOUT. Values are exponents: 4.096 us * 2^n.
 */
#define CM_PACKET_LIFE_MAX	15
#define CM_REMOTE_RESPONSE	17
#define CM_LOCAL_RESPONSE	20
#define CM_RETRIES		15
#define RETRY_COUNT		SDP_QP_RETRIES
#define RNR_RETRY_COUNT		7	/* for ever */
#define RESOLVE_TIMEOUT		4000	/* ms */

/**
 * sdp_channel_event - have the channel's work handle an event
 * @ch: the channel, referenced
 * @event: what happened
 *
 * Context: any.
 */
void sdp_channel_event(struct sdp_channel *ch, enum sdp_event event)
{
	smp_mb__before_atomic();	/* what the event says comes first */
	set_bit(event, &ch->events);
	kref_get(&ch->ref);
	if (!queue_work(sdp_wq, &ch->work))
		sdp_channel_put(ch);
}

/* Is @ch still the connection of its socket? Socket lock. */
static bool current_channel(const struct sdp_channel *ch)
{
	return sdp_sk(ch->sk)->channel == ch;
}

static bool in_state(struct sdp_channel *ch, int state)
{
	bool ret;

	lock_sock(ch->sk);
	ret = current_channel(ch) && ch->sk->sk_state == state;
	release_sock(ch->sk);
	return ret;
}

/* ---- The end of a channel ----------------------------------------------- */

static void destroy_resolver(struct sdp_channel *ch)
{
	if (ch->resolver)
		rdma_destroy_id(ch->resolver);
	ch->resolver = NULL;
}

static void destroy_cm_id(struct sdp_channel *ch)
{
	if (ch->cm_id)
		ib_destroy_cm_id(ch->cm_id);
	ch->cm_id = NULL;
}

/* The socket needs this channel no more. */
static void leave_socket(struct sdp_channel *ch)
{
	struct sdp_sock *ssk = sdp_sk(ch->sk);

	lock_sock(ch->sk);
	if (ssk->channel == ch && ch->sk->sk_state == TCP_CLOSE) {
		ssk->channel = NULL;
		sdp_rx_detach(ch->sk);
		sdp_channel_put(ch);
	}
	release_sock(ch->sk);
}

/**
 * sdp_channel_linger - the CM had its time for DREQ and time-wait
 * @work: sdp_channel.linger, with a reference
 *
 * The peer's REQ chose how long its CM may take: up to hours. No connection is
 * kept so long.
 *
 * Context: process.
 */
void sdp_channel_linger(struct work_struct *work)
{
	struct sdp_channel *ch = container_of(to_delayed_work(work),
					      struct sdp_channel, linger);

	sdp_channel_event(ch, SDP_EV_TIMEWAIT_OVER);
	sdp_channel_put(ch);
}

static void linger(struct sdp_channel *ch)
{
	kref_get(&ch->ref);
	if (!queue_delayed_work(sdp_wq, &ch->linger, SDP_CLOSE_TIMEOUT))
		sdp_channel_put(ch);
}

/**
 * sdp_channel_early - a child got a message before its RTU
 * @ch: the channel
 *
 * The RTU is as good as here: the CM is left to receive it, for as long as that
 * may be believed. Telling the CM at once (ib_cm_notify()) would establish the
 * CM id, but stop the repetition of the REP only later: a DREQ in between, of
 * either side, makes ib_cm forget that it has to be stopped. It would then go
 * on for as long as the peer's REQ said, and keep the CM id and the device.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_channel_early(struct sdp_channel *ch)
{
	ch->early = true;
	kref_get(&ch->ref);
	if (!queue_delayed_work(sdp_wq, &ch->no_rtu, SDP_EARLY_TIMEOUT))
		sdp_channel_put(ch);
}

/**
 * sdp_channel_no_rtu - an early message has waited long enough for its RTU
 * @work: sdp_channel.no_rtu, with a reference
 *
 * Context: process.
 */
void sdp_channel_no_rtu(struct work_struct *work)
{
	struct sdp_channel *ch = container_of(to_delayed_work(work),
					      struct sdp_channel, no_rtu);

	sdp_channel_event(ch, SDP_EV_NO_RTU);
	sdp_channel_put(ch);
}

/* Give everything up, the CM id included, and drop the life reference. */
static void finish(struct sdp_channel *ch)
{
	ch->done = true;
	if (cancel_delayed_work(&ch->linger))
		sdp_channel_put(ch);
	if (cancel_delayed_work(&ch->no_rtu))
		sdp_channel_put(ch);
	sdp_accept_forget(ch);
	sdp_channel_destroy_qp(ch);
	destroy_resolver(ch);
	destroy_cm_id(ch);
	sdp_device_detach(ch);
	if (ch->sk)
		leave_socket(ch);
	sdp_channel_put(ch);
}

/* Without a DREQ that is or will be on its way nothing is waited for. */
static void finish_or_linger(struct sdp_channel *ch)
{
	if (!ch->disconnecting && !ch->dreq_due && !in_state(ch, TCP_TIME_WAIT))
		finish(ch);
	else
		linger(ch);
}

/*
 * SDP_EV_DISCONNECT: tell the peer's CM; wait for its answer if there is one.
 * Before the RTU the CM sends no DREQ: see rtu_received().
 */
static void disconnect(struct sdp_channel *ch)
{
	if (ch->early && !ch->rtu)
		ch->dreq_due = true;
	else if (ch->cm_id && !ch->disconnecting)
		ch->disconnecting = !ib_send_cm_dreq(ch->cm_id, NULL, 0);
	destroy_resolver(ch);
	sdp_channel_destroy_qp(ch);
	leave_socket(ch);
	finish_or_linger(ch);
}

/* SDP_EV_RELEASE: the peer has been told, or told us */
static void release(struct sdp_channel *ch)
{
	sdp_channel_destroy_qp(ch);
	leave_socket(ch);
	finish_or_linger(ch);
}

/* ---- Active: from address to REQ ---------------------------------------- */

static void connect_failed(struct sdp_channel *ch, int err)
{
	lock_sock(ch->sk);
	if (current_channel(ch) && ch->sk->sk_state == TCP_SYN_SENT)
		sdp_fail_connect(ch->sk, -err);
	release_sock(ch->sk);
}

/* What rdma_cm's failures mean to a user of TCP. */
static int resolve_errno(int status)
{
	switch (status) {
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		return -EHOSTUNREACH;
	case -ENOMEM:
		return -ENOBUFS;
	default:
		return -ENETUNREACH;	/* no route, or no RDMA device on it */
	}
}

static int resolver_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct sdp_channel *ch = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		sdp_channel_event(ch, SDP_EV_ADDR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		sdp_channel_event(ch, SDP_EV_ROUTE);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		ch->resolve_err = resolve_errno(event->status);
		sdp_channel_event(ch, SDP_EV_UNREACHABLE);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* The work destroys the id; the removal waits for that. */
		sdp_channel_event(ch, SDP_EV_GONE);
		break;
	default:
		break;
	}
	return 0;
}

/*
 * SDP_EV_START. The channel is on the device before rdma_cm begins: the device
 * then cannot be taken from rdma_cm in the middle, which it would warn about.
 */
static void resolve_address(struct sdp_channel *ch)
{
	struct rdma_cm_id *id;
	int err;

	if (!in_state(ch, TCP_SYN_SENT))
		return;
	id = rdma_create_id(sock_net(ch->sk), resolver_event, ch, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id)) {
		connect_failed(ch, -ENOBUFS);
		return;
	}
	ch->resolver = id;
	err = rdma_bind_addr(id, (struct sockaddr *)&ch->src);
	if (!err)
		err = id->device ? sdp_device_attach(ch, id->device) : -ENODEV;
	if (!err)
		err = rdma_resolve_addr(id, NULL, (struct sockaddr *)&ch->dst,
					RESOLVE_TIMEOUT);
	if (err)
		connect_failed(ch, resolve_errno(err));
}

/* SDP_EV_ADDR */
static void resolve_route(struct sdp_channel *ch)
{
	int err;

	if (!ch->resolver)
		return;
	err = rdma_resolve_route(ch->resolver, RESOLVE_TIMEOUT);
	if (err)
		connect_failed(ch, resolve_errno(err));
}

/* SDP_EV_UNREACHABLE */
static void resolve_failed(struct sdp_channel *ch)
{
	connect_failed(ch, ch->resolve_err);
}

/* Receives are posted before the peer can send (R4). */
static int post_first_receives(struct sdp_channel *ch)
{
	struct sdp_conn *conn = &sdp_sk(ch->sk)->conn;
	int err = -ENOMEM;

	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_post_receives(ch->sk, GFP_KERNEL);
		if (conn->posted - conn->received >= SDP_MIN_CREDITS)
			err = sdp_channel_arm(ch);
	}
	release_sock(ch->sk);
	return err;
}

static int make_qp(struct sdp_channel *ch)
{
	int err;

	ch->psn = get_random_u32() & 0xffffff;
	err = sdp_channel_create_qp(ch);
	if (err)
		return err;
	err = sdp_channel_init_qp(ch, ch->path);
	return err ?: post_first_receives(ch);
}

static void own_params(struct sdp_channel *ch, struct sdp_params *own)
{
	struct sdp_conn *conn = &sdp_sk(ch->sk)->conn;
	struct inet_sock *inet = inet_sk(ch->sk);

	memset(own, 0, sizeof(*own));
	own->major = ch->major;
	own->minor = ch->major == 1 ? 1 : 2;
	own->ipv = 4;
	own->max_adverts = SDP_MAX_ADVERTS;
	own->bufs = conn->posted - conn->received;
	own->rcv_size = conn->rcv_size;
	own->des_rcv_size = SDP_MAX_RCV_SIZE;
	own->port = inet->inet_sport;
	memcpy(own->src_ip + 12, &inet->inet_saddr, 4);
	memcpy(own->dst_ip + 12, &inet->inet_daddr, 4);
}

static void fill_req(struct sdp_channel *ch, struct ib_cm_req_param *req,
		     struct sdp_hello *hello, __be16 dport)
{
	struct rdma_route *route = &ch->resolver->route;
	u64 sid = SDP_SERVICE_ID_BASE | ntohs(dport);

	memset(req, 0, sizeof(*req));
	req->primary_path = ch->path;
	req->primary_path_inbound = route->path_rec_inbound;
	req->primary_path_outbound = route->path_rec_outbound;
	req->ppath_sgid_attr = route->addr.dev_addr.sgid_attr;
	req->service_id = cpu_to_be64(sid);
	req->qp_num = ch->qp->qp_num;
	req->qp_type = IB_QPT_RC;
	req->starting_psn = ch->psn;
	req->private_data = hello;
	req->private_data_len = sizeof(*hello);
	req->responder_resources = ch->responder_resources;
	req->initiator_depth = ch->initiator_depth;
	req->remote_cm_response_timeout = CM_REMOTE_RESPONSE;
	req->local_cm_response_timeout = CM_LOCAL_RESPONSE;
	req->flow_control = 1;
	req->retry_count = RETRY_COUNT;
	req->rnr_retry_count = RNR_RETRY_COUNT;
	req->max_cm_retries = CM_RETRIES;
}

/* A CM id is good for one REQ only. */
static int send_req(struct sdp_channel *ch)
{
	struct ib_cm_req_param req;
	struct sdp_hello hello;
	struct sdp_params own;
	struct ib_cm_id *id;
	__be16 dport;
	bool live;

	id = ib_create_cm_id(ch->device->ib, sdp_cm_handler, ch);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ch->cm_id = id;
	lock_sock(ch->sk);
	live = current_channel(ch);
	own_params(ch, &own);
	dport = inet_sk(ch->sk)->inet_dport;
	release_sock(ch->sk);
	if (!live)	/* the socket is busy with another connection */
		return -ECANCELED;
	sdp_hello_build(&hello, &own);
	fill_req(ch, &req, &hello, dport);
	return ib_send_cm_req(id, &req);
}

static int prepare_connect(struct sdp_channel *ch)
{
	const struct ib_device_attr *attrs = &ch->device->ib->attrs;

	ch->port = ch->resolver->port_num;
	ch->major = 2;
	ch->responder_resources = min(SDP_RDMA_DEPTH, attrs->max_qp_rd_atom);
	ch->initiator_depth = min(SDP_RDMA_DEPTH, attrs->max_qp_init_rd_atom);
	ch->path = kmemdup(ch->resolver->route.path_rec, sizeof(*ch->path),
			   GFP_KERNEL);
	if (!ch->path)
		return -ENOMEM;
	ch->path->packet_life_time = min_t(u8, ch->path->packet_life_time,
					   CM_PACKET_LIFE_MAX);
	return make_qp(ch);
}

/* SDP_EV_ROUTE */
static void request_connection(struct sdp_channel *ch)
{
	int err;

	if (!ch->resolver || ch->qp || !in_state(ch, TCP_SYN_SENT))
		return;
	err = prepare_connect(ch);
	if (!err)
		err = send_req(ch);
	if (!err)
		return;
	pr_debug("%pISpc: no request: %d\n", &ch->dst, err);
	connect_failed(ch, err == -ENODEV ? -ENETUNREACH : -ENOBUFS);
}

/* ---- Active: the answer ------------------------------------------------- */

/* A half-open child's peer is gone, or we cannot go on. */
static void child_failed(struct sdp_channel *ch)
{
	if (ch->dreq_due) {	/* nobody wants the DREQ any more */
		finish(ch);
		return;
	}
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_abort(&sdp_sk(ch->sk)->conn, ECONNRESET);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
}

static void reject_rep(struct sdp_channel *ch, enum sdp_violation violation)
{
	sdp_count(ch->sk, HELLO_ACK_REJECTED);
	sdp_count_rule(sock_net(ch->sk), violation);
	ib_send_cm_rej(ch->cm_id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL, 0);
	connect_failed(ch, -ECONNREFUSED);
}

/* SDP_EV_REP */
static void rep_received(struct sdp_channel *ch)
{
	struct sdp_sock *ssk = sdp_sk(ch->sk);
	enum sdp_violation violation;
	int err;

	if (!in_state(ch, TCP_SYN_SENT))
		return;
	violation = sdp_hello_ack_parse(&ch->ack, ch->major, &ch->peer);
	if (violation != SDP_V_NONE) {
		reject_rep(ch, violation);
		return;
	}
	/* Before RTR: the peer's first message may be here before us. */
	lock_sock(ch->sk);
	if (current_channel(ch))
		sdp_conn_peer(&ssk->conn, &ch->peer);
	release_sock(ch->sk);
	err = sdp_channel_ready_qp(ch);
	if (!err)
		err = ib_send_cm_rtu(ch->cm_id, NULL, 0);
	if (err) {
		connect_failed(ch, -ECONNREFUSED);
		child_failed(ch);	/* a message may have established it */
		return;
	}
	destroy_resolver(ch);
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_established(&ssk->conn);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
}

static int reject_errno(u8 reason)
{
	switch (reason) {
	case IB_CM_REJ_TIMEOUT:
		return -ETIMEDOUT;
	case IB_CM_REJ_INVALID_GID ... IB_CM_REJ_INVALID_ALT_PACKET_RATE:
		return -ENETUNREACH;
	default:
		return -ECONNREFUSED;
	}
}

/*
 * SDP_EV_REJECTED: 28 may mean that the peer knows version 1.1 only (1.5). The
 * QP has not been used and serves again.
 */
static void rejected(struct sdp_channel *ch)
{
	if (!in_state(ch, TCP_SYN_SENT)) {
		child_failed(ch);
		return;
	}
	if (ch->rej_reason != IB_CM_REJ_CONSUMER_DEFINED || ch->major == 1) {
		connect_failed(ch, reject_errno(ch->rej_reason));
		return;
	}
	sdp_count(ch->sk, VERSION_RETRIES);
	destroy_cm_id(ch);
	ch->major = 1;
	if (send_req(ch))
		connect_failed(ch, -ECONNREFUSED);
}

/* SDP_EV_NO_ANSWER */
static void no_answer(struct sdp_channel *ch)
{
	if (in_state(ch, TCP_SYN_SENT))
		connect_failed(ch, -ETIMEDOUT);
	else
		child_failed(ch);
}

/* ---- Passive ------------------------------------------------------------ */

static int send_rep(struct sdp_channel *ch)
{
	struct ib_cm_rep_param rep = {};
	struct sdp_hello_ack ack;
	struct sdp_params own;

	lock_sock(ch->sk);
	own_params(ch, &own);
	own.minor = min(own.minor, ch->peer.minor);
	sdp_close_timer_start(ch->sk, SDP_RTU_TIMEOUT);
	release_sock(ch->sk);
	sdp_hello_ack_build(&ack, &own);
	rep.qp_num = ch->qp->qp_num;
	rep.starting_psn = ch->psn;
	rep.private_data = &ack;
	rep.private_data_len = sizeof(ack);
	rep.responder_resources = ch->responder_resources;
	rep.initiator_depth = ch->initiator_depth;
	rep.flow_control = 1;
	rep.rnr_retry_count = RNR_RETRY_COUNT;
	return ib_send_cm_rep(ch->cm_id, &rep);
}

static bool make_child(struct sdp_channel *ch)
{
	struct sock *listener = ch->listener, *sk = NULL;

	lock_sock(listener);
	if (listener->sk_state == TCP_LISTEN)
		sk = sdp_clone_child(listener, ch);
	release_sock(listener);
	return sk;
}

/* SDP_EV_REQ */
static void accept_request(struct sdp_channel *ch)
{
	int err;

	if (!make_child(ch)) {
		finish(ch);	/* destroying the CM id rejects */
		return;
	}
	err = make_qp(ch);
	if (err)
		goto fail;
	lock_sock(ch->sk);
	sdp_conn_peer(&sdp_sk(ch->sk)->conn, &ch->peer);
	release_sock(ch->sk);
	err = sdp_channel_ready_qp(ch);
	if (!err)
		err = send_rep(ch);
	if (!err)
		return;
fail:
	pr_debug("child: %d\n", err);
	child_failed(ch);
}

/* SDP_EV_RTU */
static void rtu_received(struct sdp_channel *ch)
{
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_established(&sdp_sk(ch->sk)->conn);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
	ch->rtu = true;
	if (ch->dreq_due) {
		ch->dreq_due = false;
		disconnect(ch);
	}
}

/*
 * SDP_EV_NO_RTU: it is lost. The CM id must not be used until the CM itself has
 * acted on what it is told here.
 */
static void rtu_missing(struct sdp_channel *ch)
{
	if (ch->rtu || ib_cm_notify(ch->cm_id, IB_EVENT_COMM_EST))
		return;
	wait_var_event_timeout(&ch->events,
			       READ_ONCE(ch->events) & (BIT(SDP_EV_RTU) |
							BIT(SDP_EV_DREQ)),
			       SDP_EARLY_TIMEOUT);
}

/*
 * SDP_EV_MEMORY: a softirq found no memory for receive buffers. If there is
 * none now either, the peer waits until the user reads, or the timer.
 */
static void find_memory(struct sdp_channel *ch)
{
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_post_receives(ch->sk, GFP_KERNEL);
		sdp_push(ch->sk);
	}
	release_sock(ch->sk);
}

/* ---- The end, as the CM sees it ----------------------------------------- */

/* SDP_EV_FAILED: take what is in the CQs, then report */
static void transport_failed(struct sdp_channel *ch)
{
	lock_sock(ch->sk);
	if (current_channel(ch) && ch->qp) {
		ch->failed = true;
		sdp_channel_drain(ch->sk);
	}
	release_sock(ch->sk);
}

/* SDP_EV_DREQ: a DisConn may wait in the receive CQ (R83) */
static void dreq_received(struct sdp_channel *ch)
{
	ib_send_cm_drep(ch->cm_id, NULL, 0);
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_channel_drain(ch->sk);
		sdp_count_disconnect(ch->sk);
		sdp_disconnected(&sdp_sk(ch->sk)->conn);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
	ch->disconnecting = false;
	ch->dreq_due = false;
	release(ch);
}

/* The CM ended it, not we (a stale connection): tell the user. */
static void cm_ended(struct sdp_channel *ch)
{
	lock_sock(ch->sk);
	if (current_channel(ch) && ch->sk->sk_state != TCP_CLOSE &&
	    ch->sk->sk_state != TCP_TIME_WAIT) {
		sdp_channel_drain(ch->sk);
		sdp_transport_failed(&sdp_sk(ch->sk)->conn, ECONNRESET);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
}

/* SDP_EV_DISCONNECTED: the CM's time-wait begins */
static void dreq_answered(struct sdp_channel *ch)
{
	cm_ended(ch);
	if (!in_state(ch, TCP_TIME_WAIT))
		finish(ch);
}

/* SDP_EV_TIMEWAIT_OVER, or the CM took too long (channel_linger()) */
static void timewait_over(struct sdp_channel *ch)
{
	cm_ended(ch);
	lock_sock(ch->sk);
	if (current_channel(ch)) {
		sdp_timewait_over(&sdp_sk(ch->sk)->conn);
		sdp_act(ch->sk);
	}
	release_sock(ch->sk);
	finish(ch);
}

/* SDP_EV_GONE */
static void device_gone(struct sdp_channel *ch)
{
	if (ch->sk) {
		lock_sock(ch->sk);
		if (current_channel(ch)) {
			sdp_count(ch->sk, RESET_DEVICE);
			sdp_channel_drain(ch->sk);
			sdp_transport_failed(&sdp_sk(ch->sk)->conn, ECONNRESET);
			sdp_timewait_over(&sdp_sk(ch->sk)->conn);
			sdp_act(ch->sk);
		}
		release_sock(ch->sk);
	}
	finish(ch);
}

/* ---- Events ------------------------------------------------------------- */

struct event_handler {
	enum sdp_event event;
	void (*handle)(struct sdp_channel *ch);
};

/* In the order in which they make sense when several have come. */
static const struct event_handler event_handlers[] = {
	{ SDP_EV_START, resolve_address },
	{ SDP_EV_ADDR, resolve_route },
	{ SDP_EV_ROUTE, request_connection },
	{ SDP_EV_UNREACHABLE, resolve_failed },
	{ SDP_EV_REQ, accept_request },
	{ SDP_EV_REP, rep_received },
	{ SDP_EV_RTU, rtu_received },
	{ SDP_EV_NO_RTU, rtu_missing },
	{ SDP_EV_REJECTED, rejected },
	{ SDP_EV_NO_ANSWER, no_answer },
	{ SDP_EV_MEMORY, find_memory },
	{ SDP_EV_FAILED, transport_failed },
	{ SDP_EV_DREQ, dreq_received },
	{ SDP_EV_DISCONNECTED, dreq_answered },
	{ SDP_EV_TIMEWAIT_OVER, timewait_over },
	{ SDP_EV_GONE, device_gone },
	{ SDP_EV_DISCONNECT, disconnect },
	{ SDP_EV_RELEASE, release },
};

/**
 * sdp_channel_work - handle the events of a channel
 * @work: the channel's
 *
 * Context: process, may sleep; never concurrently for one channel.
 */
void sdp_channel_work(struct work_struct *work)
{
	struct sdp_channel *ch = container_of(work, struct sdp_channel, work);
	unsigned long events = xchg(&ch->events, 0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_handlers) && !ch->done; i++)
		if (events & BIT(event_handlers[i].event))
			event_handlers[i].handle(ch);
	sdp_channel_put(ch);
}

/**
 * sdp_cm_handler - a CM event for one of our ids
 * @cm_id: the id
 * @event: the event
 *
 * Context: process, the CM's or the MAD layer's workqueue; must not wait for a
 * socket. Return: non-zero lets the CM destroy a new id (a REQ only).
 */
int sdp_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct sdp_channel *ch = cm_id->context;

	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return sdp_req_received(cm_id, event);
	case IB_CM_REP_RECEIVED:
		memcpy(&ch->ack, event->private_data, sizeof(ch->ack));
		/* Our READs are limited by what the peer can answer (R98). */
		ch->initiator_depth =
			min(ch->initiator_depth,
			    event->param.rep_rcvd.responder_resources);
		sdp_channel_event(ch, SDP_EV_REP);
		break;
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		sdp_channel_event(ch, SDP_EV_RTU);
		break;
	case IB_CM_REJ_RECEIVED:
		ch->rej_reason = event->param.rej_rcvd.reason;
		sdp_channel_event(ch, SDP_EV_REJECTED);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		sdp_channel_event(ch, SDP_EV_NO_ANSWER);
		break;
	case IB_CM_DREQ_RECEIVED:
		sdp_channel_event(ch, SDP_EV_DREQ);
		break;
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
		sdp_channel_event(ch, SDP_EV_DISCONNECTED);
		break;
	case IB_CM_TIMEWAIT_EXIT:
		sdp_channel_event(ch, SDP_EV_TIMEWAIT_OVER);
		break;
	default:
		break;
	}
	wake_up_var(&ch->events);	/* rtu_missing() */
	return 0;
}
