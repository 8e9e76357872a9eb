// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the protocol core on the host: sdp_proto.c and sdp_hello.c as the
 * module compiles them. An argument runs only cases whose name starts with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static jmp_buf out;
static char why[512];

void test_fail(const char *file, int line, const char *format, ...)
{
	const char *slash = strrchr(file, '/');
	va_list args;
	int n = snprintf(why, sizeof(why), "%s:%d: ",
			 slash ? slash + 1 : file, line);

	va_start(args, format);
	vsnprintf(why + n, sizeof(why) - n, format, args);
	va_end(args);
	longjmp(out, 1);
}

uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33) % limit;
}

static const struct test * const tables[] = {
	setup_tests, trace_tests, bad_tests, legal_tests, credit_tests,
	send_tests, resize_tests, advert_tests, state_tests, close_tests,
	pair_tests, source_tests,
};

static bool run(const struct test *test)
{
	if (setjmp(out)) {
		printf("not ok %s: %s\n", test->name, why);
		return false;
	}
	test->run();
	printf("ok %s\n", test->name);
	return true;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	unsigned int passed = 0, failed = 0;
	const struct test *test;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned int i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (test = tables[i]; test->name; test++) {
			if (strncmp(test->name, only, strlen(only)))
				continue;
			if (run(test))
				passed++;
			else
				failed++;
		}
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
