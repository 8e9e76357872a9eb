#include "harness.h"
const struct test_case close_cases[0];
const size_t close_count;
