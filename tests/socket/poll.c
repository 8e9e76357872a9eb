#include "harness.h"
const struct test_case poll_cases[0];
const size_t poll_count;
