// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs that are made by functions of a provider, with all their arguments.  The
 * linker leaves the provider out where libcompch is linked before it.
 */
#include <infiniband/compch.h>

#include "fake.h"

struct mlx5dv_cq_init_attr;
struct efadv_cq_init_attr;

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *mlx5_attr);
struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa_attr,
				  uint32_t inlen);

static struct ibv_context *context;

static struct ibv_cq_ex *create(int efa, struct ibv_cq_init_attr_ex *attr)
{
	if (efa)
		return efadv_create_cq(context, attr, (void *)&fake, 4711);
	return mlx5dv_create_cq(context, attr, (void *)&fake);
}

void test(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *got;
	int efa, on, count;

	context = fake_context(0);
	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	for (efa = 0; efa < 2; efa++) {
		for (on = 0; on < 2; on++) {
			attr.channel = on ? channel : NULL;
			fake.provider_attr = NULL;
			cq = ibv_cq_ex_to_cq(create(efa, &attr));
			CHECK(cq != NULL);
			CHECK(fake.provider_attr == &fake);
			CHECK_EQ(fake.inlen, efa ? 4711 : 0);
			CHECK(cq->channel == attr.channel);
			CHECK(attr.channel == (on ? channel : NULL));
			CHECK_EQ(channel->refcnt, on);
			CHECK(!on || fake.cq_channel != channel);
			if (on) {
				fake_event(cq);
				CHECK_EQ(compch_get_events(channel, &got, 1, 0,
							   &count), 0);
				CHECK(got == cq);
				compch_ack(cq, 1);
			}
			CHECK_EQ(ibv_destroy_cq(cq), 0);
		}
		fake.fail_create_cq = EOPNOTSUPP;
		CHECK_NULL(create(efa, &attr), EOPNOTSUPP);
		fake.fail_create_cq = 0;
		fake.fail[FAKE_ASSOC_CREATE] = ENOMEM;
		CHECK_NULL(create(efa, &attr), ENOMEM);
		fake.fail[FAKE_ASSOC_CREATE] = 0;
		CHECK_EQ(fake.cqs, 0);
		CHECK_EQ(channel->refcnt, 0);
	}
	CHECK_EQ(fake.mlx5_cqs, 4);
	CHECK_EQ(fake.efa_cqs, 4);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
