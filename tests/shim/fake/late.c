// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A plugin that comes with a provider's library, after the program has begun to
 * use verbs, makes CQs with the provider's functions.
 */
#include <dlfcn.h>

#include "fake.h"

static struct ibv_cq_ex *(*create)(int efa, struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_comp_channel *channel;
	void *handle, *symbol;
	struct ibv_cq *cq;
	int efa, on;

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	CHECK(!dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_NOLOAD));
	handle = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL);
	CHECK(handle != NULL);
	symbol = dlsym(handle, "plugin");
	CHECK(symbol != NULL);
	memcpy(&create, &symbol, sizeof(create));
	for (efa = 0; efa < 2; efa++) {
		for (on = 0; on < 2; on++) {
			attr.channel = on ? channel : NULL;
			cq = ibv_cq_ex_to_cq(create(efa, context, &attr));
			CHECK(cq != NULL);
			CHECK(cq->channel == attr.channel);
			CHECK_EQ(channel->refcnt, on);
			CHECK_EQ(ibv_destroy_cq(cq), 0);
		}
	}
	CHECK_EQ(fake.mlx5_cqs, 2);
	CHECK_EQ(fake.efa_cqs, 2);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
