// SPDX-License-Identifier: GPL-2.0
/* What the other side of a connected QP does with a request. */
#include "ib_loop.h"

/* Take a receive from the queue. */
static enum ilp_answer get_receive(struct rvt_qp *dqp, bool wr_id_only)
{
	switch (rvt_get_rwqe(dqp, wr_id_only)) {
	case 1:
		return ILP_ACK;
	case 0:
		return ILP_RNR;
	default:
		return ILP_NAK_OP;
	}
}

static void complete_receive(struct ilp_request *rq, struct ib_wc *wc)
{
	struct rvt_qp *dqp = rq->dqp;

	clear_bit(RVT_R_WRID_VALID, &dqp->r_aflags);
	wc->wr_id = dqp->r_wr_id;
	wc->status = IB_WC_SUCCESS;
	wc->byte_len = rq->wqe->length;
	wc->qp = &dqp->ibqp;
	wc->src_qp = dqp->remote_qpn;
	wc->slid = READ_ONCE(qp_port(rq->sqp)->lid);
	wc->sl = rdma_ah_get_sl(&rq->sqp->remote_ah_attr);
	wc->port_num = dqp->port_num;
	rvt_recv_cq(dqp, wc, rq->wqe->wr.send_flags & IB_SEND_SOLICITED);
}

static enum ilp_answer respond_send(struct ilp_request *rq)
{
	struct ib_wc wc = { .opcode = IB_WC_RECV };
	struct ib_send_wr *wr = &rq->wqe->wr;
	u32 len = rq->wqe->length;
	struct rvt_qp *dqp = rq->dqp;
	enum ilp_answer answer;

	answer = get_receive(dqp, false);
	if (answer != ILP_ACK)
		return answer;
	if (len > dqp->r_len)
		return ILP_NAK_INVALID;
	if (wr->opcode == IB_WR_SEND_WITH_INV) {
		if (ilp_invalidate(dqp, wr->ex.invalidate_rkey, false))
			return ILP_NAK_ACCESS;
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = wr->ex.invalidate_rkey;
	} else if (wr->opcode == IB_WR_SEND_WITH_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = wr->ex.imm_data;
	}
	ilp_copy(dqp, &dqp->r_sge, true, &rq->mem, false, len);
	rvt_put_ss(&dqp->r_sge);
	complete_receive(rq, &wc);
	return ILP_ACK;
}

static enum ilp_answer write_memory(struct ilp_request *rq)
{
	struct rvt_sge_state dst = { .num_sge = 1 };
	struct rvt_swqe *wqe = rq->wqe;
	u32 rkey = wqe->rdma_wr.rkey;
	bool ok;

	if (!wqe->length)
		return ILP_ACK; /* the key is not looked at then */
	spin_lock(ilp_key_lock(rq->dqp, rkey));
	ok = ilp_rkey_ok(rq->dqp, &dst.sge, wqe->length,
			 wqe->rdma_wr.remote_addr, rkey,
			 IB_ACCESS_REMOTE_WRITE);
	if (ok) {
		ilp_copy(rq->dqp, &dst, true, &rq->mem, false, wqe->length);
		rvt_put_ss(&dst);
	}
	spin_unlock(ilp_key_lock(rq->dqp, rkey));
	return ok ? ILP_ACK : ILP_NAK_ACCESS;
}

static enum ilp_answer respond_write(struct ilp_request *rq)
{
	struct ib_wc wc = { .opcode = IB_WC_RECV_RDMA_WITH_IMM };
	enum ilp_answer answer;

	if (!(rq->dqp->qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return ILP_NAK_INVALID;
	if (rq->wqe->wr.opcode == IB_WR_RDMA_WRITE)
		return write_memory(rq);
	answer = get_receive(rq->dqp, true);
	if (answer == ILP_ACK)
		answer = write_memory(rq);
	if (answer != ILP_ACK)
		return answer;
	wc.wc_flags = IB_WC_WITH_IMM;
	wc.ex.imm_data = rq->wqe->wr.ex.imm_data;
	complete_receive(rq, &wc);
	return ILP_ACK;
}

static enum ilp_answer respond_read(struct ilp_request *rq)
{
	struct rvt_sge_state src = { .num_sge = 1 };
	struct rvt_swqe *wqe = rq->wqe;
	u32 rkey = wqe->rdma_wr.rkey;
	bool ok;

	if (!(rq->dqp->qp_access_flags & IB_ACCESS_REMOTE_READ))
		return ILP_NAK_INVALID;
	if (!wqe->length)
		return ILP_ACK;
	spin_lock(ilp_key_lock(rq->dqp, rkey));
	ok = ilp_rkey_ok(rq->dqp, &src.sge, wqe->length,
			 wqe->rdma_wr.remote_addr, rkey,
			 IB_ACCESS_REMOTE_READ);
	if (ok) {
		/* the requester's SGEs keep their references till completion */
		ilp_copy(rq->sqp, &rq->mem, false, &src, true, wqe->length);
		rvt_put_ss(&src);
	}
	spin_unlock(ilp_key_lock(rq->dqp, rkey));
	return ok ? ILP_ACK : ILP_NAK_ACCESS;
}

static enum ilp_answer respond_atomic(struct ilp_request *rq)
{
	struct ib_atomic_wr *wr = &rq->wqe->atomic_wr;
	struct rvt_sge sge;
	u64 *p, old = 0;
	bool ok;

	if (!(rq->dqp->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC) ||
	    wr->remote_addr & 7)
		return ILP_NAK_INVALID;
	spin_lock(ilp_key_lock(rq->dqp, wr->rkey));
	ok = ilp_rkey_ok(rq->dqp, &sge, sizeof(u64), wr->remote_addr, wr->rkey,
			 IB_ACCESS_REMOTE_ATOMIC);
	if (ok) {
		p = sge.vaddr;
		if (wr->wr.opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
			old = atomic64_fetch_add(wr->compare_add,
						 (atomic64_t *)p);
		else
			old = cmpxchg64(p, wr->compare_add, wr->swap);
		rvt_put_mr(sge.mr);
	}
	spin_unlock(ilp_key_lock(rq->dqp, wr->rkey));
	if (!ok)
		return ILP_NAK_ACCESS;
	*(u64 *)rq->mem.sge.vaddr = old;
	return ILP_ACK;
}

/**
 * ilp_respond - carry out a request
 * @rq: the request
 *
 * Context: with the responder's r_lock, interrupts off. Return: the answer;
 * after a NAK the caller moves the responder to the error state.
 */
enum ilp_answer ilp_respond(struct ilp_request *rq)
{
	lockdep_assert_held(&rq->dqp->r_lock);
	switch (rq->wqe->wr.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		return respond_send(rq);
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return respond_write(rq);
	case IB_WR_RDMA_READ:
		return respond_read(rq);
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return respond_atomic(rq);
	default:
		return ILP_NAK_INVALID;
	}
}
