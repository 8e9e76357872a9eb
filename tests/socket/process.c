#include "harness.h"
const struct test_case process_cases[0];
const size_t process_count;
