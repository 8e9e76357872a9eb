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
	hlist_add_head(&ssk->net_node, &sn->sockets);
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
	hlist_del_init(&sdp_sk(sk)->net_node);
	spin_unlock_bh(&sn->lock);
}

static void *sockets_start(struct seq_file *seq, loff_t *pos)
	__acquires(&sn->lock)
{
	struct sdp_net *sn = sdp_pernet(seq_file_net(seq));

	spin_lock_bh(&sn->lock);
	return seq_hlist_start_head(&sn->sockets, *pos);
}

static void *sockets_next(struct seq_file *seq, void *v, loff_t *pos)
{
	return seq_hlist_next(v, &sdp_pernet(seq_file_net(seq))->sockets, pos);
}

static void sockets_stop(struct seq_file *seq, void *v)
	__releases(&sn->lock)
{
	spin_unlock_bh(&sdp_pernet(seq_file_net(seq))->lock);
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

static const char * const mib_names[SDP_MIB_VIOLATION] = {
#define SDP_MIB_NAME(name) [SDP_MIB_##name] = #name,
	SDP_MIBS(SDP_MIB_NAME)
#undef SDP_MIB_NAME
};

/* Counters of a message id: sent, received. */
static const struct {
	u8 mid;
	enum sdp_mib_item sent;
	enum sdp_mib_item received;
} message_items[] = {
#define MESSAGE_ITEM(mid, name) \
	{ SDP_MID_##mid, SDP_MIB_##name##Sent, SDP_MIB_##name##Received }
	MESSAGE_ITEM(DATA, Data),
	MESSAGE_ITEM(SRC_AVAIL, SrcAvail),
	MESSAGE_ITEM(SINK_AVAIL, SinkAvail),
	MESSAGE_ITEM(DISCONN, DisConn),
	MESSAGE_ITEM(ABORT, AbortConn),
	MESSAGE_ITEM(SEND_SM, SendSm),
	MESSAGE_ITEM(RDMA_WR_COMPL, RdmaWrCompl),
	MESSAGE_ITEM(RDMA_RD_COMPL, RdmaRdCompl),
	MESSAGE_ITEM(MODE_CHANGE, ModeChange),
	MESSAGE_ITEM(SRC_CANCEL, SrcAvailCancel),
	MESSAGE_ITEM(SINK_CANCEL, SinkAvailCancel),
	MESSAGE_ITEM(SINK_CANCEL_ACK, SinkCancelAck),
	MESSAGE_ITEM(CH_RCV_BUF, ChRcvBuf),
	MESSAGE_ITEM(CH_RCV_BUF_ACK, ChRcvBufAck),
	MESSAGE_ITEM(SUSP_COMM, SuspComm),
	MESSAGE_ITEM(SUSP_COMM_ACK, SuspCommAck),
#undef MESSAGE_ITEM
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
	struct sdp_mib __percpu *mib = sdp_pernet(sock_net(sk))->mib;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(message_items); i++) {
		if (message_items[i].mid != mid)
			continue;
		SNMP_INC_STATS(mib, sent ? message_items[i].sent :
				    message_items[i].received);
		return;
	}
	sdp_count(sk, OtherReceived);
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
		sdp_count(sk, ResetByPeer);
		return;
	}
	sdp_count(sk, ResetViolation);
	SNMP_INC_STATS(sdp_pernet(sock_net(sk))->mib,
		       SDP_MIB_VIOLATION + violation);
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
		sdp_count(sk, ResetByPeer);
}

static int stats_show(struct seq_file *seq, void *v)
{
	struct sdp_net *sn = sdp_pernet(seq_file_single_net(seq));
	int i;

	for (i = 0; i < SDP_MIB_VIOLATION; i++)
		seq_printf(seq, "%s %lu\n", mib_names[i],
			   snmp_fold_field((void __percpu *)sn->mib, i));
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
