// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Listeners: their CM listens, one per device and shared by all sockets on a
 * port; finding the listener of a REQ; the backlog and the accept queue.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <net/tcp_states.h>

#include "sdp.h"
#include "sdp_compat.h"

/* Protects the table; innermost but for accept_lock. */
static DEFINE_SPINLOCK(listen_lock);
static struct hlist_head listen_table[64];

/* A listener's CM listen on one device. */
struct listen_id {
	struct list_head entry;
	struct sdp_device *device;
	struct ib_cm_id *cm_id;
};

static struct hlist_head *listen_bucket(u16 port)
{
	return &listen_table[hash_32(port, 6)];
}

/* ---- CM listens --------------------------------------------------------- */

static int add_listen_id(struct sdp_sock *ssk, struct sdp_device *device)
{
	u64 sid = SDP_SERVICE_ID_BASE | inet_sk((struct sock *)ssk)->inet_num;
	struct listen_id *id = kmalloc(sizeof(*id), GFP_KERNEL);

	if (!id)
		return -ENOMEM;
	/* The same service id on the same device is shared and counted. */
	id->cm_id = ib_cm_insert_listen(device->ib, sdp_cm_handler,
					cpu_to_be64(sid));
	if (IS_ERR(id->cm_id)) {
		int err = PTR_ERR(id->cm_id);

		kfree(id);
		return err;
	}
	id->device = device;
	list_add_tail(&id->entry, &ssk->listen_ids);
	return 0;
}

static void drop_listen_id(struct listen_id *id)
{
	list_del(&id->entry);
	ib_destroy_cm_id(id->cm_id);
	kfree(id);
}

static void drop_listen_ids(struct sdp_sock *ssk)
{
	struct listen_id *id, *next;

	list_for_each_entry_safe(id, next, &ssk->listen_ids, entry)
		drop_listen_id(id);
}

static LIST_HEAD(listeners);	/* sdp_listen_mutex */

/**
 * sdp_listen_device - all listeners listen on a new device too
 * @device: the device
 *
 * Context: process, sdp_listen_mutex. Return: 0 or the first negative errno.
 */
int sdp_listen_device(struct sdp_device *device)
{
	struct sdp_sock *ssk;
	int err, ret = 0;

	lockdep_assert_held(&sdp_listen_mutex);
	list_for_each_entry(ssk, &listeners, listen_entry) {
		err = add_listen_id(ssk, device);
		ret = ret ?: err;
	}
	return ret;
}

/**
 * sdp_unlisten_device - nobody listens on a device that goes away
 * @device: the device
 *
 * Context: process, sdp_listen_mutex.
 */
void sdp_unlisten_device(struct sdp_device *device)
{
	struct listen_id *id, *next;
	struct sdp_sock *ssk;

	lockdep_assert_held(&sdp_listen_mutex);
	list_for_each_entry(ssk, &listeners, listen_entry)
		list_for_each_entry_safe(id, next, &ssk->listen_ids, entry)
			if (id->device == device)
				drop_listen_id(id);
}

/**
 * sdp_listen_start - take connections from now on
 * @sk: in LISTEN, with a port
 *
 * Context: process, socket lock. Return: 0 or a negative errno.
 */
int sdp_listen_start(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_device *device;
	int err = 0;

	spin_lock_bh(&listen_lock);
	hlist_add_head(&ssk->listen_node,
		       listen_bucket(inet_sk(sk)->inet_num));
	spin_unlock_bh(&listen_lock);

	mutex_lock(&sdp_listen_mutex);
	list_for_each_entry(device, &sdp_devices, entry) {
		err = add_listen_id(ssk, device);
		if (err)
			break;
	}
	if (err)
		drop_listen_ids(ssk);
	else
		list_add_tail(&ssk->listen_entry, &listeners);
	mutex_unlock(&sdp_listen_mutex);
	if (!err)
		return 0;

	spin_lock_bh(&listen_lock);
	hlist_del_init(&ssk->listen_node);
	spin_unlock_bh(&listen_lock);
	/* Somebody else, not SDP, has the service id. */
	return err == -EBUSY ? -EADDRINUSE : err;
}

/* Children that nobody will accept are reset, as TCP does. */
static void abort_children(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk), *child, *next;
	LIST_HEAD(children);

	spin_lock_bh(&ssk->accept_lock);
	ssk->accept_dead = true;
	ssk->accept_generation++;
	list_splice_init(&ssk->accept_queue, &children);
	ssk->accept_pending = 0;
	spin_unlock_bh(&ssk->accept_lock);
	WRITE_ONCE(sk->sk_ack_backlog, 0);

	list_for_each_entry_safe(child, next, &children, accept_entry) {
		struct sock *csk = (struct sock *)child;

		list_del_init(&child->accept_entry);
		/* Its lock is of the same class, but nobody nests the other way. */
		lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
		sock_hold(csk);
		sock_orphan(csk);
		sdp_abort(&child->conn, ECONNRESET);
		sdp_act(csk);
		sdp_orphan_check(csk);
		release_sock(csk);
		sock_put(csk);
	}
}

/**
 * sdp_listen_stop - take no more connections, reset those in the queue
 * @sk: in LISTEN
 *
 * Context: process, socket lock.
 */
void sdp_listen_stop(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	spin_lock_bh(&listen_lock);
	hlist_del_init(&ssk->listen_node);
	spin_unlock_bh(&listen_lock);

	mutex_lock(&sdp_listen_mutex);
	list_del_init(&ssk->listen_entry);
	drop_listen_ids(ssk);
	mutex_unlock(&sdp_listen_mutex);
	abort_children(sk);
}

/* ---- REQs --------------------------------------------------------------- */

/* A listener on the address is preferred to one on any address. */
static int listener_score(struct sock *sk, struct net *net, u16 port,
			  __be32 addr, int ifindex)
{
	__be32 bound = inet_sk(sk)->inet_rcv_saddr;

	if (!net_eq(sock_net(sk), net) || inet_sk(sk)->inet_num != port)
		return 0;
	if (bound && bound != addr)
		return 0;
	if (sk->sk_bound_dev_if && sk->sk_bound_dev_if != ifindex)
		return 0;
	return 1 + (bound ? 1 : 0) + (sk->sk_bound_dev_if ? 2 : 0);
}

static struct sock *find_listener(struct net *net, u16 port, __be32 addr,
				  int ifindex)
{
	struct sock *best = NULL;
	struct sdp_sock *ssk;
	int score, best_score = 0;

	spin_lock_bh(&listen_lock);
	hlist_for_each_entry(ssk, listen_bucket(port), listen_node) {
		score = listener_score((struct sock *)ssk, net, port, addr,
				       ifindex);
		if (score > best_score) {
			best = (struct sock *)ssk;
			best_score = score;
		}
	}
	if (best)
		sock_hold(best);
	spin_unlock_bh(&listen_lock);
	return best;
}

/* One more child, if the backlog has room: as TCP, one above it. */
static int reserve_child(struct sock *listener, struct sdp_place *place)
{
	struct sdp_sock *ssk = sdp_sk(listener);
	int err = 0;

	spin_lock_bh(&ssk->accept_lock);
	if (ssk->accept_dead)
		err = -ECONNREFUSED;
	else if (ssk->accept_pending > READ_ONCE(listener->sk_max_ack_backlog))
		err = -ENOMEM;
	else
		ssk->accept_pending++;
	place->generation = ssk->accept_generation;
	place->order = ssk->accept_order++;
	spin_unlock_bh(&ssk->accept_lock);
	return err;
}

static void unreserve_child(struct sock *listener, u32 generation)
{
	struct sdp_sock *ssk = sdp_sk(listener);

	spin_lock_bh(&ssk->accept_lock);
	if (generation == ssk->accept_generation)
		ssk->accept_pending--;
	spin_unlock_bh(&ssk->accept_lock);
}

/* The listener that the Hello's names mean, held; NULL: refuse. */
static struct sock *listener_of(const struct ib_cm_event *event,
				const struct sdp_params *peer)
{
	u64 sid = be64_to_cpu(event->param.req_rcvd.listen_id->service_id);
	struct sock *listener = NULL;
	struct net_device *ndev;
	struct net *net;
	__be32 addr;

	if (peer->ipv != 4)
		return NULL;
	memcpy(&addr, peer->dst_ip + 12, sizeof(addr));
	if (ipv4_is_loopback(addr)) {
		net = sdp_req_loopback_net(event);
		if (net) {
			listener = find_listener(net, sid, addr,
						 LOOPBACK_IFINDEX);
			put_net(net);
		}
		return listener;
	}
	ndev = sdp_req_netdev(event, peer);
	if (!ndev)
		return NULL;
	/* The netdev may move to another namespace meanwhile. */
	rcu_read_lock();
	net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (net && sdp_req_addresses_valid(event, ndev, peer))
		listener = find_listener(net, sid, addr, ndev->ifindex);
	else if (net)
		sdp_count_net(net, ADDRESS_REFUSED);
	if (net)
		put_net(net);
	dev_put(ndev);
	return listener;
}

/* Hand the CM id over to a channel, whose work makes the child. */
static int start_child(struct sock *listener, const struct sdp_place *place,
		       struct ib_cm_id *cm_id, const struct ib_cm_event *event,
		       const struct sdp_params *peer)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	const struct ib_device_attr *attrs = &cm_id->device->attrs;
	struct sdp_channel *ch;
	int err;

	ch = sdp_channel_alloc(GFP_KERNEL);
	if (!ch)
		return -ENOMEM;
	ch->path = kmemdup(req->primary_path, sizeof(*ch->path), GFP_KERNEL);
	err = ch->path ? sdp_device_attach(ch, cm_id->device) : -ENOMEM;
	if (err) {
		sdp_channel_put(ch);
		return err;
	}
	ch->peer = *peer;
	ch->major = peer->major;
	ch->port = req->port;
	ch->cm_id = cm_id;
	/* What the peer may read from us, and we from it (R98). */
	ch->responder_resources = min3((int)req->initiator_depth,
				       SDP_RDMA_DEPTH, attrs->max_qp_rd_atom);
	ch->initiator_depth = min3((int)req->responder_resources,
				   SDP_RDMA_DEPTH, attrs->max_qp_init_rd_atom);
	sock_hold(listener);
	ch->listener = listener;
	ch->place = *place;
	cm_id->context = ch;
	sdp_channel_event(ch, SDP_EV_REQ);
	return 0;
}

/**
 * sdp_req_received - a REQ came to one of our service ids
 * @cm_id: the new CM id
 * @event: the REQ
 *
 * Context: process, the CM's workqueue; takes no socket lock. Return: 0 when a
 * channel has taken @cm_id; -ENOMEM to drop the REQ, so that the peer's CM
 * repeats it; another errno to reject it with reason 28.
 */
int sdp_req_received(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	enum sdp_violation violation;
	struct sdp_hello hello;
	struct sdp_params peer;
	struct sock *listener;
	struct sdp_place place;
	int err;

	memcpy(&hello, event->private_data, sizeof(hello));
	violation = sdp_hello_parse(&hello, &peer);
	if (violation != SDP_V_NONE) {
		/* Its addresses mean nothing: no namespace can be blamed. */
		sdp_count_net(&init_net, HELLO_REJECTED);
		sdp_count_rule(&init_net, violation);
		return -EPROTO;
	}
	listener = listener_of(event, &peer);
	if (!listener) {
		sdp_count_net(&init_net, LISTEN_REFUSED);
		return -ECONNREFUSED;
	}
	err = reserve_child(listener, &place);
	if (!err) {
		err = start_child(listener, &place, cm_id, event, &peer);
		if (err)
			unreserve_child(listener, place.generation);
	}
	if (err == -ENOMEM)
		sdp_count(listener, LISTEN_DROPS);
	else if (err)
		sdp_count(listener, LISTEN_REFUSED);
	sock_put(listener);
	return err;
}

/* ---- The accept queue --------------------------------------------------- */

/* The channel lets its listener go; the caller drops the reference. */
static struct sock *take_listener(struct sdp_channel *ch)
{
	return xchg(&ch->listener, NULL);
}

/**
 * sdp_accept_forget - a half-open child has failed
 * @ch: its channel, may be published already
 *
 * Context: any but hard interrupts.
 */
void sdp_accept_forget(struct sdp_channel *ch)
{
	struct sock *listener = ch ? take_listener(ch) : NULL;

	if (!listener)
		return;
	unreserve_child(listener, ch->place.generation);
	sock_put(listener);
}

/*
 * First come, first served: the channels' works may overtake each other, so the
 * order is that of the REQs. Nearly always the place is the end.
 */
static void insert_child(struct sdp_sock *ssk, struct sdp_sock *child, u32 order)
{
	struct sdp_sock *before;

	child->accept_order = order;
	list_for_each_entry_reverse(before, &ssk->accept_queue, accept_entry)
		if ((s32)(order - before->accept_order) > 0)
			break;
	list_add(&child->accept_entry, &before->accept_entry);
}

/**
 * sdp_accept_publish - a child is established: into the accept queue
 * @sk: the child, complete
 * @ch: its channel
 *
 * Context: the child's socket lock, process or softirq. Return: false if the
 * listener is gone; the child is still the caller's then.
 */
bool sdp_accept_publish(struct sock *sk, struct sdp_channel *ch)
{
	struct sock *listener = take_listener(ch);
	struct sdp_sock *ssk;
	bool ok;

	if (!listener)
		return false;
	ssk = sdp_sk(listener);
	spin_lock_bh(&ssk->accept_lock);
	ok = !ssk->accept_dead &&
	     ch->place.generation == ssk->accept_generation;
	if (ok) {
		insert_child(ssk, sdp_sk(sk), ch->place.order);
		WRITE_ONCE(listener->sk_ack_backlog,
			   listener->sk_ack_backlog + 1);
	}
	spin_unlock_bh(&ssk->accept_lock);
	if (ok)
		listener->sk_data_ready(listener);
	sock_put(listener);
	return ok;
}

/**
 * sdp_accept_next - the next child of the accept queue
 * @sk: the listener
 *
 * Context: the listener's socket lock. Return: the child, with the queue's
 * reference, or NULL.
 */
struct sock *sdp_accept_next(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk), *child;

	spin_lock_bh(&ssk->accept_lock);
	child = list_first_entry_or_null(&ssk->accept_queue, struct sdp_sock,
					 accept_entry);
	if (child) {
		list_del_init(&child->accept_entry);
		ssk->accept_pending--;
		WRITE_ONCE(sk->sk_ack_backlog, sk->sk_ack_backlog - 1);
	}
	spin_unlock_bh(&ssk->accept_lock);
	return (struct sock *)child;
}
