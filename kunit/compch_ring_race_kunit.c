// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tests of concurrency once more, of queues that have a ring.
 */

#define COMPCH_SUITE compch_ring_race_kunit
#define COMPCH_TEST_RINGS 3
#define CONCURRENCY_SUITE_NAME "compch_ring_race"
#include "compch_concurrency_kunit.c"
