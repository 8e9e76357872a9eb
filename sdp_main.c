// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ib_sdp: the Sockets Direct Protocol. Stream sockets with TCP's semantics over
 * an RDMA reliable connection.
 *
 * The life of a socket
 * --------------------
 * socket() makes a sdp_sock in CLOSE. connect() adds a sdp_channel, which is
 * the connection as verbs and CM know it: its work finds device and path with
 * rdma_cm, makes the QP, and sends the REQ with our Hello through ib_cm; the
 * REP makes the socket ESTABLISHED. A REQ that a listener accepts starts with
 * a channel; its work clones the listener into a child in SYN_RECV and sends
 * the REP at once; the RTU, or the first message, makes the child ESTABLISHED
 * and puts it into the accept queue. close() leaves an orphan until both
 * DisConns and the DREQ have been exchanged. When the state gets CLOSE the
 * channel gives up the QP, but stays until the CM is through with it.
 *
 * References
 * ----------
 *   the user's struct socket       -> sock   (dropped by sdp_destroy_sock())
 *   accept queue                   -> sock   (passed on to accept())
 *   sdp_channel.sk                 -> sock   (until the channel is freed)
 *   sdp_channel.listener           -> sock   (until the child is published)
 *   pending timers                 -> sock   (sk_reset_timer())
 *   sdp_sock.channel               -> channel
 *   the life of QP and CM ids      -> channel (dropped by the channel's work)
 *   queued work, scheduled softirq -> channel
 * A posted work request is covered by the life reference: the channel destroys
 * its QP, after which the device touches nothing, before it frees the rings.
 *
 * Locks, outermost first
 * ----------------------
 *   lock_sock(listener);                       to reset its children:
 *   lock_sock_nested(child);                   the only two that nest
 *     mutex_lock(&sdp_listen_mutex);           devices, listeners' CM ids
 *       spin_lock_bh(&listen_lock);            table of listeners
 *         spin_lock_bh(&ssk->accept_lock);     a listener's children
 *       spin_lock_bh(&device->lock);           channels of a device
 *     spin_lock_bh(&sdp_net->lock);            all sockets, for /proc (RCU)
 * A child is published into its listener's accept queue under the listener's
 * accept_lock alone: nobody takes a listener's lock under a child's.
 *
 * Contexts
 * --------
 *   system calls         process, lock_sock(): core, posting, polling the CQs
 *   completion events    any: schedule the softirq (sdp_channel.poll)
 *   softirq              bh_lock_sock(): as system calls; when the user owns
 *                        the lock, release_sock() does it (sdp_release_cb())
 *   timers               softirq, the same; retried when the user has the lock
 *   CM handlers          the CM's only workqueue: never take the socket lock,
 *                        note the event and queue the channel's work
 *   sdp_channel.work     process, may sleep: QPs, CM messages, destruction
 *
 * sk_state holds TCP's numbers, as tools expect; it follows sdp_conn.state,
 * which only sdp_conn_set_state() changes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/swap.h>
#include <net/addrconf.h>
#include <net/inet_common.h>
#include <net/inet_hashtables.h>
#include <net/route.h>
#include <net/tcp_states.h>

#include "sdp.h"
#include "sdp_compat.h"

struct workqueue_struct *sdp_wq;

static struct inet_hashinfo sdp_hashinfo;
static struct lock_class_key sdp_slock_key;
static struct lock_class_key sdp_lock_key;

static atomic_long_t sdp_memory_allocated;
static DEFINE_PER_CPU(int, sdp_fw_alloc);
static struct percpu_counter sdp_sockets_allocated;
static unsigned long sdp_memory_pressure;
static long sdp_sysctl_mem[3];
static int sdp_sysctl_wmem[3] = { 4096, 212992, 4 << 20 };
static int sdp_sysctl_rmem[3] = { 2 * SDP_RX_MIN * SDP_RX_LEGACY, 212992,
				  6 << 20 };

/* ---- What the core asks for --------------------------------------------- */

static void release_channel(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_channel *ch = ssk->channel;

	if (!ch)
		return;
	ssk->channel = NULL;
	sdp_rx_detach(sk);
	sdp_channel_event(ch, SDP_EV_RELEASE);
	sdp_channel_put(ch);
}

/**
 * sdp_destroy_sock - the connection is over and nobody has the socket
 * @sk: in CLOSE, without a user; its channel's reference keeps it
 *
 * Context: socket lock, process or softirq. Runs once.
 */
void sdp_destroy_sock(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (test_and_set_bit(SDP_DESTROYED, &ssk->flags))
		return;
	sdp_timers_stop(sk);
	release_channel(sk);
	sdp_tx_purge(sk);
	sdp_rx_purge(sk);
	sk_mem_reclaim(sk);
	if (inet_csk(sk)->icsk_bind_hash)
		inet_put_port(sk);
	sdp_unhash(sk);
	sk_sockets_allocated_dec(sk);
	sock_put(sk);
}

/* TCP's order: the error is there before the state says so. */
static void report_error(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	WRITE_ONCE(sk->sk_err, ssk->conn.err);
	smp_wmb();	/* before shutdown and state; pairs with sdp_poll() */
	if (!ssk->conn.rx_fin)
		sock_reset_flag(sk, SOCK_DONE);
	sdp_tx_purge(sk);
}

static void enter_close(struct sock *sk, int old)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	sdp_timers_stop(sk);
	if (ssk->conn.abort_pending)
		sdp_close_timer_start(sk, SDP_ABORT_TIMEOUT);
	if (old == TCP_SYN_SENT)
		sdp_count(sk, ATTEMPT_FAILS);
	else if (ssk->conn.err)
		sdp_count(sk, ESTAB_RESETS);
	if (inet_csk(sk)->icsk_bind_hash &&
	    !(sk->sk_userlocks & SOCK_BINDPORT_LOCK))
		inet_put_port(sk);
	if (old == TCP_SYN_RECV) {
		/* Never accepted: nobody else will end it. */
		sdp_accept_forget(ssk->channel);
		sock_orphan(sk);
	}
}

static void enter_established(struct sock *sk, int old)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	ssk->last_active = jiffies;
	sk_stop_timer(sk, &sk->sk_timer);
	if (sock_flag(sk, SOCK_KEEPOPEN))
		sdp_keepalive(sk, 1);
	if (old == TCP_SYN_RECV) {
		sdp_count(sk, PASSIVE_OPENS);
		if (!sdp_accept_publish(sk, ssk->channel)) {
			sock_orphan(sk);
			sdp_abort(&ssk->conn, ECONNRESET);
		}
		return;
	}
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
}

static void state_changed(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	int old = sk->sk_state, new = ssk->conn.state;

	if (new == TCP_CLOSE)
		enter_close(sk, old);
	inet_sk_set_state(sk, new);
	if (new == TCP_ESTABLISHED)
		enter_established(sk, old);
	else if (!sock_flag(sk, SOCK_DEAD))
		sk->sk_state_change(sk);
	if (ssk->conn.illegal) {
		sdp_count_add(sk, ILLEGAL_TRANSITIONS, ssk->conn.illegal);
		ssk->conn.illegal = 0;
	}
}

/* As much as SO_RCVLOWAT wants is there, or all that ever fits. */
static bool readable(struct sock *sk, int target)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 avail = READ_ONCE(ssk->rcv_seq) - READ_ONCE(ssk->copied_seq);

	if (!avail)
		return false;
	return (int)avail >= target ||
	       READ_ONCE(ssk->conn.granted) < SDP_MIN_CREDITS;
}

static void became_readable(struct sock *sk)
{
	if (sdp_sk(sk)->conn.rx_fin && !sock_flag(sk, SOCK_DONE)) {
		sdp_sk(sk)->peer_closed = true;
		sk->sk_shutdown |= RCV_SHUTDOWN;
		sock_set_flag(sk, SOCK_DONE);
		if (sock_flag(sk, SOCK_DEAD))
			return;
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_WAITD,
			      sk->sk_shutdown == SHUTDOWN_MASK ? POLL_HUP :
			      POLL_IN);
	}
	if (!sock_flag(sk, SOCK_DEAD) &&
	    readable(sk, READ_ONCE(sk->sk_rcvlowat))) {
		sdp_count(sk, RECV_WAKEUPS);
		sk->sk_data_ready(sk);
	}
}

static void act_once(struct sock *sk, u16 actions)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if (actions & SDP_ACT_FAIL)
		report_error(sk);
	if (actions & SDP_ACT_STATE)
		state_changed(sk);
	if (actions & SDP_ACT_FAIL && !sock_flag(sk, SOCK_DEAD))
		sk_error_report(sk);
	if (actions & SDP_ACT_READABLE)
		became_readable(sk);
	if (actions & SDP_ACT_URGENT)
		sk_send_sigurg(sk);
	if (actions & SDP_ACT_RESIZE)
		sdp_rx_resize(sk);
	if (actions & SDP_ACT_READ)
		sdp_serve_src_avail(sk);
	if (actions & SDP_ACT_PUSH)
		sdp_push(sk);
	if (actions & SDP_ACT_DISCONNECT && ssk->channel)
		sdp_channel_event(ssk->channel, SDP_EV_DISCONNECT);
	if (actions & SDP_ACT_RELEASE && ssk->channel)
		sdp_channel_event(ssk->channel, SDP_EV_RELEASE);
}

/**
 * sdp_act - do what the core has asked for
 * @sk: the socket; the caller's reference outlives the call
 *
 * Context: socket lock, process or softirq.
 */
void sdp_act(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u16 actions;

	if (ssk->in_act)
		return;
	ssk->in_act = true;
	while ((actions = ssk->conn.actions)) {
		ssk->conn.actions = 0;
		act_once(sk, actions);
	}
	ssk->in_act = false;
	if (sock_flag(sk, SOCK_DEAD))
		sdp_orphan_check(sk);
}

/**
 * sdp_orphan_check - nobody has the socket: destroy it when it is through
 * @sk: without a user
 *
 * An AbortConn that is still to be sent keeps socket and QP, for a bounded
 * time, as an unfinished close does.
 *
 * Context: socket lock, process or softirq.
 */
void sdp_orphan_check(struct sock *sk)
{
	if (sk->sk_state == TCP_CLOSE && !sdp_sk(sk)->conn.abort_pending)
		sdp_destroy_sock(sk);
	else if (!timer_pending(&sk->sk_timer))
		sdp_close_timer_start(sk, sk->sk_state == TCP_CLOSE ?
				      SDP_ABORT_TIMEOUT : SDP_CLOSE_TIMEOUT);
}

/* release_sock() with completions waiting; the spinlock is held. */
static void sdp_release_cb(struct sock *sk)
{
	if (test_and_clear_bit(SDP_POLL_DEFERRED, &sdp_sk(sk)->flags))
		sdp_channel_poll(sk);
}

/* ---- Making sockets ----------------------------------------------------- */

/* Everything behind inet_connection_sock, for new sockets and clones. */
static void init_sock(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	sdp_conn_init(&ssk->conn);
	skb_queue_head_init(&ssk->rx_free);
	INIT_LIST_HEAD(&ssk->listen_ids);
	INIT_LIST_HEAD(&ssk->listen_entry);
	INIT_HLIST_NODE(&ssk->listen_node);
	INIT_HLIST_NODE(&ssk->net_node);
	INIT_LIST_HEAD(&ssk->accept_queue);
	INIT_LIST_HEAD(&ssk->accept_entry);
	spin_lock_init(&ssk->accept_lock);
	sdp_timers_init(sk);
	sock_lock_init_class_and_name(sk, "slock-AF_INET_SDP", &sdp_slock_key,
				      "sk_lock-AF_INET_SDP", &sdp_lock_key);
}

static void reset_stream(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	ssk->urg_data = 0;
	ssk->copied_seq = 0;
	ssk->rcv_seq = 0;
	ssk->write_seq = 0;
	ssk->unsent_seq = 0;
	ssk->unacked_seq = 0;
	ssk->in_flight = 0;
	ssk->bulk = 0;
	ssk->more = false;
	ssk->push_now = false;
	ssk->peer_closed = false;
	ssk->keep_posted = false;
	ssk->keep_sent = 0;
	ssk->tx_backoff = 0;
}

/**
 * sdp_clone_child - a socket for a connection that a listener got
 * @listener: in LISTEN, locked
 * @ch: with the addresses in its Hello; gets a reference to the child
 *
 * The child has the listener's options, local port and memory cgroup. It is in
 * SYN_RECV and in no queue.
 *
 * Context: process. Return: the child or NULL.
 */
struct sock *sdp_clone_child(struct sock *listener, struct sdp_channel *ch)
{
	const struct sdp_params *peer = &ch->peer;
	struct inet_sock *inet;
	struct sdp_sock *ssk;
	struct sock *sk;

	sk = sk_clone_lock(listener, GFP_KERNEL);
	if (!sk)
		return NULL;
	__acquire(&sk->sk_lock.slock);	/* for sparse: it comes locked */
	bh_unlock_sock(sk);
	/* Two references: one as for a user, one is the channel's. */
	ssk = sdp_sk(sk);
	inet = inet_sk(sk);
	ssk->channel = NULL;
	ssk->flags = 0;
	ssk->accept_pending = 0;
	ssk->accept_dead = false;
	ssk->in_act = false;
	ssk->in_push = false;
	ssk->rx_total = 0;
	init_sock(sk);
	reset_stream(sk);
	sk->sk_shutdown = 0;
	sk->sk_ack_backlog = 0;
	inet->inet_opt = NULL;
	inet->mc_list = NULL;
	inet_csk(sk)->icsk_bind_hash = NULL;
	inet_csk(sk)->icsk_bind2_hash = NULL;
	memcpy(&inet->inet_daddr, peer->src_ip + 12, 4);
	memcpy(&inet->inet_rcv_saddr, peer->dst_ip + 12, 4);
	inet->inet_saddr = inet->inet_rcv_saddr;
	inet->inet_dport = peer->port;
	sdp_inherit_memcg(sk, listener);

	ssk->conn.state = SDP_CLOSE;
	sdp_conn_start(&ssk->conn, false, sdp_rx_prepare(sk, peer));
	inet_sk_set_state(sk, TCP_SYN_RECV);
	ssk->conn.actions = 0;
	local_bh_disable();
	if (__inet_inherit_port(listener, sk))
		inet->inet_num = 0;
	local_bh_enable();
	ch->sk = sk;
	kref_get(&ch->ref);
	ssk->channel = ch;
	sdp_hash(sk);
	return sk;
}

/* There is room to send again: wake who waits for it. */
static void sdp_write_space(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;
	struct socket_wq *wq;

	if (!sock || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sock->flags);
	sdp_count(sk, SEND_WAKEUPS);
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM |
						      EPOLLWRBAND);
	rcu_read_unlock();
	if (!(sk->sk_shutdown & SEND_SHUTDOWN))
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
}

static const struct proto_ops sdp_stream_ops;

static int sdp_create(struct net *net, struct socket *sock, int protocol,
		      int kern)
{
	struct sdp_sock *ssk;
	struct sock *sk;

	if (protocol < 0 || protocol >= IPPROTO_MAX)
		return -EINVAL;
	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol && protocol != IPPROTO_TCP && protocol != IPPROTO_SDP)
		return -EPROTONOSUPPORT;
	sk = sk_alloc(net, PF_INET, GFP_KERNEL, &sdp_prot, kern);
	if (!sk)
		return -ENOBUFS;

	sock->state = SS_UNCONNECTED;
	sock->ops = &sdp_stream_ops;
	sock_init_data(sock, sk);
	sk->sk_protocol = IPPROTO_SDP;
	sk->sk_destruct = inet_sock_destruct;
	sk->sk_write_space = sdp_write_space;
	sock_set_flag(sk, SOCK_RCU_FREE);	/* for readers of /proc */
	inet_sk(sk)->uc_ttl = -1;
	ssk = sdp_sk(sk);
	ssk->mib = sdp_pernet(net)->mib;
	ssk->keep_idle = 7200 * HZ;
	ssk->keep_intvl = 75 * HZ;
	ssk->keep_cnt = 9;
	init_sock(sk);
	sk_sockets_allocated_inc(sk);
	sdp_hash(sk);
	return 0;
}

/* ---- Addresses, bind, connect ------------------------------------------- */

/*
 * An IPv6 address that means an IPv4 one: any, or mapped. Programs that take
 * what getaddrinfo() gives (qperf) bind a socket of family 27 to "::".
 */
static int take_ipv6(struct sockaddr_storage *to, int *len)
{
	struct sockaddr_in6 in6 = *(struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	if (*len < SIN6_LEN_RFC2133 ||
	    (!ipv6_addr_any(&in6.sin6_addr) &&
	     !ipv6_addr_v4mapped(&in6.sin6_addr)))
		return -EAFNOSUPPORT;
	memset(to, 0, sizeof(*to));
	in->sin_family = AF_INET;
	in->sin_port = in6.sin6_port;
	in->sin_addr.s_addr = in6.sin6_addr.s6_addr32[3];
	*len = sizeof(*in);
	return 0;
}

/*
 * Programs name the families 27 and 28 (which today's kernels call AF_IB and
 * AF_MPLS) or AF_INET and AF_INET6; from here on it is AF_INET.
 */
static int take_address(struct sockaddr_storage *to, const struct sockaddr *from,
			int *len)
{
	if (*len < (int)sizeof(from->sa_family) || *len > (int)sizeof(*to))
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, *len);
	if (to->ss_family == AF_INET_SDP)
		to->ss_family = AF_INET;
	else if (to->ss_family == AF_INET6 || to->ss_family == AF_INET6_SDP)
		return take_ipv6(to, len);
	return 0;
}

static int sdp_bind(struct socket *sock, struct sockaddr *uaddr, int len)
{
	struct sockaddr_storage addr;
	int err;

	err = take_address(&addr, uaddr, &len);
	if (!err)
		err = inet_bind(sock, (struct sockaddr *)&addr, len);
	sdp_sk(sock->sk)->last_bind_err = -err;
	return err;
}

static int sdp_stream_connect(struct socket *sock, struct sockaddr *uaddr,
			      int len, int flags)
{
	struct sockaddr_storage addr;
	int err;

	err = take_address(&addr, uaddr, &len);
	if (err)
		return err;
	return inet_stream_connect(sock, (struct sockaddr *)&addr, len, flags);
}

/* The route gives the source address and the errors that TCP would give. */
static int route_connect(struct sock *sk, __be32 *daddr, __be32 *saddr)
{
	struct flowi4 fl4 = {
		.flowi4_oif	= sk->sk_bound_dev_if,
		.flowi4_mark	= READ_ONCE(sk->sk_mark),
		.flowi4_proto	= IPPROTO_TCP,
		.flowi4_uid	= sk->sk_uid,
		.daddr		= *daddr ?: htonl(INADDR_LOOPBACK),
		.saddr		= inet_sk(sk)->inet_saddr,
	};
	unsigned int flags;
	struct rtable *rt;

	rt = ip_route_output_flow(sock_net(sk), &fl4, sk);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	flags = rt->rt_flags;
	ip_rt_put(rt);
	if (flags & (RTCF_MULTICAST | RTCF_BROADCAST))
		return -ENETUNREACH;
	*daddr = fl4.daddr;
	*saddr = fl4.saddr;
	return 0;
}

static void set_sockaddr(struct sockaddr_storage *to, __be32 addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = addr;
}

/*
 * Loopback names reach this host through the device: rdma_cm is given an RDMA
 * address of this namespace, for it would take any device of any namespace.
 */
static int resolver_addresses(struct sock *sk, struct sdp_channel *ch,
			      __be32 daddr, __be32 saddr)
{
	if (ipv4_is_loopback(daddr)) {
		if (!sdp_pick_address(sock_net(sk), &daddr))
			return -ENETUNREACH;
		saddr = daddr;
	} else if (ipv4_is_loopback(saddr)) {
		return -EINVAL;
	}
	set_sockaddr(&ch->src, saddr);
	set_sockaddr(&ch->dst, daddr);
	return 0;
}

/* Source address and port are taken last: what can fail has not failed. */
static int take_endpoint(struct sock *sk, __be32 daddr, __be32 saddr,
			 __be16 dport)
{
	struct inet_sock *inet = inet_sk(sk);
	int err;

	if (!inet->inet_saddr) {
		err = inet_bhash2_update_saddr(sk, &saddr, AF_INET);
		if (err)
			return err;
	}
	inet->inet_daddr = daddr;
	inet->inet_dport = dport;
	if (inet->inet_num)
		return 0;
	if (sk->sk_prot->get_port(sk, 0))
		return -EADDRNOTAVAIL;
	inet->inet_sport = htons(inet->inet_num);
	return 0;
}

static void forget_endpoint(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);

	if (inet_csk(sk)->icsk_bind_hash &&
	    !(sk->sk_userlocks & SOCK_BINDPORT_LOCK))
		inet_put_port(sk);
	inet->inet_daddr = 0;
	inet->inet_dport = 0;
	if (!(sk->sk_userlocks & SOCK_BINDADDR_LOCK))
		inet_bhash2_reset_saddr(sk);
}

/* struct proto's connect; the socket is locked and in CLOSE. */
static int sdp_connect(struct sock *sk, struct sockaddr *uaddr, int len)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)uaddr;
	struct sdp_sock *ssk = sdp_sk(sk);
	__be32 daddr, saddr;
	struct sdp_channel *ch;
	int err;

	if (len < (int)sizeof(*addr))
		return -EINVAL;
	if (addr->sin_family != AF_INET)
		return -EAFNOSUPPORT;
	daddr = addr->sin_addr.s_addr;
	err = route_connect(sk, &daddr, &saddr);
	if (err)
		return err;
	ch = sdp_channel_alloc(GFP_KERNEL);
	if (!ch)
		return -ENOBUFS;
	err = resolver_addresses(sk, ch, daddr, saddr);
	if (err)
		goto free_channel;
	err = take_endpoint(sk, daddr, saddr, addr->sin_port);
	if (err)
		goto free_endpoint;

	release_channel(sk);	/* of an earlier connection */
	WRITE_ONCE(sk->sk_err, 0);
	reset_stream(sk);
	sdp_rx_purge(sk);
	sock_hold(sk);
	ch->sk = sk;
	kref_get(&ch->ref);
	ssk->channel = ch;
	sdp_conn_start(&ssk->conn, true, sdp_rx_prepare(sk, NULL));
	sdp_act(sk);
	sdp_count(sk, ACTIVE_OPENS);
	sdp_channel_event(ch, SDP_EV_START);
	return 0;

free_endpoint:
	forget_endpoint(sk);
free_channel:
	sdp_channel_put(ch);
	return err;
}

/**
 * sdp_fail_connect - an attempt to connect has failed
 * @sk: in SYN_SENT
 * @err: positive errno
 *
 * Context: socket lock, process.
 */
void sdp_fail_connect(struct sock *sk, int err)
{
	sdp_abort(&sdp_sk(sk)->conn, err);
	sdp_act(sk);
}

/* End whatever there is; struct proto's disconnect, socket locked. */
static int sdp_disconnect(struct sock *sk, int flags)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	int old = sk->sk_state;

	if (old == TCP_LISTEN) {
		sdp_listen_stop(sk);
		sdp_conn_set_state(&ssk->conn, SDP_CLOSE);
		sdp_act(sk);
	} else if (old != TCP_CLOSE) {
		sdp_count(sk, RESET_BY_USER);
		sdp_abort(&ssk->conn, ECONNRESET);
		sdp_act(sk);
		/* A TIME_WAIT has nothing to abort. */
		if (sk->sk_state != TCP_CLOSE) {
			sdp_timewait_over(&ssk->conn);
			sdp_act(sk);
		}
	}
	release_channel(sk);
	sdp_conn_init(&ssk->conn);
	sdp_timers_stop(sk);
	sdp_tx_purge(sk);
	sdp_rx_purge(sk);
	if (sk->sk_frag.page) {	/* a clone must not share it */
		put_page(sk->sk_frag.page);
		sk->sk_frag.page = NULL;
		sk->sk_frag.offset = 0;
	}
	reset_stream(sk);
	forget_endpoint(sk);
	sk->sk_shutdown = 0;
	sock_reset_flag(sk, SOCK_DONE);
	sk_error_report(sk);
	return 0;
}

/* ---- Listen and accept -------------------------------------------------- */

/* LISTEN makes bind conflicts stricter: the port is asked for again. */
static int start_listening(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	int err = -EADDRINUSE;

	sdp_conn_init(&ssk->conn);
	sdp_conn_set_state(&ssk->conn, SDP_LISTEN);
	spin_lock_bh(&ssk->accept_lock);
	ssk->accept_dead = false;
	spin_unlock_bh(&ssk->accept_lock);
	sdp_act(sk);
	if (sk->sk_prot->get_port(sk, inet_sk(sk)->inet_num))
		goto close;
	inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
	err = sdp_listen_start(sk);
	if (!err)
		return 0;
close:
	sdp_conn_set_state(&ssk->conn, SDP_CLOSE);
	sdp_act(sk);
	sk->sk_shutdown = 0;
	return err;
}

static int sdp_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	int err = -EINVAL;

	lock_sock(sk);
	if (sock->state != SS_UNCONNECTED)
		goto out;
	if (sk->sk_state != TCP_CLOSE && sk->sk_state != TCP_LISTEN)
		goto out;
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	err = sk->sk_state == TCP_LISTEN ? 0 : start_listening(sk);
out:
	release_sock(sk);
	return err;
}

/* Wait for a child; returns 0 or a negative errno. */
static int wait_for_child(struct sock *sk, long timeo)
{
	DEFINE_WAIT(wait);
	int err;

	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait,
					  TASK_INTERRUPTIBLE);
		release_sock(sk);
		if (list_empty_careful(&sdp_sk(sk)->accept_queue))
			timeo = schedule_timeout(timeo);
		sched_annotate_sleep();
		lock_sock(sk);
		err = 0;
		if (!list_empty_careful(&sdp_sk(sk)->accept_queue))
			break;
		err = -EINVAL;
		if (sk->sk_state != TCP_LISTEN)
			break;
		err = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		err = -EAGAIN;
		if (!timeo)
			break;
	}
	finish_wait(sk_sleep(sk), &wait);
	return err;
}

static SDP_PROTO_ACCEPT(sdp_accept)
{
	struct sock *child = NULL;
	long timeo;
	int ret = 0;

	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, SDP_ACCEPT_FLAGS & O_NONBLOCK);
	while (!ret) {
		ret = -EINVAL;
		if (sk->sk_state != TCP_LISTEN)
			break;
		ret = 0;
		child = sdp_accept_next(sk);
		if (child)
			break;
		ret = timeo ? wait_for_child(sk, timeo) : -EAGAIN;
	}
	release_sock(sk);
	*SDP_ACCEPT_ERR = ret;
	return child;
}

/* ---- Shutdown and close ------------------------------------------------- */

/* struct proto's shutdown; SHUT_RD needs nothing on the wire, as TCP. */
static void sdp_prot_shutdown(struct sock *sk, int how)
{
	if (!(how & SEND_SHUTDOWN))
		return;
	sdp_shutdown(&sdp_sk(sk)->conn);
	sdp_act(sk);
}

/* Close the connection as TCP does: unread data or a short linger resets. */
static void close_connection(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	bool unread = ssk->rcv_seq != ssk->copied_seq || ssk->conn.adverts;

	sdp_rx_purge(sk);
	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_TIME_WAIT)
		return;
	sdp_close_rx(&ssk->conn);
	if (unread) {
		sdp_count(sk, RESET_UNREAD_DATA);
		sdp_abort(&ssk->conn, ECONNRESET);
	} else if (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime) {
		sdp_count(sk, RESET_LINGER);
		sdp_abort(&ssk->conn, ECONNRESET);
	} else if (sk->sk_state == TCP_SYN_SENT) {
		sdp_abort(&ssk->conn, ECONNRESET);
	} else {
		sdp_shutdown(&ssk->conn);
	}
	sdp_act(sk);
}

/* struct proto's close: the user's file is gone. */
static void sdp_close(struct sock *sk, long timeout)
{
	lock_sock(sk);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (sk->sk_state == TCP_LISTEN) {
		sdp_listen_stop(sk);
		sdp_conn_set_state(&sdp_sk(sk)->conn, SDP_CLOSE);
		sdp_act(sk);
	} else {
		close_connection(sk);
		sk_stream_wait_close(sk, timeout);
	}
	sock_hold(sk);
	sock_orphan(sk);
	sk_stop_timer(sk, &sk->sk_timer);
	sdp_orphan_check(sk);
	release_sock(sk);
	sock_put(sk);
}

/* ---- Poll --------------------------------------------------------------- */

static __poll_t poll_stream(struct sock *sk)
{
	int target = sock_rcvlowat(sk, 0, INT_MAX);
	struct sdp_sock *ssk = sdp_sk(sk);
	u16 urg_data = READ_ONCE(ssk->urg_data);
	__poll_t mask = 0;

	if (urg_data && !sock_flag(sk, SOCK_URGINLINE) &&
	    READ_ONCE(ssk->urg_seq) == READ_ONCE(ssk->copied_seq))
		target++;
	if (readable(sk, target))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (urg_data & SDP_URG_VALID)
		mask |= EPOLLPRI;

	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	    sk_stream_is_writeable(sk))
		return mask | EPOLLOUT | EPOLLWRNORM;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/* Space may have come before the flag was set; pairs with the waker. */
	smp_mb__after_atomic();
	if (sk_stream_is_writeable(sk))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static __poll_t sdp_poll(struct file *file, struct socket *sock,
			 poll_table *wait)
{
	struct sock *sk = sock->sk;
	__poll_t mask = 0;
	u8 shutdown;
	int state;

	sock_poll_wait(file, sock, wait);
	state = inet_sk_state_load(sk);
	if (state == TCP_LISTEN)
		return list_empty_careful(&sdp_sk(sk)->accept_queue) ? 0 :
		       EPOLLIN | EPOLLRDNORM;

	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		mask |= poll_stream(sk);
	smp_rmb();	/* the error is set before the state */
	if (READ_ONCE(sk->sk_err) ||
	    !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/* ---- Registration ------------------------------------------------------- */

static void sdp_enter_memory_pressure(struct sock *sk)
{
	WRITE_ONCE(sdp_memory_pressure, 1);
}

static void sdp_leave_memory_pressure(struct sock *sk)
{
	WRITE_ONCE(sdp_memory_pressure, 0);
}

struct proto sdp_prot = {
	.name			= "SDP",
	.owner			= THIS_MODULE,
	.close			= sdp_close,
	.connect		= sdp_connect,
	.disconnect		= sdp_disconnect,
	.accept			= sdp_accept,
	.shutdown		= sdp_prot_shutdown,
	.setsockopt		= sdp_setsockopt,
	.getsockopt		= sdp_getsockopt,
	.keepalive		= sdp_keepalive,
	.sendmsg		= sdp_sendmsg,
	.recvmsg		= sdp_recvmsg,
	.release_cb		= sdp_release_cb,
	.get_port		= inet_csk_get_port,
	.put_port		= inet_put_port,
	.enter_memory_pressure	= sdp_enter_memory_pressure,
	.leave_memory_pressure	= sdp_leave_memory_pressure,
	.memory_allocated	= &sdp_memory_allocated,
	.per_cpu_fw_alloc	= &sdp_fw_alloc,
	.sockets_allocated	= &sdp_sockets_allocated,
	.memory_pressure	= &sdp_memory_pressure,
	.sysctl_mem		= sdp_sysctl_mem,
	.sysctl_wmem		= sdp_sysctl_wmem,
	.sysctl_rmem		= sdp_sysctl_rmem,
	.no_autobind		= true,
	.obj_size		= sizeof(struct sdp_sock),
	.h.hashinfo		= &sdp_hashinfo,
};

static const struct proto_ops sdp_stream_ops = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= inet_release,
	.bind		= sdp_bind,
	.connect	= sdp_stream_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= inet_accept,
	.getname	= inet_getname,
	.poll		= sdp_poll,
	.ioctl		= sdp_sock_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= sdp_listen,
	.shutdown	= inet_shutdown,
	.setsockopt	= sock_common_setsockopt,
	.getsockopt	= sock_common_getsockopt,
	.sendmsg	= inet_sendmsg,
	.recvmsg	= inet_recvmsg,
	.mmap		= sock_no_mmap,
	.set_rcvlowat	= sdp_set_rcvlowat,
};

static const struct net_proto_family sdp_family = {
	.family	= PF_INET_SDP,
	.create	= sdp_create,
	.owner	= THIS_MODULE,
};

#define BIND_BUCKETS	1024

static struct inet_bind_hashbucket *bind_buckets(void)
{
	struct inet_bind_hashbucket *buckets;
	int i;

	buckets = kvmalloc_array(BIND_BUCKETS, sizeof(*buckets), GFP_KERNEL);
	if (!buckets)
		return NULL;
	for (i = 0; i < BIND_BUCKETS; i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_HLIST_HEAD(&buckets[i].chain);
	}
	return buckets;
}

static void ports_exit(void)
{
	kvfree(sdp_hashinfo.bhash2);
	kvfree(sdp_hashinfo.bhash);
	kmem_cache_destroy(sdp_hashinfo.bind2_bucket_cachep);
	kmem_cache_destroy(sdp_hashinfo.bind_bucket_cachep);
	inet_hashinfo2_free_mod(&sdp_hashinfo);
}

/* SDP's ports are a space of their own, managed by inet's functions. */
static int ports_init(void)
{
	int err = inet_hashinfo2_init_mod(&sdp_hashinfo);

	if (err)
		return err;
	sdp_hashinfo.bhash_size = BIND_BUCKETS;
	sdp_hashinfo.bind_bucket_cachep =
		kmem_cache_create("sdp_bind_bucket",
				  sizeof(struct inet_bind_bucket), 0,
				  SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT, NULL);
	sdp_hashinfo.bind2_bucket_cachep =
		kmem_cache_create("sdp_bind2_bucket",
				  sizeof(struct inet_bind2_bucket), 0,
				  SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT, NULL);
	sdp_hashinfo.bhash = bind_buckets();
	sdp_hashinfo.bhash2 = bind_buckets();
	if (sdp_hashinfo.bind_bucket_cachep &&
	    sdp_hashinfo.bind2_bucket_cachep && sdp_hashinfo.bhash &&
	    sdp_hashinfo.bhash2)
		return 0;
	ports_exit();
	return -ENOMEM;
}

/* As TCP: pressure at 3/4 of a sixteenth of memory, in pages. */
static void memory_init(void)
{
	unsigned long limit = max(nr_free_buffer_pages() / 16, 128UL);

	sdp_sysctl_mem[0] = limit / 4 * 3;
	sdp_sysctl_mem[1] = limit;
	sdp_sysctl_mem[2] = sdp_sysctl_mem[0] * 2;
}

static int __init sdp_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct sdp_hello) != SDP_HELLO_LEN);
	BUILD_BUG_ON(sizeof(struct sdp_hello_ack) != SDP_HELLO_ACK_LEN);
	BUILD_BUG_ON(sizeof(struct sdp_skb_cb) >
		     sizeof_field(struct sk_buff, cb));

	memory_init();
	sdp_wq = alloc_workqueue("ib_sdp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!sdp_wq)
		return -ENOMEM;
	err = ports_init();
	if (err)
		goto free_wq;
	err = percpu_counter_init(&sdp_sockets_allocated, 0, GFP_KERNEL);
	if (err)
		goto free_ports;
	err = sdp_proc_init();
	if (err)
		goto free_counter;
	err = proto_register(&sdp_prot, 1);
	if (err)
		goto free_proc;
	err = sdp_device_init();
	if (err)
		goto free_proto;
	err = sock_register(&sdp_family);
	if (err)
		goto free_device;
	return 0;

free_device:
	sdp_device_exit();
free_proto:
	proto_unregister(&sdp_prot);
free_proc:
	sdp_proc_exit();
free_counter:
	percpu_counter_destroy(&sdp_sockets_allocated);
free_ports:
	ports_exit();
free_wq:
	destroy_workqueue(sdp_wq);
	return err;
}

static void __exit sdp_exit(void)
{
	sock_unregister(PF_INET_SDP);
	sdp_device_exit();
	rcu_barrier();	/* sockets are freed by RCU */
	proto_unregister(&sdp_prot);
	sdp_proc_exit();
	percpu_counter_destroy(&sdp_sockets_allocated);
	ports_exit();
	destroy_workqueue(sdp_wq);
}

module_init(sdp_init);
module_exit(sdp_exit);

MODULE_DESCRIPTION("Sockets Direct Protocol");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_NETPROTO(PF_INET_SDP);
