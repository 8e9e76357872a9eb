// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Turns a program's TCP sockets into SDP ones: LD_PRELOAD=preload.so PROGRAM.
 * For the tests only. An IPv6 stream socket fails, so that a program falls
 * back to IPv4 instead of quietly using TCP.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define AF_INET_SDP 27

int socket(int family, int type, int protocol)
{
	static int (*next)(int family, int type, int protocol);
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (!next)
		next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	if (kind == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP)) {
		if (family == AF_INET)
			family = AF_INET_SDP;
		if (family == AF_INET6) {
			errno = EAFNOSUPPORT;
			return -1;
		}
	}
	return next(family, type, protocol);
}
