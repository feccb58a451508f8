// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tests of the event queue once more, where moves are from a list to a ring.
 */

#define COMPCH_SUITE compch_ring_to_kunit
#define COMPCH_TEST_RINGS 6
#define QUEUE_SUITE_NAME "compch_ring_to"
#include "compch_queue_kunit.c"
