#include "harness.h"
const struct test_case options_cases[0];
const size_t options_count;
