// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys that came from the other side.
 *
 * rvt_rkey_ok() is for adapters whose users come through user verbs: to it rkey
 * 0 of a kernel consumer's PD is all of memory, its test of the range may wrap
 * around, and rvt_invalidate_rkey() takes a key of any PD. A peer must not get
 * that far, so a key is looked at here first.
 */
#include <linux/hash.h>

#include "ib_loop.h"

/**
 * ilp_mr_init - part of a device's setup
 * @d: the device
 */
void ilp_mr_init(struct ilp_dev *d)
{
	int i;

	for (i = 0; i < ILP_KEY_LOCKS; i++)
		spin_lock_init(&d->key_lock[i]);
}

/**
 * ilp_key_lock - the lock of this key
 * @qp: a QP of the device
 * @rkey: the key
 *
 * It is held from the check of a key to the end of the copy, so that who
 * invalidated the key and then took it knows that no copy is running.
 */
spinlock_t *ilp_key_lock(struct rvt_qp *qp, u32 rkey)
{
	struct ilp_dev *d = to_ilp(qp->ibqp.device);

	return &d->key_lock[hash_32(rkey, ilog2(ILP_KEY_LOCKS))];
}

/* The live registration of the QP's PD that has this key. Under RCU. */
static struct rvt_mregion *find_mr(struct rvt_qp *qp, u32 rkey)
{
	struct rvt_lkey_table *t = &ib_to_rvt(qp->ibqp.device)->lkey_table;
	struct rvt_mregion *mr;

	if (!rkey)
		return NULL;
	mr = rcu_dereference(t->table[rkey >> t->shift]);
	if (!mr || !READ_ONCE(mr->lkey_published) ||
	    atomic_read(&mr->lkey_invalid) || mr->lkey != rkey ||
	    mr->pd != qp->ibqp.pd)
		return NULL;
	return mr;
}

static bool covers(const struct rvt_mregion *mr, u64 addr, u32 len)
{
	return addr >= mr->iova && addr - mr->iova <= mr->length &&
	       len <= mr->length - (addr - mr->iova);
}

/**
 * ilp_rkey_ok - may the peer of this QP touch this memory?
 * @qp: the responder
 * @sge: receives the memory, with a reference
 * @len: bytes, not 0
 * @addr: the peer's address of it
 * @rkey: the peer's key
 * @access: IB_ACCESS_REMOTE_READ, _WRITE or _ATOMIC
 *
 * Context: ilp_key_lock() is held.
 */
bool ilp_rkey_ok(struct rvt_qp *qp, struct rvt_sge *sge, u32 len, u64 addr,
		 u32 rkey, int access)
{
	struct rvt_mregion *mr;
	bool ok;

	lockdep_assert_held(ilp_key_lock(qp, rkey));
	rcu_read_lock();
	mr = find_mr(qp, rkey);
	ok = mr && (mr->access_flags & access) == access &&
	     covers(mr, addr, len);
	rcu_read_unlock();
	return ok && rvt_rkey_ok(qp, sge, len, addr, rkey, access);
}

/**
 * ilp_invalidate - invalidate a key and wait until no copy goes through it
 * @qp: a QP of the key's PD
 * @rkey: the key
 * @done: rdmavt has marked it already, only wait
 *
 * Context: any. Return: 0 or -EINVAL.
 */
int ilp_invalidate(struct rvt_qp *qp, u32 rkey, bool done)
{
	spinlock_t *lock = ilp_key_lock(qp, rkey);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(lock, flags);
	if (!done) {
		rcu_read_lock();
		if (!find_mr(qp, rkey) || rvt_invalidate_rkey(qp, rkey))
			err = -EINVAL;
		rcu_read_unlock();
	}
	spin_unlock_irqrestore(lock, flags);
	return err;
}
