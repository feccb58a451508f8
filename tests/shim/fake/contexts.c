// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Contexts that are closed with things on them, that end behind the library's
 * back, that lack the extension, that are imported.
 */
#include <fcntl.h>
#include <unistd.h>

#include "fake.h"

static struct ibv_cq *create_cq_ex(struct ibv_context *context,
				   struct ibv_comp_channel *channel)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.channel = channel,
		.comp_mask = 1u << 31, /* of a later version */
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	CHECK(attr.channel == channel);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

void test(void)
{
	struct ibv_context *a = fake_context(0), *b = fake_context(1), *c;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[3];
	int i;

	/* A CQ that is never destroyed does not keep its channel. */
	channel = ibv_create_comp_channel(a);
	CHECK(channel != NULL);
	cq[0] = ibv_create_cq(a, 1, NULL, channel, 0);
	cq[1] = create_cq_ex(b, channel);
	cq[2] = ibv_create_cq(b, 1, NULL, channel, 0);
	CHECK(cq[0] && cq[1] && cq[2]);
	CHECK(cq[1]->context == b);
	CHECK(fake.cq_channel != channel);
	CHECK(fake.cq_channel->context == b);
	CHECK_EQ(channel->refcnt, 3);
	CHECK_EQ(fake.stock_channels, 2);
	CHECK_EQ(ibv_destroy_cq(cq[2]), 0);
	CHECK_EQ(ibv_close_device(b), 0);
	fake_forget(cq[1]);
	fake.cqs--;
	free(cq[1]);
	CHECK_EQ(channel->refcnt, 1);
	CHECK_EQ(fake.stock_channels, 1);

	/* Nor does a channel that outlives its context need it. */
	CHECK_EQ(ibv_destroy_cq(cq[0]), 0);
	CHECK_EQ(ibv_close_device(a), 0);
	i = fake.calls[FAKE_CHANNEL_DESTROY];
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(fake.calls[FAKE_CHANNEL_DESTROY], i);

	/* One at the same address is another one. */
	for (i = 0; i < 100; i++) {
		a = fake_context(0);
		CHECK(verbs_get_ctx(a)->create_cq_ex != NULL);
		CHECK_EQ(ibv_close_device(a), 0);
		a = ibv_import_device(open("/dev/null", O_RDWR));
		CHECK(a != NULL);
		channel = ibv_create_comp_channel(a);
		CHECK(channel != NULL);
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
		fake_vanish(a);
		fake.abi_version = i % 2 ? "1\n" : NULL;
		a = fake_context(0);
		channel = ibv_create_comp_channel(a);
		CHECK_EQ(fake.stock_channels, i % 2 ? 0 : 1);
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
		CHECK_EQ(ibv_close_device(a), 0);
		fake.abi_version = "1\n";
	}

	/* A context without the extension does not take our channel. */
	a = fake_context(0);
	channel = ibv_create_comp_channel(a);
	fake.abi_version = NULL;
	c = fake_context(1);
	CHECK_NULL(ibv_create_cq(c, 1, NULL, channel, 0), EOPNOTSUPP);
	CHECK_EQ(fake.cqs, 0);
	CHECK_EQ(ibv_close_device(c), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(a), 0);
}
