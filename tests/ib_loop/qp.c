// SPDX-License-Identifier: GPL-2.0
/* What all kinds of QPs share: when a send queue runs, errors, copying. */
#include "ib_loop.h"

/**
 * ilp_qp_event - raise an asynchronous event of a QP
 * @qp: the QP, unlocked
 * @type: the event
 */
void ilp_qp_event(struct rvt_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/**
 * ilp_qp_error - move a QP to the error state
 * @qp: the QP, unlocked
 * @err: status of a receive that was begun
 */
void ilp_qp_error(struct rvt_qp *qp, enum ib_wc_status err)
{
	unsigned long flags;
	int last;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	last = rvt_error_qp(qp, err);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	if (last)
		ilp_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/**
 * ilp_copy - copy from memory to memory
 * @qp: the QP that @dst belongs to
 * @dst: to, advanced
 * @put_dst: drop the references of what was filled
 * @src: from, advanced
 * @put_src: drop the references of what was read
 * @len: bytes; both have as many
 */
void ilp_copy(struct rvt_qp *qp, struct rvt_sge_state *dst, bool put_dst,
	      struct rvt_sge_state *src, bool put_src, u32 len)
{
	u32 n;

	while (len) {
		n = rvt_get_sge_length(&src->sge, len);
		rvt_copy_sge(qp, dst, src->sge.vaddr, n, put_dst, false);
		rvt_update_sge(src, n, put_src);
		len -= n;
	}
}

/**
 * ilp_wqe_memory - the memory of a send work request
 * @wqe: the work request, which keeps its references
 * @ss: receives the memory
 */
void ilp_wqe_memory(struct rvt_swqe *wqe, struct rvt_sge_state *ss)
{
	ss->sge = wqe->sg_list[0];
	ss->sg_list = wqe->sg_list + 1;
	ss->num_sge = wqe->wr.num_sge;
	ss->total_len = wqe->length;
}

/* ---- When a send queue runs --------------------------------------------- */

static bool is_ud(struct rvt_qp *qp)
{
	return qp->allowed_ops == IB_OPCODE_UD;
}

static void run_queue(struct work_struct *work)
{
	struct ilp_qp *q = container_of(to_delayed_work(work), struct ilp_qp,
					work);
	struct rvt_qp *qp = q->qp;
	unsigned long flags;

	spin_lock_irqsave(&qp->s_lock, flags);
	qp->s_flags &= ~RVT_S_WAIT_ACK;
	spin_unlock_irqrestore(&qp->s_lock, flags);
	if (is_ud(qp))
		ilp_ud_send(qp);
	else
		ilp_rc_send(qp);
}

/**
 * ilp_schedule - there is something to do on the QP's send queue
 * @qp: the QP
 *
 * Context: any, with or without s_lock.
 */
bool ilp_schedule(struct rvt_qp *qp)
{
	struct workqueue_struct *wq = to_ilp(qp->ibqp.device)->wq;
	struct ilp_qp *q = qp->priv;

	if (qp->state == IB_QPS_RESET)
		return false;
	if (qp->state == IB_QPS_ERR) /* flush now, whatever it waits for */
		return mod_delayed_work(wq, &q->work, 0);
	return queue_delayed_work(wq, &q->work,
				  is_ud(qp) ? 0 : ilp_send_delay());
}

/**
 * ilp_retry - run the queue again later, and not before
 * @qp: the QP, with s_lock held
 * @delay: in jiffies
 */
void ilp_retry(struct rvt_qp *qp, unsigned long delay)
{
	struct ilp_qp *q = qp->priv;

	lockdep_assert_held(&qp->s_lock);
	qp->s_flags |= RVT_S_WAIT_ACK;
	mod_delayed_work(to_ilp(qp->ibqp.device)->wq, &q->work, delay);
}

static void schedule_send(struct rvt_qp *qp)
{
	ilp_schedule(qp);
}

/* ---- What rdmavt asks --------------------------------------------------- */

static void *priv_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct ilp_qp *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return ERR_PTR(-ENOMEM);
	q->qp = qp;
	INIT_DELAYED_WORK(&q->work, run_queue);
	return q;
}

static void priv_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	kfree(qp->priv);
}

static void stop_queue(struct rvt_qp *qp)
{
	struct ilp_qp *q = qp->priv;

	cancel_delayed_work_sync(&q->work);
}

static void nothing(struct rvt_qp *qp)
{
}

static void restart_rc(struct rvt_qp *qp, u32 psn, int wait)
{
}

static unsigned int free_all_qps(struct rvt_dev_info *rdi)
{
	return 0;
}

static int pmtu_from_attr(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			  struct ib_qp_attr *attr)
{
	if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > ILP_MTU)
		return -EINVAL;
	return attr->path_mtu;
}

static u32 mtu_from_qp(struct rvt_dev_info *rdi, struct rvt_qp *qp, u32 pmtu)
{
	return ib_mtu_enum_to_int(pmtu);
}

static int mtu_to_path_mtu(u32 mtu)
{
	return mtu ? ib_mtu_int_to_enum(mtu) : IB_MTU_256;
}

static int setup_wqe(struct rvt_qp *qp, struct rvt_swqe *wqe, bool *call_send)
{
	if (is_ud(qp) && wqe->length > ib_mtu_enum_to_int(ILP_MTU))
		return -EINVAL;
	return 0;
}

/**
 * ilp_qp_ops - fill in rdmavt's callbacks about QPs
 * @f: the callbacks; some are called without a look whether they are there
 */
void ilp_qp_ops(struct rvt_driver_provided *f)
{
	f->qp_priv_alloc = priv_alloc;
	f->qp_priv_free = priv_free;
	f->notify_qp_reset = nothing;
	f->flush_qp_waiters = nothing;
	f->notify_error_qp = nothing;
	f->stop_send_queue = stop_queue;
	f->quiesce_qp = stop_queue;
	f->notify_restart_rc = restart_rc;
	f->free_all_qps = free_all_qps;
	f->schedule_send = ilp_schedule;
	f->schedule_send_no_lock = ilp_schedule;
	f->do_send = schedule_send;
	f->get_pmtu_from_attr = pmtu_from_attr;
	f->mtu_from_qp = mtu_from_qp;
	f->mtu_to_path_mtu = mtu_to_path_mtu;
	f->setup_wqe = setup_wqe;
}
