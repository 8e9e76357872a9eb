#include "harness.h"
const struct test_case splice_cases[0];
const size_t splice_count;
