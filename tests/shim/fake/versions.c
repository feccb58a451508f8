// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs bound to version 1.1 get libcompch's ibv_create_cq(), and ones bound
 * to version 1.0, of other structures, get libibverbs'; preloaded or linked.
 */
#include "fake.h"

void *old_create_cq(void *context, int cqe, void *cq_context, void *channel,
		    int comp_vector);
__asm__(".symver old_create_cq, ibv_create_cq@IBVERBS_1.0");

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	/* Would crash if it were to look at any of these. */
	CHECK(!old_create_cq((void *)1, 2, (void *)3, (void *)4, 5));
	CHECK_EQ(fake.old_cqs, 1);
	CHECK_EQ(fake.calls[FAKE_ASSOC_CREATE], 0);

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 1);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(fake.calls[FAKE_ASSOC_CREATE], 1);
	CHECK_EQ(fake.old_cqs, 1);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
