// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A device without the extension, or with one that the library does not know,
 * has stock channels, without a word.
 */
#include "fake.h"

static void stock(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	int i;

	for (i = 0; i < 2; i++) {
		errno = 4711;
		channel = ibv_create_comp_channel(context);
		CHECK(channel != NULL);
		CHECK_EQ(errno, 4711);
		CHECK_EQ(fake.stock_channels, 1);
		CHECK_EQ(fake.channels, 0);
		cq = ibv_create_cq(context, 1, NULL, channel, 0);
		CHECK(cq != NULL);
		CHECK(fake.cq_channel == channel);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		attr.channel = channel;
		cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &attr));
		CHECK(cq != NULL);
		CHECK(fake.cq_channel == channel);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	}
	fake.fail_create_comp_channel = EMFILE;
	CHECK_NULL(ibv_create_comp_channel(context), EMFILE);
	fake.fail_create_comp_channel = 0;
	CHECK_EQ(ibv_close_device(context), 0);
	CHECK_EQ(fake.calls[FAKE_ASSOC_CREATE], 0);
}

/* Without /sys, the device itself is asked: once, and no channel is made. */
static void no_sysfs(void)
{
	static const int answers[] = {
		EPROTONOSUPPORT, ENOTTY, EINVAL, EIO, EPERM,
	};
	struct ibv_comp_channel *channel;
	struct ibv_context *context;
	struct ibv_cq *cq;
	size_t i;
	int asked;

	fake.no_sysfs = true;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		fake.fail[FAKE_CHANNEL_QUERY] = answers[i];
		fake.calls[FAKE_CHANNEL_QUERY] = 0;
		fake.calls[FAKE_CHANNEL_CREATE] = 0;
		stock();
		CHECK_EQ(fake.calls[FAKE_CHANNEL_QUERY], 1);
		CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 0);
	}

	fake.fail[FAKE_CHANNEL_QUERY] = 0;
	fake.wrong_driver_ids = 0;
	context = fake_context(0);
	errno = 4711;
	channel = ibv_create_comp_channel(context);
	CHECK_EQ(errno, 4711);
	CHECK(channel != NULL);
	CHECK(fake_is_ours(channel->fd));
	asked = fake.wrong_driver_ids;
	CHECK_EQ(asked, FAKE_DRIVER_ID);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(fake.assocs, 1);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(fake.wrong_driver_ids, asked);
	CHECK_EQ(ibv_close_device(context), 0);
	fake.no_sysfs = false;
}

void test(void)
{
	static const char *const bad[] = {
		NULL, "", "0\n", "2\n", "4294967297\n", "x\n", "1 x\n", "\n",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake.abi_version = bad[i];
		stock();
	}
	fake.abi_version = "1\n";
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (i == 2 || i == 3)
			continue; /* good driver IDs */
		fake.driver_id = bad[i];
		stock();
	}
	CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 0);

	/* Not asked a second time on the same context. */
	fake.driver_id = "17\n";
	fake.fail[FAKE_CHANNEL_CREATE] = EPROTONOSUPPORT;
	stock();
	CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 1);
	fake.fail[FAKE_CHANNEL_CREATE] = ENOTTY;
	stock();
	CHECK_EQ(fake.calls[FAKE_CHANNEL_CREATE], 2);
	fake.fail[FAKE_CHANNEL_CREATE] = 0;

	/* Where /sys has the device, it is not asked. */
	CHECK_EQ(fake.calls[FAKE_CHANNEL_QUERY], 0);
	no_sysfs();
}
