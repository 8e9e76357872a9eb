// SPDX-License-Identifier: GPL-2.0
/* The sending side of connected QPs, RC and UC. */
#include "ib_loop.h"

#define NO_TIMEOUT_RETRY	(HZ / 10) /* a QP without a timeout tries for ever */
#define RNR_FOREVER		7

static bool is_rc(const struct rvt_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_RC;
}

static bool may_send(const struct rvt_qp *qp)
{
	return ib_rvt_state_ops[qp->state] & RVT_PROCESS_NEXT_SEND_OK;
}

/* The port that the QP's packets arrive at, or NULL; under RCU. */
static struct ilp_port *find_port(struct rvt_qp *sqp)
{
	u16 dlid = rdma_ah_get_dlid(&sqp->remote_ah_attr);
	struct ilp_port *sp = qp_port(sqp);
	struct ilp_port *peer = rcu_dereference(sp->peer);

	if (!ilp_active(sp))
		return NULL;
	if (ilp_port_has_lid(sp, dlid))
		return sp;
	if (peer && ilp_active(peer) && ilp_port_has_lid(peer, dlid))
		return peer;
	return NULL;
}

/* The QP at the other end, or NULL where packets get lost; under RCU. */
static struct rvt_qp *find_responder(struct rvt_qp *sqp)
{
	struct ilp_port *dp = find_port(sqp);
	struct rvt_qp *dqp;

	if (!dp || ilp_lose_message())
		return NULL;
	dqp = rvt_lookup_qpn(&dp->dev->rdi, &dp->rvp, sqp->remote_qpn);
	if (!dqp || dqp->port_num != dp->num ||
	    dqp->ibqp.qp_type != sqp->ibqp.qp_type ||
	    dqp->remote_qpn != sqp->ibqp.qp_num)
		return NULL;
	return dqp;
}

static void count(struct rvt_qp *sqp, struct rvt_qp *dqp, struct rvt_swqe *wqe)
{
	if (wqe->wr.opcode == IB_WR_RDMA_READ) /* the data goes the other way */
		swap(sqp, dqp);
	ilp_sent(qp_port(sqp), wqe->length);
	ilp_received(qp_port(dqp), wqe->length);
}

static enum ib_wc_status responder_status(enum ilp_answer answer)
{
	return answer == ILP_NAK_ACCESS ? IB_WC_LOC_PROT_ERR :
					  IB_WC_LOC_QP_OP_ERR;
}

static enum ib_wc_status requester_status(enum ilp_answer answer)
{
	switch (answer) {
	case ILP_ACK:
		return IB_WC_SUCCESS;
	case ILP_LOST:
		return IB_WC_RETRY_EXC_ERR;
	case ILP_RNR:
		return IB_WC_RNR_RETRY_EXC_ERR;
	case ILP_NAK_INVALID:
		return IB_WC_REM_INV_REQ_ERR;
	case ILP_NAK_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	default:
		return IB_WC_REM_OP_ERR;
	}
}

/* Have the other side answer a request; under RCU, without locks. */
static enum ilp_answer request(struct rvt_qp *sqp, struct rvt_swqe *wqe,
			       u8 *rnr_timer)
{
	struct ilp_request rq = { .sqp = sqp, .wqe = wqe };
	enum ilp_answer answer = ILP_LOST;
	bool established = false;
	unsigned long flags;
	struct rvt_qp *dqp;

	dqp = find_responder(sqp);
	if (!dqp)
		return ILP_LOST;
	rq.dqp = dqp;
	ilp_wqe_memory(wqe, &rq.mem);

	spin_lock_irqsave(&dqp->r_lock, flags);
	if (ib_rvt_state_ops[dqp->state] & RVT_PROCESS_RECV_OK) {
		established = dqp->state == IB_QPS_RTR &&
			      !(dqp->r_flags & RVT_R_COMM_EST);
		if (established)
			dqp->r_flags |= RVT_R_COMM_EST;
		answer = ilp_respond(&rq);
		*rnr_timer = dqp->r_min_rnr_timer;
	}
	spin_unlock_irqrestore(&dqp->r_lock, flags);

	if (established)
		ilp_qp_event(dqp, IB_EVENT_COMM_EST);
	if (answer == ILP_ACK)
		count(sqp, dqp, wqe);
	else if (answer >= ILP_NAK_INVALID)
		ilp_qp_error(dqp, responder_status(answer));
	return answer;
}

/*
 * REG_MR, and LOCAL_INV without a fence, were done when they were posted: their
 * turn to complete has come. But no copy through the key may go on after that.
 */
static enum ib_wc_status local_operation(struct rvt_qp *qp,
					 struct rvt_swqe *wqe)
{
	bool done = wqe->wr.send_flags & RVT_SEND_COMPLETION_ONLY;
	int err;

	if (wqe->wr.opcode != IB_WR_LOCAL_INV)
		return IB_WC_SUCCESS;
	err = ilp_invalidate(qp, wqe->wr.ex.invalidate_rkey, done);
	if (!done)
		atomic_dec(&qp->local_ops_pending);
	return err ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

static bool is_local(const struct rvt_swqe *wqe)
{
	return wqe->wr.opcode == IB_WR_REG_MR ||
	       wqe->wr.opcode == IB_WR_LOCAL_INV;
}

/* Carry out one work request; without locks. */
static enum ib_wc_status carry_out(struct rvt_qp *qp, struct rvt_swqe *wqe,
				   u8 *rnr_timer)
{
	enum ilp_answer answer;

	if (is_local(wqe))
		return local_operation(qp, wqe);
	rcu_read_lock();
	answer = request(qp, wqe, rnr_timer);
	rcu_read_unlock();
	/* Nobody tells the sender of a UC message what became of it. */
	return is_rc(qp) ? requester_status(answer) : IB_WC_SUCCESS;
}

/* Is the work request to be tried again, later? With both locks. */
static bool tried_again(struct rvt_qp *qp, enum ib_wc_status status,
			u8 rnr_timer)
{
	if (status == IB_WC_RETRY_EXC_ERR) {
		if (!qp->timeout) {
			ilp_retry(qp, NO_TIMEOUT_RETRY);
			return true;
		}
		if (!qp->s_retry)
			return false;
		qp->s_retry--;
		ilp_retry(qp, qp->timeout_jiffies + 1);
		return true;
	}
	if (status == IB_WC_RNR_RETRY_EXC_ERR) {
		if (!qp->s_rnr_retry)
			return false;
		if (qp->s_rnr_retry_cnt < RNR_FOREVER)
			qp->s_rnr_retry--;
		rvt_add_rnr_timer(qp, rnr_timer << IB_AETH_CREDIT_SHIFT);
		return true;
	}
	qp->s_retry = qp->s_retry_cnt;
	qp->s_rnr_retry = qp->s_rnr_retry_cnt;
	return false;
}

/**
 * ilp_rc_send - carry out what is on the send queue
 * @qp: an RC or UC QP
 *
 * Context: process.
 */
void ilp_rc_send(struct rvt_qp *qp)
{
	enum ib_wc_status status;
	struct rvt_swqe *wqe;
	unsigned long flags;
	u8 rnr_timer = 0;
	int last = 0;

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
		if (!may_send(qp)) {
			if (!(ib_rvt_state_ops[qp->state] & RVT_FLUSH_SEND))
				break;
			rvt_send_complete(qp, wqe, IB_WC_WR_FLUSH_ERR);
			continue;
		}
		if (ilp_stalled(qp))
			break;
		if (qp->s_last == qp->s_cur)
			qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
		spin_unlock(&qp->s_lock);
		spin_unlock_irqrestore(&qp->r_lock, flags);
		status = carry_out(qp, wqe, &rnr_timer);
		spin_lock_irqsave(&qp->r_lock, flags);
		spin_lock(&qp->s_lock);

		if (may_send(qp) && tried_again(qp, status, rnr_timer))
			break;
		if (!may_send(qp) && (status == IB_WC_RETRY_EXC_ERR ||
				      status == IB_WC_RNR_RETRY_EXC_ERR))
			continue; /* went to error meanwhile: flush */
		rvt_send_complete(qp, wqe, status);
		if (status != IB_WC_SUCCESS && is_rc(qp))
			last |= rvt_error_qp(qp, IB_WC_WR_FLUSH_ERR);
	}
	qp->s_flags &= ~RVT_S_BUSY;
unlock:
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	if (last)
		ilp_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}
