#include "harness.h"
const struct test_case flags_cases[0];
const size_t flags_count;
