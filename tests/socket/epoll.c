#include "harness.h"
const struct test_case epoll_cases[0];
const size_t epoll_count;
