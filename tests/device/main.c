// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Merges the tables of cases, one per file, and runs them: as tests/socket. */
#include "harness.h"

#define TABLES(X) X(removal) X(module) X(churn) X(cgroup)

#define DECLARE(t) \
	extern const struct test_case t##_cases[]; \
	extern const size_t t##_count;
TABLES(DECLARE)

int main(int argc, char **argv)
{
#define TABLE(t) t##_cases,
#define COUNT(t) t##_count,
	const struct test_case *const tables[] = { TABLES(TABLE) };
	const size_t counts[] = { TABLES(COUNT) };

	return run_all(tables, counts, ARRAY_SIZE(tables), argc, argv);
}
