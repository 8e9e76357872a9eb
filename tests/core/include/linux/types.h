/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The kernel's integer types, for the host. */
#ifndef _TESTS_LINUX_TYPES_H
#define _TESTS_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __u16, __be16;
typedef uint32_t u32, __u32, __be32;
typedef uint64_t u64, __u64, __be64;
typedef int32_t s32, __s32;

#endif
