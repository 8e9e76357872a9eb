// SPDX-License-Identifier: GPL-2.0
/*
 * ib_loop - a software InfiniBand adapter whose two ports are joined by a cable
 *
 * For tests: a subnet manager, IPoIB, the RDMA CM and every protocol above them
 * run unchanged on a machine without InfiniBand hardware.
 *
 * Device.  An RDMA device on rdmavt, which keeps PDs, QPs, CQs, SRQs, address
 * handles and memory registrations, and checks work requests as they are
 * posted. This module is what is below that: ports, management datagrams, and
 * the engine that carries work requests out. By default ibl0 has both ports;
 * with two=1 ibl0 and ibl1 have one each.
 *
 * Port.  State, LID, GUIDs and tables as a subnet manager sets them (smp.c). It
 * comes up as INIT with LID 0, carries nothing but QP0's datagrams until it is
 * ACTIVE, and raises the events of a real one.
 *
 * Cable.  ilp_port.peer, under RCU. A packet with the port's own LID turns back
 * in the port, one with the peer's crosses, everything else is lost. There are
 * no packets, no PSNs and no MTU on a connected QP: a message arrives whole or
 * not at all, so nothing arrives twice, and ACKs are never lost.
 *
 * QP.  Posting queues a work item, one per QP, which carries out work requests
 * in order until the queue is empty (qp.c; ud.c, rc.c). Datagrams are copied
 * into every receiver. A request of a connected QP is answered by a call of
 * responder.c, which copies straight between the memory of the two consumers
 * and completes the receive; the answer decides how the send completes, or that
 * it is tried again later (RNR, timeout). So an RDMA READ or an atomic is over
 * when the next work request starts, and IB_SEND_FENCE needs nothing.
 *
 * Memory keys.  A key that came from the other side is looked at here before
 * rdmavt is asked (mr.c), because rdmavt takes rkey 0 as all of kernel memory.
 * Invalidating a key waits until no copy through it is running.
 *
 * Contexts.  Sending and responding run in the worker of the sending QP, under
 * rcu_read_lock() and with interrupts off while memory is copied. rdmavt
 * calls ilp_schedule() in any context. Management datagrams come from ib_mad's
 * worker, parameters (fault.c) from process context.
 *
 * Locks, outermost first:
 *   ilp_mutex          which devices there are
 *   rvt_qp.r_lock      of one QP; the responder's while it is given something
 *   rvt_qp.s_lock      of the same QP
 *   ilp_dev.key_lock   under a responder's r_lock, or alone
 *   rvt_cq.lock        inside rdmavt
 *   ilp_port.lock      a leaf
 * No two QPs' locks are ever nested: the requester holds none during a request,
 * RVT_S_BUSY keeps others off its queue. Events are raised without any of them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "ib_loop.h"

static bool two;
module_param(two, bool, 0444);
MODULE_PARM_DESC(two, "two adapters of one port each instead of one of two");

static struct ilp_dev *devices[ILP_MAX_DEVICES];
static DEFINE_MUTEX(ilp_mutex); /* of devices[] */

/**
 * ilp_call_devices - call a function with every adapter that is there
 * @fn: called in process context, the adapter cannot go meanwhile
 * @arg: given to @fn
 */
void ilp_call_devices(void (*fn)(struct ilp_dev *d, u64 arg), u64 arg)
{
	int i;

	mutex_lock(&ilp_mutex);
	for (i = 0; i < ILP_MAX_DEVICES; i++)
		if (devices[i])
			fn(devices[i], arg);
	mutex_unlock(&ilp_mutex);
}

/* Take the cable between this device and another one away. */
static void uncable(struct ilp_dev *d)
{
	struct ilp_port *p, *peer;
	int i;

	for (i = 0; i < d->nports; i++) {
		p = &d->port[i];
		peer = rcu_dereference_protected(p->peer,
						 lockdep_is_held(&ilp_mutex));
		if (!peer || peer->dev == d)
			continue;
		ilp_set_link(p, false);
		RCU_INIT_POINTER(peer->peer, NULL);
		RCU_INIT_POINTER(p->peer, NULL);
	}
}

/**
 * ilp_remove - take an adapter away, as in a hot unplug
 * @unit: 0 for ibl0, 1 for ibl1; may be gone already
 *
 * Returns when every consumer in the kernel has given it up; programs that have
 * it open are waited for, too.
 */
void ilp_remove(unsigned int unit)
{
	struct ilp_dev *d;

	mutex_lock(&ilp_mutex);
	d = devices[unit];
	devices[unit] = NULL;
	if (d)
		uncable(d);
	mutex_unlock(&ilp_mutex);
	if (!d)
		return;
	/* Nobody may still be looking here from the other end. */
	synchronize_rcu();
	rvt_unregister_device(&d->rdi);
	ilp_free(d);
}

static void cable(struct ilp_port *a, struct ilp_port *b)
{
	RCU_INIT_POINTER(a->peer, b);
	RCU_INIT_POINTER(b->peer, a);
}

/* Register all or none; consumes @d. */
static int __init register_all(struct ilp_dev **d, int n)
{
	int i, err;

	for (i = 0; i < n; i++) {
		err = rvt_register_device(&d[i]->rdi);
		if (err)
			goto undo;
		mutex_lock(&ilp_mutex);
		devices[i] = d[i];
		mutex_unlock(&ilp_mutex);
	}
	return 0;
undo:
	/* The registered one first: its port points at the other's. */
	if (i)
		ilp_remove(0);
	for (; i < n; i++)
		ilp_free(d[i]);
	return err;
}

static int __init ilp_init(void)
{
	int n = two ? 2 : 1;
	struct ilp_dev *d[ILP_MAX_DEVICES] = {};
	int i;

	for (i = 0; i < n; i++) {
		d[i] = ilp_alloc(i, ILP_MAX_PORTS / n);
		if (!d[i]) {
			if (i)
				ilp_free(d[0]);
			return -ENOMEM;
		}
	}
	cable(&d[0]->port[0], two ? &d[1]->port[0] : &d[0]->port[1]);
	return register_all(d, n);
}

static void __exit ilp_exit(void)
{
	ilp_remove(1);
	ilp_remove(0);
}

module_init(ilp_init);
module_exit(ilp_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Software InfiniBand adapter with two ports joined by a cable, for tests");
