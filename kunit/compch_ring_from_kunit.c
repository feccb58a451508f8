// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tests of the event queue once more, where the first queue has a ring: moves are
 * from there to a list.
 */

#define COMPCH_SUITE compch_ring_from_kunit
#define COMPCH_TEST_RINGS 1
#define QUEUE_SUITE_NAME "compch_ring_from"
#include "compch_queue_kunit.c"
