// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tests of the event queue once more, of queues that have a ring.
 */

#define COMPCH_SUITE compch_ring_kunit
#define COMPCH_TEST_RINGS 7
#define QUEUE_SUITE_NAME "compch_ring"
#include "compch_queue_kunit.c"
