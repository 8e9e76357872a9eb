/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Named cases and checks; a failed check ends its case. */
#ifndef _HARNESS_H
#define _HARNESS_H

#include <stdbool.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*run)(void);
};

/* One table per file, ended by an entry without a name. */
extern const struct test setup_tests[], trace_tests[], bad_tests[];
extern const struct test legal_tests[], credit_tests[], send_tests[];
extern const struct test resize_tests[], advert_tests[], state_tests[];
extern const struct test close_tests[], pair_tests[], source_tests[];

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define CHECK(condition)						\
	do {								\
		if (!(condition))					\
			test_fail(__FILE__, __LINE__, "%s", #condition); \
	} while (0)

#define CHECK_EQ(actual, expected)					\
	do {								\
		long long actual_ = (actual), expected_ = (expected);	\
		if (actual_ != expected_)				\
			test_fail(__FILE__, __LINE__, "%s is %lld, not %s", \
				  #actual, actual_, #expected);		\
	} while (0)

/* A generator of its own: the same numbers on every host. */
uint32_t random_below(uint64_t *seed, uint32_t limit);

#endif
