/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef _TESTS_LINUX_STDDEF_H
#define _TESTS_LINUX_STDDEF_H

#include <stddef.h>

#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))

#endif
