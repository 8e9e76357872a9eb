/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The differences between the kernels that ib_sdp builds for (6.1, 6.12).
 * No other file looks at the kernel's version.
 */
#ifndef _SDP_COMPAT_H
#define _SDP_COMPAT_H

#include <linux/net.h>
#include <linux/version.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define SDP_PROTO_ACCEPT(_name) \
	struct sock *(_name)(struct sock *sk, struct proto_accept_arg *arg)
#define SDP_ACCEPT_FLAGS	(arg->flags)
#define SDP_ACCEPT_ERR		(&arg->err)
#else
#define SDP_PROTO_ACCEPT(_name) \
	struct sock *(_name)(struct sock *sk, int flags, int *err, bool kern)
#define SDP_ACCEPT_FLAGS	(flags)
#define SDP_ACCEPT_ERR		(err)
#endif

#ifdef CONFIG_MEMCG
#include <linux/memcontrol.h>

/* An accepted child is charged where its listener is. */
static inline void sdp_inherit_memcg(struct sock *child,
				     const struct sock *listener)
{
	if (!listener->sk_memcg)
		return;
	css_get(&listener->sk_memcg->css);
	child->sk_memcg = listener->sk_memcg;
}
#else
static inline void sdp_inherit_memcg(struct sock *child,
				     const struct sock *listener)
{
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <rdma/ib_verbs.h>

struct sdp_tasklet_barrier {
	struct tasklet_struct tasklet;
	struct completion ran;
};

static inline void sdp_tasklet_ran(struct tasklet_struct *tasklet)
{
	complete(&container_of(tasklet, struct sdp_tasklet_barrier,
			       tasklet)->ran);
}

static inline void sdp_tasklet_queue(void *tasklet)
{
	tasklet_schedule(tasklet);
}

/*
 * These kernels' soft-RoCE frees a CQ while the tasklet that reports its event
 * may still be queued. Tasklets run in order: when one of ours has run on each
 * CPU, those of a CQ that gets no more completions have run too.
 */
static inline void sdp_cq_events_done(struct ib_device *device)
{
	struct sdp_tasklet_barrier barrier;
	int cpu;

	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return;
	tasklet_setup(&barrier.tasklet, sdp_tasklet_ran);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		init_completion(&barrier.ran);
		smp_call_function_single(cpu, sdp_tasklet_queue,
					 &barrier.tasklet, 1);
		wait_for_completion(&barrier.ran);
		tasklet_kill(&barrier.tasklet);
	}
	cpus_read_unlock();
}
#else
static inline void sdp_cq_events_done(struct ib_device *device)
{
}
#endif

#endif /* _SDP_COMPAT_H */
