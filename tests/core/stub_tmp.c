#include "harness.h"
const struct test source_tests[]={{0}};
