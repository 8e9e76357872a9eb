/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ib_sdp's own structures. The head of sdp_main.c explains the life of a
 * socket, who holds which reference, the lock order and the contexts.
 */
#ifndef _SDP_H
#define _SDP_H

#include <linux/list.h>
#include <linux/irq_poll.h>
#include <linux/kref.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/snmp.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "sdp_proto.h"
#include "uapi/sdp.h"

#define IPPROTO_SDP		257	/* sk_protocol of every SDP socket */

/*
 * Queue depths. RC delivers in order, so the send queue only has to cover the
 * round trip of the adapter; the receive queue bounds the credits of the peer.
 */
#define SDP_SQ_DEPTH		15
#define SDP_RQ_DEPTH		31
/* The counters wrap at 2^32: rings are powers of two, not fully used. */
#define SDP_TX_RING		16
#define SDP_RX_RING		32
#define SDP_TX_FRAGS		3	/* pages of one message, beside its header */
#define SDP_TX_SIGNAL		4	/* every so many sends ask for a completion */
#define SDP_TX_BATCH		4	/* work requests per doorbell */
#define SDP_HEADER_SLOT		64	/* bytes of a slot's header buffer */

/* Receive buffers: few and small at first, more and large when busy. */
#define SDP_RX_MIN		4	/* buffers, see 3.6 and 3.7 */
#define SDP_RX_START		4096	/* bytes */
#define SDP_RX_LEGACY		8192	/* for a peer that cannot make them grow */
#define SDP_RX_GROWN		65536	/* allocated for SDP_MAX_RCV_SIZE */
#define SDP_RX_BUSY_RCVBUF	(16 * SDP_RX_GROWN)
#define SDP_TX_BUSY_SNDBUF	(16 * SDP_RX_GROWN)

/* Sends wait lazily for their completions below so many queued bytes. */
#define SDP_TX_LAZY		8192

#define SDP_RDMA_DEPTH		4	/* responder resources, initiator depth */
/* Repetitions of a packet without an ACK. 7 means for ever to soft-RoCE. */
#define SDP_QP_RETRIES		6
#define SDP_CLOSE_TIMEOUT	(60 * HZ)	/* 8.2, 8.3 */
#define SDP_ABORT_TIMEOUT	(5 * HZ)	/* AbortConn without credit */
#define SDP_RTU_TIMEOUT		(10 * HZ)	/* half-open children */
#define SDP_EARLY_TIMEOUT	HZ	/* an early message waits for its RTU */
#define SDP_CORK_TIMEOUT	(HZ / 5)	/* TCP_CORK holds no longer */
#define SDP_PROBE_MIN		(HZ / 2)
#define SDP_PROBE_MAX		(60 * HZ)

struct sdp_channel;

/**
 * struct sdp_place - a child's place in its listener's accept queue
 * @generation: sdp_sock.accept_generation when it was counted
 * @order: of its REQ
 */
struct sdp_place {
	u32 generation;
	u32 order;
};

/* ---- Statistics of a network namespace: /proc/net/sdpstats -------------- */

/* The names in /proc are in sdp_proc.c, docs/proc.md explains them. */
enum sdp_mib_item {
	SDP_MIB_ACTIVE_OPENS,
	SDP_MIB_PASSIVE_OPENS,
	SDP_MIB_ATTEMPT_FAILS,
	SDP_MIB_ESTAB_RESETS,
	SDP_MIB_LISTEN_DROPS,
	SDP_MIB_LISTEN_REFUSED,
	SDP_MIB_HALF_OPEN_EXPIRED,
	SDP_MIB_VERSION_RETRIES,
	SDP_MIB_HELLO_REJECTED,
	SDP_MIB_HELLO_ACK_REJECTED,
	SDP_MIB_ADDRESS_REFUSED,
	SDP_MIB_DEVICES_SKIPPED,
	SDP_MIB_DEVICE_REMOVALS,
	SDP_MIB_BYTES_SENT,
	SDP_MIB_BYTES_RECEIVED,
	SDP_MIB_DATA_SENT,
	SDP_MIB_DATA_RECEIVED,
	SDP_MIB_SRC_AVAIL_SENT,
	SDP_MIB_SRC_AVAIL_RECEIVED,
	SDP_MIB_SINK_AVAIL_SENT,
	SDP_MIB_SINK_AVAIL_RECEIVED,
	SDP_MIB_DISCONN_SENT,
	SDP_MIB_DISCONN_RECEIVED,
	SDP_MIB_ABORT_CONN_SENT,
	SDP_MIB_ABORT_CONN_RECEIVED,
	SDP_MIB_SEND_SM_SENT,
	SDP_MIB_SEND_SM_RECEIVED,
	SDP_MIB_RDMA_WR_COMPL_SENT,
	SDP_MIB_RDMA_WR_COMPL_RECEIVED,
	SDP_MIB_RDMA_RD_COMPL_SENT,
	SDP_MIB_RDMA_RD_COMPL_RECEIVED,
	SDP_MIB_MODE_CHANGE_SENT,
	SDP_MIB_MODE_CHANGE_RECEIVED,
	SDP_MIB_SRC_AVAIL_CANCEL_SENT,
	SDP_MIB_SRC_AVAIL_CANCEL_RECEIVED,
	SDP_MIB_SINK_AVAIL_CANCEL_SENT,
	SDP_MIB_SINK_AVAIL_CANCEL_RECEIVED,
	SDP_MIB_SINK_CANCEL_ACK_SENT,
	SDP_MIB_SINK_CANCEL_ACK_RECEIVED,
	SDP_MIB_CH_RCV_BUF_SENT,
	SDP_MIB_CH_RCV_BUF_RECEIVED,
	SDP_MIB_CH_RCV_BUF_ACK_SENT,
	SDP_MIB_CH_RCV_BUF_ACK_RECEIVED,
	SDP_MIB_SUSP_COMM_SENT,
	SDP_MIB_SUSP_COMM_RECEIVED,
	SDP_MIB_SUSP_COMM_ACK_SENT,
	SDP_MIB_SUSP_COMM_ACK_RECEIVED,
	SDP_MIB_OTHER_RECEIVED,
	SDP_MIB_CREDIT_UPDATES_SENT,
	SDP_MIB_CREDIT_UPDATES_RECEIVED,
	SDP_MIB_CREDIT_WAITS,
	SDP_MIB_CREDIT_PROBES,
	SDP_MIB_SEND_QUEUE_WAITS,
	SDP_MIB_MEMORY_WAITS,
	SDP_MIB_RDMA_READS,
	SDP_MIB_RDMA_READ_BYTES,
	SDP_MIB_KEEPALIVES,
	SDP_MIB_SOLICITED_SENT,
	SDP_MIB_SOLICITED_ARMED,
	SDP_MIB_SOLICITED_RECEIVED,
	SDP_MIB_RECV_WAKEUPS,
	SDP_MIB_SEND_WAKEUPS,
	SDP_MIB_RECV_BUFFER_FAILURES,
	SDP_MIB_RESET_BY_PEER,
	SDP_MIB_RESET_BY_USER,
	SDP_MIB_RESET_UNREAD_DATA,
	SDP_MIB_RESET_LINGER,
	SDP_MIB_RESET_TRANSPORT,
	SDP_MIB_RESET_TIMEOUT,
	SDP_MIB_RESET_DEVICE,
	SDP_MIB_RESET_VIOLATION,
	SDP_MIB_ILLEGAL_TRANSITIONS,
	SDP_MIB_VIOLATION,	/* + enum sdp_violation */
	SDP_MIB_COUNT = SDP_MIB_VIOLATION + SDP_V_COUNT,
};

struct sdp_mib {
	unsigned long mibs[SDP_MIB_COUNT];
};

struct sdp_net {
	struct sdp_mib __percpu *mib;
	spinlock_t lock;		/* to change sockets; readers: RCU */
	struct hlist_head sockets;	/* all of the namespace, for /proc */
};

extern unsigned int sdp_net_id;

static inline struct sdp_net *sdp_pernet(struct net *net)
{
	return net_generic(net, sdp_net_id);
}

#define sdp_count(sk, item) \
	SNMP_INC_STATS(sdp_sk(sk)->mib, SDP_MIB_##item)
#define sdp_count_add(sk, item, n) \
	SNMP_ADD_STATS(sdp_sk(sk)->mib, SDP_MIB_##item, n)
#define sdp_count_net(net, item) \
	SNMP_INC_STATS(sdp_pernet(net)->mib, SDP_MIB_##item)

/* ---- Sockets ------------------------------------------------------------ */

/* Bits of sdp_sock.flags, atomic. */
enum {
	SDP_POLL_DEFERRED,	/* completions wait for release_sock() */
	SDP_DESTROYED,		/* sdp_destroy_sock() ran */
};

/**
 * struct sdp_sock - an SDP socket
 * @icsk: has to be the first; its bind buckets are used
 * @conn: what the protocol core decides on
 * @channel: QP and CM ids, a reference; NULL when there is none
 * @mib: its namespace's counters; never changes
 * @flags: see above, atomic
 * @nodelay: TCP_NODELAY
 * @cork: TCP_CORK
 * @more: the last send had MSG_MORE
 * @push_now: the cork timer ran out
 * @peer_closed: the peer's DisConn has come, whatever came then
 * @in_push: sdp_push() is running; it must not nest
 * @in_act: sdp_act() is running; it must not nest
 * @urg_data: the urgent byte and SDP_URG_* in the high bits
 * @urg_seq: where the urgent byte stands
 * @copied_seq: first byte that the user has not read
 * @rcv_seq: the byte after the last that arrived
 * @write_seq: the byte after the last that the user wrote
 * @unsent_seq: the first byte that was not posted
 * @unacked_seq: the first byte whose send did not complete
 * @rx_free: read receive buffers, to be posted again
 * @rx_total: receive buffers that circulate: posted, queued and free
 * @rx_window: bytes that all receive buffers may have
 * @rx_generation: counts the channels; @rx_total is of the present one
 * @rx_alloc: bytes allocated for each
 * @tx_timer: cork and persist timer
 * @tx_backoff: doublings of the persist timer
 * @keep_idle: TCP_KEEPIDLE, jiffies
 * @keep_intvl: TCP_KEEPINTVL, jiffies
 * @keep_cnt: TCP_KEEPCNT
 * @keep_sent: probes of the present silence
 * @keep_posted: a probe has not completed
 * @last_active: jiffies of the last message either way
 * @last_bind_err: SDP_LAST_BIND_ERR
 * @in_flight: payload messages posted and not completed
 * @bulk: full messages sent in a row
 * @net_node: in sdp_net.sockets, its lock
 * @listen_node: in the table of listeners, its lock
 * @listen_ids: one CM listen per device, sdp_listen_mutex
 * @listen_entry: in the list of listeners, sdp_listen_mutex
 * @accept_lock: protects the six below; the innermost lock
 * @accept_queue: established children, by @accept_entry; a reference each
 * @accept_pending: children, half-open or in the queue
 * @accept_generation: counts the times that the queue was given up
 * @accept_order: the place of the next REQ; of a child, its own
 * @accept_dead: no child may be added any more
 * @accept_entry: in the parent's @accept_queue
 *
 * Everything without another word is protected by the socket lock.
 */
struct sdp_sock {
	struct inet_connection_sock icsk;
	struct sdp_conn conn;
	struct sdp_channel *channel;
	struct sdp_mib __percpu *mib;
	unsigned long flags;

	bool nodelay;
	bool cork;
	bool more;
	bool push_now;
	bool peer_closed;
	bool in_push;
	bool in_act;

	u16 urg_data;
	u32 urg_seq;
	u32 copied_seq;
	u32 rcv_seq;
	u32 write_seq;
	u32 unsent_seq;
	u32 unacked_seq;

	struct sk_buff_head rx_free;
	u32 rx_total;
	u32 rx_window;
	u8 rx_generation;
	u32 rx_alloc;

	struct timer_list tx_timer;
	u8 tx_backoff;
	u8 keep_cnt;
	u8 keep_sent;
	bool keep_posted;
	u32 keep_idle;
	u32 keep_intvl;
	unsigned long last_active;
	int last_bind_err;
	u32 in_flight;
	u32 bulk;

	struct hlist_node net_node;
	struct hlist_node listen_node;
	struct list_head listen_ids;
	struct list_head listen_entry;

	spinlock_t accept_lock;	/* the six below */
	struct list_head accept_queue;
	u32 accept_pending;
	u32 accept_generation;
	u32 accept_order;
	bool accept_dead;
	struct list_head accept_entry;
};

/* urg_data: as TCP's */
#define SDP_URG_VALID		0x0100
#define SDP_URG_NOTYET		0x0200
#define SDP_URG_READ		0x0400

static inline struct sdp_sock *sdp_sk(const struct sock *sk)
{
	return (struct sdp_sock *)sk;
}

/* What a buffer in one of the queues is (skb->cb). */
struct sdp_skb_cb {
	u64 dma;	/* receive: mapped while posted */
	u32 seq;	/* of its first payload byte */
	u32 offset;	/* receive: where the payload starts */
	u32 payload;	/* receive: bytes of payload */
	u32 room;	/* send: payload bytes that fit */
	u32 alloc;	/* receive: bytes of the page */
	bool urgent;	/* send: the last byte is out of band */
	bool closed;	/* send: nothing may be added */
	bool circulates; /* receive: counted in rx_total */
	u8 generation;	/* receive: sdp_sock.rx_generation then */
};

static inline struct sdp_skb_cb *sdp_cb(struct sk_buff *skb)
{
	return (struct sdp_skb_cb *)skb->cb;
}

/* ---- Devices and channels ----------------------------------------------- */

/**
 * struct sdp_device - an RDMA device that SDP runs on
 * @ib: the device
 * @entry: in the list of devices, sdp_listen_mutex
 * @lock: protects @channels, @qps and @gone
 * @channels: all channels on it, by sdp_channel.device_entry
 * @qps: those with a QP, by QP number
 * @gone: the device is being removed, no new channels
 * @empty: woken when @channels gets empty
 * @rcu: CM handlers find the device under RCU
 */
struct sdp_device {
	struct ib_device *ib;
	struct list_head entry;
	spinlock_t lock;	/* channels, qps, gone */
	struct list_head channels;
	struct xarray qps;
	bool gone;
	wait_queue_head_t empty;
	struct rcu_head rcu;
};

enum sdp_slot_kind {
	SDP_SLOT_MESSAGE,
	SDP_SLOT_READ,
	SDP_SLOT_KEEPALIVE,
};

/**
 * struct sdp_tx_slot - a work request in the send queue
 * @skb: the payload of a message, or the target of a READ
 * @dma: the mapped pages of @skb
 * @frags: how many
 * @kind: enum sdp_slot_kind
 * @mid: of a message
 */
struct sdp_tx_slot {
	struct sk_buff *skb;
	u64 dma[SDP_TX_FRAGS];
	u8 frags;
	u8 kind;
	u8 mid;
};

/* Events that sdp_channel.work handles; bits of sdp_channel.events. */
enum sdp_event {
	SDP_EV_START,		/* connect() */
	SDP_EV_ADDR,		/* rdma_cm found the address */
	SDP_EV_ROUTE,		/* rdma_cm found the route */
	SDP_EV_UNREACHABLE,	/* rdma_cm failed, sdp_channel.resolve_err */
	SDP_EV_REQ,		/* a listener got a Hello */
	SDP_EV_REP,		/* HelloAck */
	SDP_EV_RTU,
	SDP_EV_NO_RTU,		/* messages came, the RTU did not */
	SDP_EV_REJECTED,	/* REJ, sdp_channel.rej_reason */
	SDP_EV_NO_ANSWER,	/* REQ or REP timed out */
	SDP_EV_MEMORY,		/* receive buffers are wanted */
	SDP_EV_FAILED,		/* QP event or completion in error */
	SDP_EV_DREQ,
	SDP_EV_DISCONNECTED,	/* DREP, or DREQ timed out */
	SDP_EV_TIMEWAIT_OVER,
	SDP_EV_GONE,		/* the device goes away */
	SDP_EV_DISCONNECT,	/* the core wants a DREQ */
	SDP_EV_RELEASE,		/* the core wants the QP given up */
};

/**
 * struct sdp_channel - a connection's QP, and its life in the CM
 * @ref: one for its life, one per queued work, one for sdp_sock.channel
 * @sk: a reference; NULL until a child exists. Set once
 * @listener: of a half-open child, a reference; NULL afterwards
 * @place: in @listener's accept queue
 * @device: set once, before any verbs object exists
 * @device_entry: in @device->channels
 * @work: handles @events, alone for this channel; may sleep
 * @linger: bounds DREQ and time-wait
 * @no_rtu: how long an early message waits for its RTU
 * @rcu: frees it
 * @events: bits of enum sdp_event, atomic
 * @deferred_err: errno for SDP_EV_FAILED
 * @resolver: rdma_cm's id, to find device and path; @work only
 * @cm_id: the CM's id; written by @work only
 * @major: SDP version offered
 * @done: the life reference is dropped, @work only
 * @early: of a child, a message came before the RTU; socket lock
 * @rtu: of a child, the CM knows that it is established, @work only
 * @disconnecting: a DREQ was sent, @work only
 * @dreq_due: a DREQ has to be sent after the RTU, @work only
 * @rej_reason: written by the CM handler before SDP_EV_REJECTED
 * @resolve_err: errno, written before SDP_EV_UNREACHABLE
 * @src: source address of a connecting socket, for rdma_cm
 * @dst: destination address, likewise
 * @responder_resources: READs that the peer may have in process
 * @initiator_depth: READs that we may have in process
 * @path: of a child, to the peer
 * @psn: of the peer's first packet, as REQ or REP say
 * @ack: the peer's HelloAck
 * @peer: what the peer's Hello or HelloAck said
 * @port: of @device
 * @pd: each connection has its own: an rkey is valid on all QPs of a PD
 * @send_cq: polled under the socket lock
 * @recv_cq: polled under the socket lock
 * @qp: NULL before and after; socket lock to post
 * @poll: the softirq part of the completions
 * @scheduled: bit 0: @poll is scheduled and holds a reference, atomic
 * @failed: a completion in error was seen; nothing is posted any more
 * @failure_reported: the core knows
 * @send_armed: @send_cq will call back
 * @tx_head: slots ever used; socket lock
 * @tx_tail: slots ever completed; socket lock
 * @unsignaled: work requests since the last signalled one
 * @header_dma: of @headers
 * @headers: SDP_HEADER_SLOT bytes per slot
 * @rx_head: buffers ever posted; socket lock
 * @rx_tail: buffers ever completed; socket lock
 * @tx: the send queue's slots
 * @rx: the posted buffers
 */
struct sdp_channel {
	struct kref ref;
	struct sock *sk;
	struct sock *listener;
	struct sdp_place place;
	struct sdp_device *device;
	struct list_head device_entry;
	struct work_struct work;
	struct delayed_work linger;
	struct delayed_work no_rtu;
	struct rcu_head rcu;
	unsigned long events;
	int deferred_err;

	struct rdma_cm_id *resolver;
	struct ib_cm_id *cm_id;
	u8 major;
	bool done;
	bool early;
	bool rtu;
	bool disconnecting;
	bool dreq_due;
	u8 rej_reason;
	int resolve_err;
	u8 responder_resources;
	u8 initiator_depth;
	struct sockaddr_storage src;
	struct sockaddr_storage dst;
	struct sa_path_rec *path;
	u32 psn;
	struct sdp_hello_ack ack;
	struct sdp_params peer;
	u32 port;

	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	struct irq_poll poll;
	unsigned long scheduled;
	bool failed;
	bool failure_reported;
	bool send_armed;
	u32 tx_head;
	u32 tx_tail;
	u32 unsignaled;
	u64 header_dma;
	u8 *headers;
	u32 rx_head;
	u32 rx_tail;
	struct sdp_tx_slot tx[SDP_TX_RING];
	struct sk_buff *rx[SDP_RX_RING];
};

/* sdp_main.c */
extern struct proto sdp_prot;
extern struct workqueue_struct *sdp_wq;
struct sock *sdp_clone_child(struct sock *listener, struct sdp_channel *ch);
void sdp_act(struct sock *sk);
void sdp_destroy_sock(struct sock *sk);
void sdp_orphan_check(struct sock *sk);
void sdp_fail_connect(struct sock *sk, int err);

/* sdp_sockopt.c */
int sdp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int sdp_getsockopt(struct sock *sk, int level, int optname,
		   char __user *optval, int __user *optlen);
int sdp_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/* sdp_timer.c */
void sdp_timers_init(struct sock *sk);
void sdp_timers_stop(struct sock *sk);
void sdp_tx_timer_update(struct sock *sk);
void sdp_close_timer_start(struct sock *sk, unsigned long timeout);
void sdp_keepalive(struct sock *sk, int on);
void sdp_keepalive_done(struct sock *sk);

/* sdp_bcopy.c */
int sdp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len);
int sdp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		int *addr_len);
void sdp_push(struct sock *sk);
void sdp_received(struct sock *sk, struct sk_buff *skb, u32 len);
void sdp_post_receives(struct sock *sk, gfp_t gfp);
int sdp_set_rcvlowat(struct sock *sk, int val);
u32 sdp_rx_prepare(struct sock *sk, const struct sdp_params *peer);
void sdp_rx_resize(struct sock *sk);
void sdp_queue_payload(struct sock *sk, struct sk_buff *skb);
void sdp_rx_drop(struct sock *sk, struct sk_buff *skb);
void sdp_rx_recycle(struct sock *sk, struct sk_buff *skb);
struct sk_buff *sdp_rx_buffer(struct sock *sk, gfp_t gfp);
void sdp_tx_free(struct sock *sk, struct sk_buff *skb);
void sdp_tx_purge(struct sock *sk);
void sdp_rx_purge(struct sock *sk);
void sdp_rx_detach(struct sock *sk);

/* sdp_zcopy.c */
void sdp_serve_src_avail(struct sock *sk);
void sdp_read_completed(struct sock *sk, struct sk_buff *skb);

/* sdp_channel.c */
struct sdp_channel *sdp_channel_alloc(gfp_t gfp);
void sdp_channel_put(struct sdp_channel *ch);
int sdp_channel_create_qp(struct sdp_channel *ch);
void sdp_channel_destroy_qp(struct sdp_channel *ch);
int sdp_channel_init_qp(struct sdp_channel *ch, const struct sa_path_rec *path);
int sdp_channel_ready_qp(struct sdp_channel *ch);
int sdp_channel_arm(struct sdp_channel *ch);
u32 sdp_channel_rx_room(const struct sdp_channel *ch);
u32 sdp_channel_tx_room(const struct sdp_channel *ch);
void sdp_channel_post_messages(struct sock *sk, struct sdp_tx *messages,
			       struct sk_buff **skbs, unsigned int count,
			       bool signal);
bool sdp_channel_post_receive(struct sock *sk, struct sk_buff *skb);
void sdp_channel_post_read(struct sock *sk, const struct sdp_read *read,
			   struct sk_buff *skb);
void sdp_channel_post_keepalive(struct sock *sk);
void sdp_channel_poll(struct sock *sk);
void sdp_channel_drain(struct sock *sk);
void sdp_channel_poll_sends(struct sock *sk);
void sdp_channel_want_sends(struct sock *sk);
void sdp_channel_fail(struct sdp_channel *ch, int err);

/* sdp_cma.c */
void sdp_channel_event(struct sdp_channel *ch, enum sdp_event event);
void sdp_channel_work(struct work_struct *work);
void sdp_channel_linger(struct work_struct *work);
void sdp_channel_early(struct sdp_channel *ch);
void sdp_channel_no_rtu(struct work_struct *work);
int sdp_cm_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event);

/* sdp_listen.c */
int sdp_listen_start(struct sock *sk);
void sdp_listen_stop(struct sock *sk);
int sdp_listen_device(struct sdp_device *device);
void sdp_unlisten_device(struct sdp_device *device);
int sdp_req_received(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
bool sdp_accept_publish(struct sock *sk, struct sdp_channel *ch);
void sdp_accept_forget(struct sdp_channel *ch);
struct sock *sdp_accept_next(struct sock *sk);

/* sdp_device.c */
extern struct ib_client sdp_client;
extern struct mutex sdp_listen_mutex;
extern struct list_head sdp_devices;
int sdp_device_init(void);
void sdp_device_exit(void);
int sdp_device_attach(struct sdp_channel *ch, struct ib_device *ib);
void sdp_device_detach(struct sdp_channel *ch);
struct net_device *sdp_req_netdev(const struct ib_cm_event *event,
				  const struct sdp_params *peer);
bool sdp_req_addresses_valid(const struct ib_cm_event *event,
			     struct net_device *ndev,
			     const struct sdp_params *peer);
struct net *sdp_req_loopback_net(const struct ib_cm_event *event);
bool sdp_pick_address(struct net *net, __be32 *addr);

/* sdp_proc.c */
int sdp_proc_init(void);
void sdp_proc_exit(void);
void sdp_hash(struct sock *sk);
void sdp_unhash(struct sock *sk);
void sdp_count_message(struct sock *sk, u8 mid, bool sent);
void sdp_count_rule(struct net *net, enum sdp_violation violation);
void sdp_count_violation(struct sock *sk);
void sdp_count_disconnect(struct sock *sk);

#endif /* _SDP_H */
