#include "harness.h"
const struct test_case memory_cases[0];
const size_t memory_count;
