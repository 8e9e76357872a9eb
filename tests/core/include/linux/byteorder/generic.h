/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Byte order by arithmetic on memory: the same on every host. */
#ifndef _TESTS_LINUX_BYTEORDER_GENERIC_H
#define _TESTS_LINUX_BYTEORDER_GENERIC_H

#include <linux/types.h>

static inline __be16 cpu_to_be16(u16 value)
{
	union { u8 byte[2]; __be16 be; } u = { { value >> 8, value & 0xff } };

	return u.be;
}

static inline __be32 cpu_to_be32(u32 value)
{
	union { u8 byte[4]; __be32 be; } u = {
		{ value >> 24, value >> 16, value >> 8, value }
	};

	return u.be;
}

static inline u16 be16_to_cpu(__be16 be)
{
	union { __be16 be; u8 byte[2]; } u = { .be = be };

	return u.byte[0] << 8 | u.byte[1];
}

static inline u32 be32_to_cpu(__be32 be)
{
	union { __be32 be; u8 byte[4]; } u = { .be = be };

	return (u32)u.byte[0] << 24 | u.byte[1] << 16 | u.byte[2] << 8 |
	       u.byte[3];
}

#endif
