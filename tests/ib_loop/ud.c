// SPDX-License-Identifier: GPL-2.0
/* Datagrams: QP0, QP1 and UD QPs. */
#include "ib_loop.h"

#define GRH_NEXT_HDR	0x1b	/* IBA transport */
#define DATAGRAM_EXTRA	(12 + 8 + 4)	/* BTH, DETH, ICRC */

/**
 * struct datagram - a datagram on its way
 * @sp: the port that it leaves through
 * @sqp: its sender
 * @wqe: the work request
 * @attr: its address handle's
 * @dlid: where to
 * @pkey: the sender's
 */
struct datagram {
	struct ilp_port *sp;
	struct rvt_qp *sqp;
	struct rvt_swqe *wqe;
	struct rdma_ah_attr *attr;
	u16 dlid;
	u16 pkey;
};

static bool has_grh(const struct datagram *dg)
{
	return rdma_ah_get_ah_flags(dg->attr) & IB_AH_GRH;
}

/* ---- Receiving ---------------------------------------------------------- */

static bool qkey_ok(const struct datagram *dg, const struct rvt_qp *dqp)
{
	u32 qkey = rvt_get_swqe_remote_qkey(dg->wqe);

	if (dqp->ibqp.qp_num <= 1)
		return true;
	if ((int)qkey < 0) /* a controlled one: the QP's own is sent */
		qkey = dg->sqp->qkey;
	return qkey == dqp->qkey;
}

static bool pkey_ok(const struct ilp_port *dp, const struct rvt_qp *dqp,
		    u16 pkey)
{
	u16 own;

	if (dqp->ibqp.qp_num == 0)
		return true;
	if (dqp->ibqp.qp_num == 1)
		return ilp_find_pkey(dp, pkey) >= 0;
	own = READ_ONCE(dp->pkey[dqp->s_pkey_index]);
	return own & 0x7fff && !((own ^ pkey) & 0x7fff) &&
	       (own | pkey) & 0x8000;
}

/* A receive that is long enough, in dqp->r_sge; with r_lock. */
static bool get_receive(struct rvt_qp *dqp, u32 len)
{
	if (dqp->r_flags & RVT_R_REUSE_SGE)
		dqp->r_flags &= ~RVT_R_REUSE_SGE;
	else if (rvt_get_rwqe(dqp, false) <= 0)
		return false;
	if (len <= dqp->r_len)
		return true;
	dqp->r_flags |= RVT_R_REUSE_SGE; /* for the next datagram */
	return false;
}

/* The 40 bytes before the payload are reserved even without a GRH. */
static void put_grh(const struct datagram *dg, struct rvt_qp *dqp)
{
	const struct ib_global_route *r;
	struct ib_grh grh = {};
	int index;

	if (!has_grh(dg)) {
		rvt_skip_sge(&dqp->r_sge, sizeof(grh), true);
		return;
	}
	r = rdma_ah_read_grh(dg->attr);
	index = min_t(int, r->sgid_index, ILP_GUIDS - 1);
	grh.version_tclass_flow = cpu_to_be32(6 << 28 | r->traffic_class << 20 |
					      (r->flow_label & 0xfffff));
	grh.paylen = cpu_to_be16(ALIGN(dg->wqe->length, 4) + DATAGRAM_EXTRA);
	grh.next_hdr = GRH_NEXT_HDR;
	grh.hop_limit = r->hop_limit;
	grh.sgid.global.subnet_prefix = dg->sp->rvp.gid_prefix;
	grh.sgid.global.interface_id = dg->sp->guid[index];
	grh.dgid = r->dgid;
	rvt_copy_sge(dqp, &dqp->r_sge, &grh, sizeof(grh), true, false);
}

static void complete_receive(const struct datagram *dg,
			     const struct ilp_port *dp, struct rvt_qp *dqp)
{
	struct rvt_swqe *wqe = dg->wqe;
	struct ib_wc wc = {
		.wr_id = dqp->r_wr_id,
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = wqe->length + sizeof(struct ib_grh),
		.qp = &dqp->ibqp,
		.src_qp = dg->sqp->ibqp.qp_num,
		.port_num = dp->num,
		.sl = rdma_ah_get_sl(dg->attr),
		.pkey_index = max(ilp_find_pkey(dp, dg->pkey), 0),
	};

	if (has_grh(dg))
		wc.wc_flags |= IB_WC_GRH;
	if (dg->dlid == ILP_LID_PERMISSIVE && dqp->ibqp.qp_num == 0)
		wc.slid = ILP_LID_PERMISSIVE;
	else
		wc.slid = dg->sp->lid | (rdma_ah_get_path_bits(dg->attr) &
					 ((1 << dg->sp->lmc) - 1));
	if (dg->dlid < ILP_LID_MULTICAST)
		wc.dlid_path_bits = dg->dlid & ((1 << dp->lmc) - 1);
	if (wqe->wr.opcode == IB_WR_SEND_WITH_IMM) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = wqe->wr.ex.imm_data;
	}
	rvt_recv_cq(dqp, &wc, wqe->wr.send_flags & IB_SEND_SOLICITED);
}

static void drop(struct ilp_port *p)
{
	atomic64_inc(&p->count.drops);
}

/* Give one QP the datagram. */
static void receive(const struct datagram *dg, struct ilp_port *dp,
		    struct rvt_qp *dqp)
{
	struct rvt_sge_state mem;
	unsigned long flags;

	spin_lock_irqsave(&dqp->r_lock, flags);
	if (!(ib_rvt_state_ops[dqp->state] & RVT_PROCESS_RECV_OK))
		goto drop;
	if (!qkey_ok(dg, dqp)) {
		dp->rvp.qkey_violations++;
		goto drop;
	}
	if (!get_receive(dqp, dg->wqe->length + sizeof(struct ib_grh)))
		goto drop;
	put_grh(dg, dqp);
	ilp_wqe_memory(dg->wqe, &mem);
	ilp_copy(dqp, &dqp->r_sge, true, &mem, false, dg->wqe->length);
	rvt_put_ss(&dqp->r_sge);
	clear_bit(RVT_R_WRID_VALID, &dqp->r_aflags);
	complete_receive(dg, dp, dqp);
	spin_unlock_irqrestore(&dqp->r_lock, flags);
	ilp_received(dp, dg->wqe->length);
	return;
drop:
	dp->rvp.n_pkt_drops++;
	spin_unlock_irqrestore(&dqp->r_lock, flags);
	drop(dp);
}

/* ---- The way ------------------------------------------------------------ */

/* A datagram to a group arrives at a port; under RCU. */
static void arrive_multicast(const struct datagram *dg, struct ilp_port *dp)
{
	struct rvt_mcast_qp *m;
	struct rvt_mcast *mc;
	union ib_gid mgid;

	if (!has_grh(dg))
		return;
	mgid = rdma_ah_read_grh(dg->attr)->dgid;
	mc = rvt_mcast_find(&dp->rvp, &mgid, dg->dlid);
	if (!mc)
		return;
	list_for_each_entry_rcu(m, &mc->qp_list, list)
		if (m->qp != dg->sqp && pkey_ok(dp, m->qp, dg->pkey))
			receive(dg, dp, m->qp);
	if (atomic_dec_return(&mc->refcount) <= 1)
		wake_up(&mc->wait); /* somebody leaves the group */
}

/* A datagram to one QP arrives at a port; under RCU. */
static void arrive(const struct datagram *dg, struct ilp_port *dp)
{
	u32 qpn = rvt_get_swqe_remote_qpn(dg->wqe) & RVT_QPN_MASK;
	struct rvt_qp *dqp = rvt_lookup_qpn(&dp->dev->rdi, &dp->rvp, qpn);

	/* Each port has its own QP0 and QP1, but the other numbers are shared. */
	if (!dqp || dqp->port_num != dp->num ||
	    dqp->allowed_ops != IB_OPCODE_UD) {
		drop(dp);
	} else if (!pkey_ok(dp, dqp, dg->pkey)) {
		dp->rvp.pkey_violations++;
		drop(dp);
	} else {
		receive(dg, dp, dqp);
	}
}

/*
 * Where a datagram goes. Only subnet management passes a port that is not
 * ACTIVE, and only that knows the permissive LID: the other end of the cable.
 */
static void route(const struct datagram *dg, bool smp)
{
	struct ilp_port *sp = dg->sp;
	struct ilp_port *peer = rcu_dereference(sp->peer);
	bool linked = ilp_linked(sp, peer);
	bool reachable = linked && (smp || ilp_active(peer));

	if (!smp && (ilp_lose_datagram() || !ilp_active(sp)))
		return;
	if (dg->dlid == ILP_LID_PERMISSIVE) {
		if (smp && linked)
			arrive(dg, peer);
	} else if (dg->dlid >= ILP_LID_MULTICAST) {
		arrive_multicast(dg, sp);
		if (reachable)
			arrive_multicast(dg, peer);
	} else if (ilp_port_has_lid(sp, dg->dlid)) {
		arrive(dg, sp);
	} else if (reachable && ilp_port_has_lid(peer, dg->dlid)) {
		arrive(dg, peer);
	} else {
		drop(sp);
	}
}

static void transmit(struct rvt_qp *qp, struct rvt_swqe *wqe)
{
	struct ilp_port *sp = qp_port(qp);
	struct datagram dg = {
		.sp = sp,
		.sqp = qp,
		.wqe = wqe,
		.attr = rvt_get_swqe_ah_attr(wqe),
	};
	u16 index = qp->ibqp.qp_num == 1 ? rvt_get_swqe_pkey_index(wqe) :
					   qp->s_pkey_index;

	dg.dlid = rdma_ah_get_dlid(dg.attr);
	dg.pkey = READ_ONCE(sp->pkey[index % ILP_PKEYS]);
	ilp_sent(sp, wqe->length);
	rcu_read_lock();
	route(&dg, qp->ibqp.qp_num == 0);
	rcu_read_unlock();
}

/**
 * ilp_ud_send - carry out what is on the send queue
 * @qp: QP0, QP1 or a UD QP
 *
 * Context: process.
 */
void ilp_ud_send(struct rvt_qp *qp)
{
	enum ib_wc_status status;
	struct rvt_swqe *wqe;
	unsigned long flags;

	/* A CQ that overflows takes the QP down: completing needs both locks. */
	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	if (qp->s_flags & (RVT_S_BUSY | RVT_S_ANY_WAIT) ||
	    !(ib_rvt_state_ops[qp->state] & RVT_PROCESS_OR_FLUSH_SEND))
		goto unlock;
	qp->s_flags |= RVT_S_BUSY;
	while (qp->s_last != READ_ONCE(qp->s_head)) {
		smp_rmb(); /* pairs with the wmb before s_head is written */
		wqe = rvt_get_swqe_ptr(qp, qp->s_last);
		if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_NEXT_SEND_OK) {
			if (qp->s_last == qp->s_cur)
				qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
			spin_unlock(&qp->s_lock);
			spin_unlock_irqrestore(&qp->r_lock, flags);
			transmit(qp, wqe);
			spin_lock_irqsave(&qp->r_lock, flags);
			spin_lock(&qp->s_lock);
			status = IB_WC_SUCCESS;
		} else if (ib_rvt_state_ops[qp->state] & RVT_FLUSH_SEND) {
			status = IB_WC_WR_FLUSH_ERR;
		} else {
			break;
		}
		rvt_send_complete(qp, wqe, status);
	}
	qp->s_flags &= ~RVT_S_BUSY;
unlock:
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
}
