#include "harness.h"
const struct test_case ioctl_cases[0];
const size_t ioctl_count;
