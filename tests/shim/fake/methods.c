// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * <infiniband/compch.h>: every call that can fail does, with every errno that it
 * could; the program gets the right one, and nothing has changed.
 */
#include <sys/resource.h>
#include <infiniband/compch.h>

#include "fake.h"

static const int errors[] = {
	EIO, ENOMEM, EMFILE, EFAULT, EBADF, EBUSY, EINVAL, ENODEV, EINTR,
	EPROTONOSUPPORT, ENOENT, EAGAIN, EOVERFLOW,
};

#define EACH(error)							\
	for (size_t i_ = 0;						\
	     i_ < sizeof(errors) / sizeof(errors[0]) &&			\
		(error = errors[i_], 1); i_++)

static struct ibv_context *context;
static struct ibv_comp_channel *channel, *other, *stock;
static struct ibv_cq *cq, *plain;

static void create_channel(void)
{
	struct ibv_comp_channel *made;
	int error;

	EACH(error) {
		if (error == EPROTONOSUPPORT)
			continue;
		fake.fail[FAKE_CHANNEL_CREATE] = error;
		made = (void *)1;
		errno = 4711;
		CHECK_EQ(compch_create_channel(context, NULL, &made), error);
		CHECK_EQ(errno, 4711);
		CHECK(made == NULL);
	}
	fake.fail[FAKE_CHANNEL_CREATE] = 0;
}

/* It turns out that the device has no such method, or none at all. */
static void no_method(int answer)
{
	struct compch_channel_attr attr = { .flags = COMPCH_CHANNEL_COALESCE };
	struct ibv_comp_channel *made;
	struct ibv_context *fresh = fake_context(0);
	int error;

	fake.fail[FAKE_CHANNEL_CREATE] = answer;
	CHECK_EQ(compch_create_channel(fresh, &attr, &made), EOPNOTSUPP);
	CHECK(made == NULL);
	CHECK_EQ(compch_create_channel(fresh, NULL, &made), 0);
	CHECK_EQ(compch_is_native(made), 0);
	CHECK_EQ(compch_destroy_channel(made), 0);
	EACH(error) {
		fake.fail_create_comp_channel = error;
		errno = 4711;
		CHECK_EQ(compch_create_channel(fresh, NULL, &made), error);
		CHECK_EQ(errno, 4711);
		CHECK(made == NULL);
	}
	fake.fail_create_comp_channel = 0;
	fake.fail[FAKE_CHANNEL_CREATE] = 0;
	CHECK_EQ(ibv_close_device(fresh), 0);
}

static void query_and_cancel(void)
{
	struct compch_channel_info info;
	struct compch_cq_info cq_info;
	int error;

	errno = 4711;
	EACH(error) {
		fake.fail[FAKE_CHANNEL_QUERY] = error;
		CHECK_EQ(compch_query_channel(channel, &info), error);
		fake.fail[FAKE_CHANNEL_CANCEL] = error;
		CHECK_EQ(compch_cancel(channel), error);
		fake.fail[FAKE_ASSOC_QUERY] = error;
		CHECK_EQ(compch_query_cq(cq, &cq_info), error);
	}
	CHECK_EQ(errno, 4711);
	fake.fail[FAKE_CHANNEL_QUERY] = 0;
	fake.fail[FAKE_CHANNEL_CANCEL] = 0;
	fake.fail[FAKE_ASSOC_QUERY] = 0;
	CHECK_EQ(compch_query_channel(stock, &info), EOPNOTSUPP);
	CHECK_EQ(compch_query_cq(plain, &cq_info), EINVAL);
	CHECK_EQ(compch_query_channel(channel, &info), 0);
	CHECK_EQ(info.cancels, 0);
}

static void attach(void)
{
	int error, want;

	EACH(error) {
		want = error == EPROTONOSUPPORT ? EOPNOTSUPP : error;
		fake.fail[FAKE_ASSOC_CREATE] = error;
		errno = 4711;
		CHECK_EQ(compch_attach_cq(plain, channel), want);
		CHECK_EQ(errno, 4711);
		CHECK(plain->channel == stock);
		CHECK_EQ(channel->refcnt, 1);
	}
	fake.fail[FAKE_ASSOC_CREATE] = 0;
	CHECK_EQ(compch_attach_cq(plain, stock), EOPNOTSUPP);
	CHECK_EQ(compch_attach_cq(cq, channel), EBUSY);
	CHECK_EQ(compch_attach_cq(cq, other), EBUSY);
	CHECK_EQ(compch_attach_cq(plain, channel), 0);
	CHECK_EQ(channel->refcnt, 2);
}

static void move_and_detach(void)
{
	struct compch_assoc_destroy_resp balance;
	int error, want;

	EACH(error) {
		want = error == EPROTONOSUPPORT ? EOPNOTSUPP : error;
		fake.fail[FAKE_ASSOC_MOVE] = error;
		fake.fail[FAKE_ASSOC_DESTROY] = error;
		errno = 4711;
		CHECK_EQ(compch_move_cq(plain, other), want);
		CHECK_EQ(compch_detach_cq(plain, &balance), error);
		CHECK_EQ(errno, 4711);
		CHECK(plain->channel == channel);
		CHECK_EQ(channel->refcnt, 2);
		CHECK_EQ(other->refcnt, 0);
	}
	fake.fail[FAKE_ASSOC_MOVE] = 0;
	fake.fail[FAKE_ASSOC_DESTROY] = 0;
	CHECK_EQ(compch_move_cq(plain, stock), EOPNOTSUPP);
	CHECK_EQ(compch_move_cq(plain, channel), 0); /* where it is */
	CHECK_EQ(channel->refcnt, 2);
	CHECK_EQ(compch_move_cq(plain, other), 0);
	CHECK(plain->channel == other);
	CHECK_EQ(channel->refcnt, 1);
	CHECK_EQ(other->refcnt, 1);
	CHECK_EQ(compch_destroy_channel(other), EBUSY);
	CHECK_EQ(compch_detach_cq(plain, NULL), 0);
	CHECK(plain->channel == stock);
	CHECK_EQ(compch_detach_cq(plain, NULL), EINVAL);
	CHECK_EQ(compch_move_cq(plain, channel), EINVAL);
	CHECK_EQ(compch_destroy_channel(other), 0);
	CHECK_EQ(compch_move_cq(cq, other), EBADF);
	CHECK_EQ(compch_attach_cq(plain, other), EBADF);
	CHECK_EQ(compch_cancel(other), EBADF);
}

static void events(struct ibv_comp_channel *on)
{
	struct ibv_cq *got;
	struct ibv_wc wc;
	int error, count;

	errno = 4711;
	EACH(error) {
		if (error == EAGAIN)
			continue;
		fake.fail_read = error;
		if (on == channel)
			CHECK_EQ(compch_get_events(on, &got, 1, 0, &count),
				 error);
		fake_event(cq);
		fake_event(plain);
		CHECK_EQ(compch_get_events(on, &got, 1, -1, &count), error);
		CHECK_EQ(count, 0);
		CHECK_EQ(compch_get_events(on, &got, 1, 1000, &count), error);
		CHECK_EQ(compch_wait_cq(on == channel ? cq : plain, &wc, 1, 0,
					-1, &count), error);
		fake.fail_read = 0;
		CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
		CHECK(got == cq);
		CHECK_EQ(count, 1);
		CHECK_EQ(compch_ack(got, 1), 0);
		CHECK_EQ(compch_get_events(stock, &got, 1, 0, &count), 0);
		CHECK(got == plain);
		CHECK_EQ(compch_ack(got, 1), 0);
	}
	EACH(error) {
		fake.fail_arm = error;
		CHECK_EQ(compch_wait_cq(cq, &wc, 1, 0, -1, &count), error);
	}
	/* What some providers answer. */
	fake.fail_arm = -1;
	CHECK_EQ(compch_wait_cq(cq, &wc, 1, 0, -1, &count), EIO);
	fake.fail_arm = 0;
	fake.fail_poll = -1;
	CHECK_EQ(compch_wait_cq(cq, &wc, 1, 0, -1, &count), EIO);
	CHECK_EQ(count, 0);
	fake.fail_poll = 0;
	CHECK_EQ(errno, 4711);
}

/* For a stock channel, no file descriptor is left. */
static void no_descriptor(void)
{
	struct ibv_comp_channel *fresh;
	struct rlimit limit, none;
	struct ibv_cq *got, *on;
	struct ibv_wc wc;
	int count;

	fake.abi_version = NULL;
	context = fake_context(1);
	fake.abi_version = "1\n";
	fresh = ibv_create_comp_channel(context);
	on = ibv_create_cq(context, 1, NULL, fresh, 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 4711;
	CHECK_EQ(compch_get_events(fresh, &got, 1, 0, &count), EMFILE);
	CHECK_EQ(compch_cancel(fresh), EMFILE);
	CHECK_EQ(compch_wait_cq(on, &wc, 1, 0, 0, &count), EMFILE);
	CHECK_EQ(errno, 4711);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(compch_get_events(fresh, &got, 1, 0, &count), ETIMEDOUT);
	CHECK_EQ(ibv_destroy_cq(on), 0);
	CHECK_EQ(ibv_destroy_comp_channel(fresh), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}

void test(void)
{
	struct ibv_context *without;

	context = fake_context(0);
	fake.abi_version = NULL;
	without = fake_context(1);
	fake.abi_version = "1\n";
	channel = ibv_create_comp_channel(context);
	other = ibv_create_comp_channel(context);
	stock = ibv_create_comp_channel(without);
	CHECK(channel && other && stock);
	CHECK_EQ(compch_is_native(stock), 0);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	plain = ibv_create_cq(context, 1, NULL, stock, 0);
	CHECK(cq && plain);
	create_channel();
	no_method(EPROTONOSUPPORT);
	no_method(ENOTTY);
	query_and_cancel();
	attach();
	move_and_detach();
	events(channel);
	events(stock);
	CHECK_EQ(ibv_destroy_cq(plain), 0);
	plain = ibv_create_cq(without, 1, NULL, stock, 0);
	CHECK_EQ(compch_attach_cq(plain, channel), EOPNOTSUPP);
	CHECK_EQ(ibv_destroy_cq(plain), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_destroy_comp_channel(stock), 0);
	CHECK_EQ(ibv_close_device(without), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	no_descriptor();
}
