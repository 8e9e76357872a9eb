// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "peer_test.h"

const struct tcase cases_zcopy[] = { { } };
