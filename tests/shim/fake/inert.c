// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* With COMPCH=off the library asks the kernel for nothing. */
#include "fake.h"

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	/* Too late for the library, which has read it. */
	setenv("COMPCH", "require", 1);
	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	attr.channel = channel;
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &attr));
	CHECK(cq != NULL);
	CHECK(fake.cq_channel == channel);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	CHECK_EQ(fake.opens, 0);
	CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 0);
}
