// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every call of the library's that can fail does, with every errno that it
 * could: the program gets the right one, and nothing is left behind.
 */
#include <fcntl.h>
#include <unistd.h>

#include "fake.h"

static const int errors[] = {
	EIO, ENOMEM, EMFILE, EFAULT, EBADF, EBUSY, EINVAL, ENODEV, EINTR,
	EPROTONOSUPPORT, ENOENT,
};

#define EACH(error)							\
	for (size_t i_ = 0;						\
	     i_ < sizeof(errors) / sizeof(errors[0]) &&			\
		(error = errors[i_], 1); i_++)

static struct ibv_context *context;
static struct ibv_comp_channel *channel;

static struct ibv_cq *create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .channel = channel };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	CHECK(attr.channel == channel);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static void create_channel(void)
{
	int error;

	EACH(error) {
		if (error == EPROTONOSUPPORT)
			continue;
		fake.fail[FAKE_CHANNEL_CREATE] = error;
		CHECK_NULL(ibv_create_comp_channel(context), error);
		CHECK_EQ(fake.stock_channels, 0);
	}
	fake.fail[FAKE_CHANNEL_CREATE] = 0;
}

static void create_cq(void)
{
	int error, want;

	/* The stock channel that every CQ is created with. */
	EACH(error) {
		fake.fail_create_comp_channel = error;
		CHECK_NULL(ibv_create_cq(context, 1, NULL, channel, 0), error);
		CHECK_NULL(create_cq_ex(), error);
		CHECK_EQ(fake.stock_channels, 0);
	}
	fake.fail_create_comp_channel = 0;
	EACH(error) {
		fake.fail_create_cq = error;
		CHECK_NULL(ibv_create_cq(context, 1, NULL, channel, 0), error);
		CHECK_NULL(create_cq_ex(), error);
	}
	fake.fail_create_cq = 0;
	EACH(error) {
		want = error == EPROTONOSUPPORT ? EOPNOTSUPP : error;
		fake.fail[FAKE_ASSOC_CREATE] = error;
		CHECK_NULL(ibv_create_cq(context, 1, NULL, channel, 0), want);
		CHECK_NULL(create_cq_ex(), want);
		CHECK_EQ(fake.cqs, 0);
	}
	fake.fail[FAKE_ASSOC_CREATE] = 0;
	CHECK_EQ(channel->refcnt, 0);
	CHECK_EQ(fake.stock_channels, 1);
}

static bool nothing_changed(int error)
{
	return error == EBUSY || error == ENOMEM || error == EFAULT ||
	       error == EINTR;
}

static void destroy_cq(void)
{
	struct ibv_cq *cq;
	int error;

	/* The association: either nothing has changed, or it is gone. */
	EACH(error) {
		cq = ibv_create_cq(context, 1, NULL, channel, 0);
		CHECK(cq != NULL);
		fake_report(cq, 2);
		fake.fail[FAKE_ASSOC_DESTROY] = error;
		if (nothing_changed(error)) {
			CHECK_EQ(ibv_destroy_cq(cq), error);
			CHECK(cq->channel == channel);
			CHECK_EQ(channel->refcnt, 1);
			CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
			fake.fail[FAKE_ASSOC_DESTROY] = 0;
			ibv_ack_cq_events(cq, 2);
			CHECK_EQ(ibv_destroy_cq(cq), 0);
		} else {
			/*
			 * The kernel refuses, since it still has it; but what
			 * comes first is that there was no wait.
			 */
			CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
			CHECK_EQ(channel->refcnt, 0);
			fake_forget(cq);
			fake.fail[FAKE_ASSOC_DESTROY] = 0;
			CHECK_EQ(ibv_destroy_cq(cq), 0);
		}
		CHECK_EQ(fake.acknowledged, 0);
		CHECK_EQ(fake.cqs, 0);
	}
}

/* libibverbs' ibv_destroy_cq() fails after the association is gone. */
static void restore_cq(void)
{
	struct ibv_cq *cq;
	int error;

	EACH(error) {
		cq = ibv_create_cq(context, 1, NULL, channel, 0);
		CHECK(cq != NULL);
		fake_report(cq, 3);
		ibv_ack_cq_events(cq, 3);
		fake.fail_destroy_cq = error;
		CHECK_EQ(ibv_destroy_cq(cq), error);
		CHECK_EQ(fake.acknowledged, 0);
		if (error == EIO) {
			/* Removed: it is nobody's any more. */
			CHECK(cq->channel != channel);
			CHECK_EQ(channel->refcnt, 0);
			CHECK_EQ(fake.assocs, 0);
			CHECK_EQ(ibv_destroy_cq(cq), error);
		} else {
			CHECK(cq->channel == channel);
			CHECK_EQ(channel->refcnt, 1);
			CHECK_EQ(fake.assocs, 1);
			/* Counted anew. */
			fake_report(cq, 1);
			ibv_ack_cq_events(cq, 1);
			CHECK_EQ(ibv_destroy_cq(cq), error);
		}
		fake.fail_destroy_cq = 0;
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK_EQ(fake.cqs, 0);
		CHECK_EQ(fake.assocs, 0);
	}

	/* And it cannot be associated again. */
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	fake.fail_destroy_cq = EBUSY;
	fake.fail[FAKE_ASSOC_CREATE] = ENOMEM;
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	CHECK_EQ(channel->refcnt, 0);
	fake.fail_destroy_cq = 0;
	fake.fail[FAKE_ASSOC_CREATE] = 0;
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

static void destroy_channel(void)
{
	int error, fd;

	EACH(error) {
		if (error == EIO || error == ENODEV || error == EBADF)
			continue;
		fake.fail[FAKE_CHANNEL_DESTROY] = error;
		CHECK_EQ(ibv_destroy_comp_channel(channel), error);
	}
	fake.fail[FAKE_CHANNEL_DESTROY] = 0;
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBADF);
	CHECK_NULL(ibv_create_cq(context, 1, NULL, channel, 0), EBADF);

	/* Removed: closed, all the same. */
	EACH(error) {
		if (error != EIO && error != ENODEV)
			continue;
		channel = ibv_create_comp_channel(context);
		fd = channel->fd;
		CHECK(fcntl(fd, F_GETFD) >= 0);
		fake.fail[FAKE_CHANNEL_DESTROY] = error;
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
		CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	}
	fake.fail[FAKE_CHANNEL_DESTROY] = 0;
}

void test(void)
{
	context = fake_context(0);
	create_channel();
	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	create_cq();
	destroy_cq();
	restore_cq();
	destroy_channel();
	CHECK_EQ(ibv_close_device(context), 0);
}
