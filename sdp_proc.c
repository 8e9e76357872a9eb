// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /proc/net/sdp, in the layout that existing tools parse, and the statistics of
 * /proc/net/sdpstats, one `Name value` a line, both per network namespace.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/tcp_states.h>

#include "sdp.h"

unsigned int sdp_net_id;

/* ---- The sockets of a namespace ----------------------------------------- */

/**
 * sdp_hash - show the socket in /proc/net/sdp
 * @sk: the socket
 */
void sdp_hash(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_sock *ssk = sdp_sk(sk);

	spin_lock_bh(&sn->lock);
	hlist_add_head_rcu(&ssk->net_node, &sn->sockets);
	spin_unlock_bh(&sn->lock);
}

/**
 * sdp_unhash - show it no more
 * @sk: the socket
 *
 * Context: process or softirq.
 */
void sdp_unhash(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));

	spin_lock_bh(&sn->lock);
	hlist_del_init_rcu(&sdp_sk(sk)->net_node);
	spin_unlock_bh(&sn->lock);
}

/* Sockets are freed by RCU (SOCK_RCU_FREE): reading disturbs nobody. */
static void *sockets_start(struct seq_file *seq, loff_t *pos)
	__acquires(RCU)
{
	rcu_read_lock();
	return seq_hlist_start_head_rcu(&sdp_pernet(seq_file_net(seq))->sockets,
					*pos);
}

static void *sockets_next(struct seq_file *seq, void *v, loff_t *pos)
{
	return seq_hlist_next_rcu(v, &sdp_pernet(seq_file_net(seq))->sockets,
				  pos);
}

static void sockets_stop(struct seq_file *seq, void *v)
	__releases(RCU)
{
	rcu_read_unlock();
}

static int sockets_show(struct seq_file *seq, void *v)
{
	struct sdp_sock *ssk;
	struct inet_sock *inet;
	struct sock *sk;
	u32 rx, tx;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "  sl  local_address rem_address        uid inode   rx_queue tx_queue state\n");
		return 0;
	}
	ssk = hlist_entry(v, struct sdp_sock, net_node);
	sk = (struct sock *)ssk;
	inet = inet_sk(sk);
	rx = sk->sk_state == TCP_LISTEN ? READ_ONCE(sk->sk_ack_backlog) :
	     READ_ONCE(ssk->rcv_seq) - READ_ONCE(ssk->copied_seq);
	tx = READ_ONCE(ssk->write_seq) - READ_ONCE(ssk->unacked_seq);
	seq_printf(seq, "%4lld: %08X:%04X %08X:%04X %5u %lu %08X %08X %02X\n",
		   seq->index - 1, (__force u32)inet->inet_rcv_saddr,
		   ntohs(inet->inet_sport), (__force u32)inet->inet_daddr,
		   ntohs(inet->inet_dport),
		   from_kuid_munged(seq_user_ns(seq), sock_i_uid(sk)),
		   sock_i_ino(sk), rx, tx, READ_ONCE(sk->sk_state));
	return 0;
}

static const struct seq_operations sockets_ops = {
	.start	= sockets_start,
	.next	= sockets_next,
	.stop	= sockets_stop,
	.show	= sockets_show,
};

/* ---- Statistics --------------------------------------------------------- */

static const struct snmp_mib mib_items[] = {
	SNMP_MIB_ITEM("ActiveOpens", SDP_MIB_ACTIVE_OPENS),
	SNMP_MIB_ITEM("PassiveOpens", SDP_MIB_PASSIVE_OPENS),
	SNMP_MIB_ITEM("AttemptFails", SDP_MIB_ATTEMPT_FAILS),
	SNMP_MIB_ITEM("EstabResets", SDP_MIB_ESTAB_RESETS),
	SNMP_MIB_ITEM("ListenDrops", SDP_MIB_LISTEN_DROPS),
	SNMP_MIB_ITEM("ListenRefused", SDP_MIB_LISTEN_REFUSED),
	SNMP_MIB_ITEM("HalfOpenExpired", SDP_MIB_HALF_OPEN_EXPIRED),
	SNMP_MIB_ITEM("VersionRetries", SDP_MIB_VERSION_RETRIES),
	SNMP_MIB_ITEM("HelloRejected", SDP_MIB_HELLO_REJECTED),
	SNMP_MIB_ITEM("HelloAckRejected", SDP_MIB_HELLO_ACK_REJECTED),
	SNMP_MIB_ITEM("AddressRefused", SDP_MIB_ADDRESS_REFUSED),
	SNMP_MIB_ITEM("DevicesSkipped", SDP_MIB_DEVICES_SKIPPED),
	SNMP_MIB_ITEM("DeviceRemovals", SDP_MIB_DEVICE_REMOVALS),
	SNMP_MIB_ITEM("BytesSent", SDP_MIB_BYTES_SENT),
	SNMP_MIB_ITEM("BytesReceived", SDP_MIB_BYTES_RECEIVED),
	SNMP_MIB_ITEM("DataSent", SDP_MIB_DATA_SENT),
	SNMP_MIB_ITEM("DataReceived", SDP_MIB_DATA_RECEIVED),
	SNMP_MIB_ITEM("SrcAvailSent", SDP_MIB_SRC_AVAIL_SENT),
	SNMP_MIB_ITEM("SrcAvailReceived", SDP_MIB_SRC_AVAIL_RECEIVED),
	SNMP_MIB_ITEM("SinkAvailSent", SDP_MIB_SINK_AVAIL_SENT),
	SNMP_MIB_ITEM("SinkAvailReceived", SDP_MIB_SINK_AVAIL_RECEIVED),
	SNMP_MIB_ITEM("DisConnSent", SDP_MIB_DISCONN_SENT),
	SNMP_MIB_ITEM("DisConnReceived", SDP_MIB_DISCONN_RECEIVED),
	SNMP_MIB_ITEM("AbortConnSent", SDP_MIB_ABORT_CONN_SENT),
	SNMP_MIB_ITEM("AbortConnReceived", SDP_MIB_ABORT_CONN_RECEIVED),
	SNMP_MIB_ITEM("SendSmSent", SDP_MIB_SEND_SM_SENT),
	SNMP_MIB_ITEM("SendSmReceived", SDP_MIB_SEND_SM_RECEIVED),
	SNMP_MIB_ITEM("RdmaWrComplSent", SDP_MIB_RDMA_WR_COMPL_SENT),
	SNMP_MIB_ITEM("RdmaWrComplReceived", SDP_MIB_RDMA_WR_COMPL_RECEIVED),
	SNMP_MIB_ITEM("RdmaRdComplSent", SDP_MIB_RDMA_RD_COMPL_SENT),
	SNMP_MIB_ITEM("RdmaRdComplReceived", SDP_MIB_RDMA_RD_COMPL_RECEIVED),
	SNMP_MIB_ITEM("ModeChangeSent", SDP_MIB_MODE_CHANGE_SENT),
	SNMP_MIB_ITEM("ModeChangeReceived", SDP_MIB_MODE_CHANGE_RECEIVED),
	SNMP_MIB_ITEM("SrcAvailCancelSent", SDP_MIB_SRC_AVAIL_CANCEL_SENT),
	SNMP_MIB_ITEM("SrcAvailCancelReceived", SDP_MIB_SRC_AVAIL_CANCEL_RECEIVED),
	SNMP_MIB_ITEM("SinkAvailCancelSent", SDP_MIB_SINK_AVAIL_CANCEL_SENT),
	SNMP_MIB_ITEM("SinkAvailCancelReceived", SDP_MIB_SINK_AVAIL_CANCEL_RECEIVED),
	SNMP_MIB_ITEM("SinkCancelAckSent", SDP_MIB_SINK_CANCEL_ACK_SENT),
	SNMP_MIB_ITEM("SinkCancelAckReceived", SDP_MIB_SINK_CANCEL_ACK_RECEIVED),
	SNMP_MIB_ITEM("ChRcvBufSent", SDP_MIB_CH_RCV_BUF_SENT),
	SNMP_MIB_ITEM("ChRcvBufReceived", SDP_MIB_CH_RCV_BUF_RECEIVED),
	SNMP_MIB_ITEM("ChRcvBufAckSent", SDP_MIB_CH_RCV_BUF_ACK_SENT),
	SNMP_MIB_ITEM("ChRcvBufAckReceived", SDP_MIB_CH_RCV_BUF_ACK_RECEIVED),
	SNMP_MIB_ITEM("SuspCommSent", SDP_MIB_SUSP_COMM_SENT),
	SNMP_MIB_ITEM("SuspCommReceived", SDP_MIB_SUSP_COMM_RECEIVED),
	SNMP_MIB_ITEM("SuspCommAckSent", SDP_MIB_SUSP_COMM_ACK_SENT),
	SNMP_MIB_ITEM("SuspCommAckReceived", SDP_MIB_SUSP_COMM_ACK_RECEIVED),
	SNMP_MIB_ITEM("OtherReceived", SDP_MIB_OTHER_RECEIVED),
	SNMP_MIB_ITEM("CreditUpdatesSent", SDP_MIB_CREDIT_UPDATES_SENT),
	SNMP_MIB_ITEM("CreditUpdatesReceived", SDP_MIB_CREDIT_UPDATES_RECEIVED),
	SNMP_MIB_ITEM("CreditWaits", SDP_MIB_CREDIT_WAITS),
	SNMP_MIB_ITEM("CreditProbes", SDP_MIB_CREDIT_PROBES),
	SNMP_MIB_ITEM("SendQueueWaits", SDP_MIB_SEND_QUEUE_WAITS),
	SNMP_MIB_ITEM("MemoryWaits", SDP_MIB_MEMORY_WAITS),
	SNMP_MIB_ITEM("RdmaReads", SDP_MIB_RDMA_READS),
	SNMP_MIB_ITEM("RdmaReadBytes", SDP_MIB_RDMA_READ_BYTES),
	SNMP_MIB_ITEM("Keepalives", SDP_MIB_KEEPALIVES),
	SNMP_MIB_ITEM("SolicitedSent", SDP_MIB_SOLICITED_SENT),
	SNMP_MIB_ITEM("SolicitedArmed", SDP_MIB_SOLICITED_ARMED),
	SNMP_MIB_ITEM("SolicitedReceived", SDP_MIB_SOLICITED_RECEIVED),
	SNMP_MIB_ITEM("RecvWakeups", SDP_MIB_RECV_WAKEUPS),
	SNMP_MIB_ITEM("SendWakeups", SDP_MIB_SEND_WAKEUPS),
	SNMP_MIB_ITEM("RecvBufferFailures", SDP_MIB_RECV_BUFFER_FAILURES),
	SNMP_MIB_ITEM("ResetByPeer", SDP_MIB_RESET_BY_PEER),
	SNMP_MIB_ITEM("ResetByUser", SDP_MIB_RESET_BY_USER),
	SNMP_MIB_ITEM("ResetUnreadData", SDP_MIB_RESET_UNREAD_DATA),
	SNMP_MIB_ITEM("ResetLinger", SDP_MIB_RESET_LINGER),
	SNMP_MIB_ITEM("ResetTransport", SDP_MIB_RESET_TRANSPORT),
	SNMP_MIB_ITEM("ResetTimeout", SDP_MIB_RESET_TIMEOUT),
	SNMP_MIB_ITEM("ResetDevice", SDP_MIB_RESET_DEVICE),
	SNMP_MIB_ITEM("ResetViolation", SDP_MIB_RESET_VIOLATION),
	SNMP_MIB_ITEM("IllegalTransitions", SDP_MIB_ILLEGAL_TRANSITIONS),
	SNMP_MIB_SENTINEL
};

/* Counters of a message id: sent, received. */
static const struct {
	u8 mid;
	enum sdp_mib_item sent;
	enum sdp_mib_item received;
} message_items[] = {
	{ SDP_MID_DATA, SDP_MIB_DATA_SENT,
	  SDP_MIB_DATA_RECEIVED },
	{ SDP_MID_SRC_AVAIL, SDP_MIB_SRC_AVAIL_SENT,
	  SDP_MIB_SRC_AVAIL_RECEIVED },
	{ SDP_MID_SINK_AVAIL, SDP_MIB_SINK_AVAIL_SENT,
	  SDP_MIB_SINK_AVAIL_RECEIVED },
	{ SDP_MID_DISCONN, SDP_MIB_DISCONN_SENT,
	  SDP_MIB_DISCONN_RECEIVED },
	{ SDP_MID_ABORT, SDP_MIB_ABORT_CONN_SENT,
	  SDP_MIB_ABORT_CONN_RECEIVED },
	{ SDP_MID_SEND_SM, SDP_MIB_SEND_SM_SENT,
	  SDP_MIB_SEND_SM_RECEIVED },
	{ SDP_MID_RDMA_WR_COMPL, SDP_MIB_RDMA_WR_COMPL_SENT,
	  SDP_MIB_RDMA_WR_COMPL_RECEIVED },
	{ SDP_MID_RDMA_RD_COMPL, SDP_MIB_RDMA_RD_COMPL_SENT,
	  SDP_MIB_RDMA_RD_COMPL_RECEIVED },
	{ SDP_MID_MODE_CHANGE, SDP_MIB_MODE_CHANGE_SENT,
	  SDP_MIB_MODE_CHANGE_RECEIVED },
	{ SDP_MID_SRC_CANCEL, SDP_MIB_SRC_AVAIL_CANCEL_SENT,
	  SDP_MIB_SRC_AVAIL_CANCEL_RECEIVED },
	{ SDP_MID_SINK_CANCEL, SDP_MIB_SINK_AVAIL_CANCEL_SENT,
	  SDP_MIB_SINK_AVAIL_CANCEL_RECEIVED },
	{ SDP_MID_SINK_CANCEL_ACK, SDP_MIB_SINK_CANCEL_ACK_SENT,
	  SDP_MIB_SINK_CANCEL_ACK_RECEIVED },
	{ SDP_MID_CH_RCV_BUF, SDP_MIB_CH_RCV_BUF_SENT,
	  SDP_MIB_CH_RCV_BUF_RECEIVED },
	{ SDP_MID_CH_RCV_BUF_ACK, SDP_MIB_CH_RCV_BUF_ACK_SENT,
	  SDP_MIB_CH_RCV_BUF_ACK_RECEIVED },
	{ SDP_MID_SUSP_COMM, SDP_MIB_SUSP_COMM_SENT,
	  SDP_MIB_SUSP_COMM_RECEIVED },
	{ SDP_MID_SUSP_COMM_ACK, SDP_MIB_SUSP_COMM_ACK_SENT,
	  SDP_MIB_SUSP_COMM_ACK_RECEIVED },
};

/**
 * sdp_count_message - count a message by its id
 * @sk: the socket
 * @mid: the message id
 * @sent: we sent it
 *
 * Context: socket lock, process or softirq.
 */
void sdp_count_message(struct sock *sk, u8 mid, bool sent)
{
	struct sdp_mib __percpu *mib = sdp_sk(sk)->mib;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(message_items); i++) {
		if (message_items[i].mid != mid)
			continue;
		SNMP_INC_STATS(mib, sent ? message_items[i].sent :
				    message_items[i].received);
		return;
	}
	sdp_count(sk, OTHER_RECEIVED);
}

/**
 * sdp_count_rule - a rule was broken
 * @net: the namespace to count it in
 * @violation: the rule
 *
 * Context: any.
 */
void sdp_count_rule(struct net *net, enum sdp_violation violation)
{
	SNMP_INC_STATS(sdp_pernet(net)->mib, SDP_MIB_VIOLATION + violation);
}

/**
 * sdp_count_violation - the peer broke a rule, or aborted: count and log it
 * @sk: the socket, whose connection the core has just failed
 *
 * Context: socket lock, process or softirq.
 */
void sdp_count_violation(struct sock *sk)
{
	enum sdp_violation violation = sdp_sk(sk)->conn.violation;
	struct inet_sock *inet = inet_sk(sk);

	if (violation == SDP_V_NONE) {
		sdp_count(sk, RESET_BY_PEER);
		return;
	}
	sdp_count(sk, RESET_VIOLATION);
	sdp_count_rule(sock_net(sk), violation);
	net_warn_ratelimited("%s: %pI4:%u broke rule %s, connection reset\n",
			     KBUILD_MODNAME, &inet->inet_daddr,
			     ntohs(inet->inet_dport),
			     sdp_violation_name(violation));
}

/**
 * sdp_count_disconnect - a DREQ came: was that a reset?
 * @sk: the socket, before the core hears of it
 *
 * Context: socket lock, process.
 */
void sdp_count_disconnect(struct sock *sk)
{
	struct sdp_conn *conn = &sdp_sk(sk)->conn;

	if (!conn->rx_fin && conn->state != SDP_CLOSE)
		sdp_count(sk, RESET_BY_PEER);
}

static int stats_show(struct seq_file *seq, void *v)
{
	struct sdp_net *sn = sdp_pernet(seq_file_single_net(seq));
	int i;

	for (i = 0; mib_items[i].name; i++)
		seq_printf(seq, "%s %lu\n", mib_items[i].name,
			   snmp_fold_field((void __percpu *)sn->mib,
					   mib_items[i].entry));
	for (i = 1; i < SDP_V_COUNT; i++)
		seq_printf(seq, "Violation%s %lu\n", sdp_violation_name(i),
			   snmp_fold_field((void __percpu *)sn->mib,
					   SDP_MIB_VIOLATION + i));
	return 0;
}

/* ---- Namespaces --------------------------------------------------------- */

static int __net_init proc_net_init(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);

	spin_lock_init(&sn->lock);
	INIT_HLIST_HEAD(&sn->sockets);
	sn->mib = alloc_percpu(struct sdp_mib);
	if (!sn->mib)
		return -ENOMEM;
	if (!proc_create_net("sdp", 0444, net->proc_net, &sockets_ops,
			     sizeof(struct seq_net_private)))
		goto free_mib;
	if (!proc_create_net_single("sdpstats", 0444, net->proc_net, stats_show,
				    NULL))
		goto remove_sockets;
	return 0;

remove_sockets:
	remove_proc_entry("sdp", net->proc_net);
free_mib:
	free_percpu(sn->mib);
	return -ENOMEM;
}

static void __net_exit proc_net_exit(struct net *net)
{
	remove_proc_entry("sdpstats", net->proc_net);
	remove_proc_entry("sdp", net->proc_net);
	free_percpu(sdp_pernet(net)->mib);
}

static struct pernet_operations proc_net_ops = {
	.init	= proc_net_init,
	.exit	= proc_net_exit,
	.id	= &sdp_net_id,
	.size	= sizeof(struct sdp_net),
};

/**
 * sdp_proc_init - statistics and /proc of every namespace; part of module init
 *
 * Return: 0 or a negative errno.
 */
int sdp_proc_init(void)
{
	return register_pernet_subsys(&proc_net_ops);
}

/**
 * sdp_proc_exit - part of module exit
 */
void sdp_proc_exit(void)
{
	unregister_pernet_subsys(&proc_net_ops);
}
