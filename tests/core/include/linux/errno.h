/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The numbers only; the C library's <errno.h> includes this file. */
#include <asm/errno.h>
