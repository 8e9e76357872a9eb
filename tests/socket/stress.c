#include "harness.h"
const struct test_case stress_cases[0];
const size_t stress_count;
