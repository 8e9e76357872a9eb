/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * What a program needs to use the Sockets Direct Protocol by name.
 *
 * The kernel's own headers call family 27 AF_IB and family 28 AF_MPLS; neither
 * has sockets, so strace, SELinux and AppArmor print "ib" and "mpls" for these
 * sockets. The numbers are those that existing SDP programs use.
 */
#ifndef _UAPI_SDP_H
#define _UAPI_SDP_H

#define AF_INET_SDP		27
#define PF_INET_SDP		AF_INET_SDP
#define AF_INET6_SDP		28
#define PF_INET6_SDP		AF_INET6_SDP

/* Options of level IPPROTO_TCP that only SDP sockets know. */
#define SDP_ZCOPY_THRESH	80	/* zero copy threshold, bytes */
#define SDP_LAST_BIND_ERR	81	/* errno of the last bind(), get only */

#endif /* _UAPI_SDP_H */
