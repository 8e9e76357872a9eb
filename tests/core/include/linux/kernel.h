/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's helpers that the core uses, for the host. */
#ifndef _TESTS_LINUX_KERNEL_H
#define _TESTS_LINUX_KERNEL_H

#include <linux/byteorder/generic.h> /* as the kernel's does */
#include <linux/byteorder/generic.h>
#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))

#endif
