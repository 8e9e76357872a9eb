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

#endif /* _SDP_COMPAT_H */
