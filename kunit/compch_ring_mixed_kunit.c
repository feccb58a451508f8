// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tests of concurrency once more, where one queue has a ring and the other
 * has none.
 */

#define COMPCH_SUITE compch_ring_mixed_kunit
#define COMPCH_TEST_RINGS 1
#define CONCURRENCY_SUITE_NAME "compch_ring_mixed"
#include "compch_concurrency_kunit.c"
