#include "harness.h"
const struct test_case oob_cases[0];
const size_t oob_count;
