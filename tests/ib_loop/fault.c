// SPDX-License-Identifier: GPL-2.0
/*
 * Faults on demand: module parameters, which can be written at any time in
 * /sys/module/ib_loop/parameters.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>

#include "ib_loop.h"

static uint drop_ud;
module_param(drop_ud, uint, 0644);
MODULE_PARM_DESC(drop_ud, "lose every Nth datagram, QP0's excepted (0: none)");

static uint rc_drop;
module_param(rc_drop, uint, 0644);
MODULE_PARM_DESC(rc_drop, "lose every Nth message of connected QPs (0: none)");

static uint rc_delay_ms;
module_param(rc_delay_ms, uint, 0644);
MODULE_PARM_DESC(rc_delay_ms, "delay each run of a connected QP's send queue");

static uint stall_qpn;

static atomic_t datagrams = ATOMIC_INIT(0), messages = ATOMIC_INIT(0);

static bool nth(atomic_t *count, uint n)
{
	return n && (uint)atomic_inc_return(count) % n == 0;
}

/**
 * ilp_lose_datagram - is this the datagram to be lost?
 */
bool ilp_lose_datagram(void)
{
	return nth(&datagrams, READ_ONCE(drop_ud));
}

/**
 * ilp_lose_message - is this the message of a connected QP to be lost?
 */
bool ilp_lose_message(void)
{
	return nth(&messages, READ_ONCE(rc_drop));
}

/**
 * ilp_send_delay - how long posted work requests of connected QPs wait, jiffies
 */
unsigned long ilp_send_delay(void)
{
	return msecs_to_jiffies(READ_ONCE(rc_delay_ms));
}

/**
 * ilp_stalled - is this connected QP's send queue held?
 * @qp: the QP
 */
bool ilp_stalled(struct rvt_qp *qp)
{
	uint n = READ_ONCE(stall_qpn);

	return n == 1 || (n && n == qp->ibqp.qp_num);
}

static void kick_qp(struct rvt_qp *qp, u64 arg)
{
	ilp_schedule(qp);
}

static void kick_all(struct ilp_dev *d, u64 arg)
{
	rvt_qp_iter(&d->rdi, arg, kick_qp);
}

static int stall_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint(val, kp);

	if (!err)
		ilp_call_devices(kick_all, 0);
	return err;
}

static const struct kernel_param_ops stall_ops = {
	.set = stall_set,
	.get = param_get_uint,
};
module_param_cb(rc_stall_qpn, &stall_ops, &stall_qpn, 0644);
MODULE_PARM_DESC(rc_stall_qpn, "hold this connected QP's sends (1: all's, 0: go on)");

static void fail_qp(struct rvt_qp *qp, u64 qpn)
{
	if (qp->ibqp.qp_num != qpn)
		return;
	ilp_qp_error(qp, IB_WC_FATAL_ERR);
	ilp_qp_event(qp, IB_EVENT_QP_FATAL);
}

static void fail_qps(struct ilp_dev *d, u64 qpn)
{
	rvt_qp_iter(&d->rdi, qpn, fail_qp);
}

static int qp_err_set(const char *val, const struct kernel_param *kp)
{
	uint qpn;
	int err = kstrtouint(val, 0, &qpn);

	if (!err)
		ilp_call_devices(fail_qps, qpn);
	return err;
}

static const struct kernel_param_ops qp_err_ops = { .set = qp_err_set };
module_param_cb(qp_err, &qp_err_ops, NULL, 0200);
MODULE_PARM_DESC(qp_err, "move the QP of this number to the error state");

static void pull_cable(struct ilp_dev *d, u64 up)
{
	ilp_set_link(&d->port[0], up);
}

static int link_set(const char *val, const struct kernel_param *kp)
{
	bool up;
	int err = kstrtobool(val, &up);

	if (!err)
		ilp_call_devices(pull_cable, up);
	return err;
}

static const struct kernel_param_ops link_ops = { .set = link_set };
module_param_cb(link, &link_ops, NULL, 0200);
MODULE_PARM_DESC(link, "0: pull the cable, 1: plug it in");

static int remove_set(const char *val, const struct kernel_param *kp)
{
	uint unit;
	int err = kstrtouint(val, 0, &unit);

	if (err)
		return err;
	if (unit >= ILP_MAX_DEVICES)
		return -EINVAL;
	ilp_remove(unit);
	return 0;
}

static const struct kernel_param_ops remove_ops = { .set = remove_set };
module_param_cb(remove, &remove_ops, NULL, 0200);
MODULE_PARM_DESC(remove, "0 or 1: take that adapter away, as in a hot unplug");
