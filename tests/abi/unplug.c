// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A device is removed while its contexts, and channels that serve it, are in
 * use: with a driver that can disassociate them at once, and ("-wait") with one
 * that waits for its users.
 */
#include "abi.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

#define CTL		"/sys/kernel/debug/compch_testdev/ctl"
#define DISASSOCIATE	"/sys/module/compch_testdev/parameters/disassociate"

/* Whatever happens in the meantime, the next test finds the devices as usual */
static void add_again(bool disassociate)
{
	eq(file_write(DISASSOCIATE, disassociate ? "Y" : "N"), 0);
	file_write(CTL, "del 0");
	eq(file_write(CTL, "add 0"), 0);
}

/* Uses a device that has come back; its driver knows nothing of the past. */
static void works(void)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx;
	struct cq cq;
	int chan;

	eventually(ctx_open(&ctx, 0) == 0);
	must(ctx_get_context(&ctx));
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(cq_off(&cq), 1);
	close(chan);
	ctx_close(&ctx);
}

static int gone(void)
{
	struct ib_uverbs_comp_event_desc events[16];
	struct epoll_event event = { .events = EPOLLIN };
	struct ctx ctx = ctx_new(0), stays = ctx_new(1), bare;
	int chan = chan_new(&ctx), idle = chan_new(&ctx);
	struct compch_channel_info info;
	struct reader blocked[3];
	struct cq cq, far, near;
	int outside = -1;
	int ep, i;

	must(ctx_open(&bare, 0));
	cq_on(&ctx, &cq, chan);
	if (ours) {
		/* A CQ of the other device on this one's channel, and v.v. */
		outside = chan_new(&stays);
		cq_on(&stays, &far, chan);
		cq_on(&ctx, &near, outside);
		eq(fire(&far, 2), 0);
		eq(fire(&near, 2), 0);
	}
	eq(fire(&cq, 3), 0);
	for (i = 0; i < 3; i++)
		reader_start(&blocked[i], idle, 64);
	ep = must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, idle, &event));
	must(fire_start(&cq, 0, "hardirq", -1));

	check_case("removal");
	eq(file_write(CTL, "del 0"), 0);
	for (i = 0; i < 3; i++)
		eq(reader_end(&blocked[i]), -EIO);
	eq(epoll_wait(ep, &event, 1, -1), 1);
	eq(event.events, EPOLLERR);
	eq(poll_now(idle), POLLERR);
	eq(rd(idle, events, sizeof(events)), -EIO);
	eq(fire(&cq, 1), -ENOENT);

	check_case("what can still be called");
	if (ours) {
		eq(channel_create(&ctx, 0), -EIO);
		eq(channel_destroy(&ctx, chan), -EIO);
		eq(channel_cancel(&ctx, chan), -EIO);
		eq(channel_query(&ctx, chan, &info), -EIO);
		eq(assoc_create(&cq, outside), -EIO);
		eq(assoc_move(&cq, outside), -EIO);
		eq(assoc_destroy(&cq, 0, NULL), -EIO);
		eq(channel_query(&bare, chan, &info), -EIO);
	}
	eq(ctx_get_context(&bare), -EIO);
	/* Of what is gone already, uverbs' own objects can be destroyed. */
	eq(cq_destroy(&cq), 0);

	check_case("its channel");
	if (ours) {
		/* The other device's events are still there. */
		channel_is(&stays, chan, COMPCH_CHANNEL_CLOSED, 1, 0, 2, 0);
		eq(poll_now(chan), POLLIN | POLLRDNORM);
		eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
		eq(events[0].cq_handle, far.user_handle);
		eq(assoc_create(&far, chan), -EBUSY);
		must(assoc_move(&far, outside));
	}
	eq(poll_now(chan), POLLERR);
	eq(rd(chan, events, sizeof(events)), -EIO);

	if (ours) {
		check_case("the other device's channel");
		channel_is(&stays, outside, COMPCH_CHANNEL_OPEN, 1, 0, 1, 0);
		eq(fire(&far, 1), 0);
		eq(rd(outside, events, sizeof(events)), 2 * DESC_SIZE);
		eq(events[0].cq_handle, far.user_handle);
		assoc_is(&far, 0, 3, 0);
	}

	check_case("the device comes back, the old files are still open");
	eq(file_write(CTL, "add 0"), 0);
	works();
	eq(poll_now(chan), POLLERR);
	if (ours)
		eq(channel_query(&ctx, chan, &info), -EIO);

	check_case("closing what is left");
	eq(close(chan), 0);
	eq(close(idle), 0);
	ctx_close(&ctx);
	ctx_close(&bare);
	if (ours)
		cq_off(&far);
	return abi_done();
}

struct removal {
	pthread_t thread;
	pid_t tid;
	bool done;
};

static void *removal_main(void *arg)
{
	struct removal *r = arg;

	__atomic_store_n(&r->tid, own_tid(), __ATOMIC_RELEASE);
	eq(file_write(CTL, "del 0"), 0);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool removal_waits(struct removal *r)
{
	pid_t tid = __atomic_load_n(&r->tid, __ATOMIC_ACQUIRE);

	return tid && task_blocked(getpid(), tid, SYS_write);
}

static bool removal_done(struct removal *r)
{
	return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE);
}

/* A removal sleeps now and then before it comes so far. */
static bool opens_no_more(void)
{
	struct ctx late;

	if (ctx_open(&late, 0) < 0)
		return true;
	ctx_close(&late);
	return false;
}

static int waits(void)
{
	struct ib_uverbs_comp_event_desc events[16];
	struct ctx ctx, stays = ctx_new(1);
	struct removal removal = {};
	struct reader reader;
	struct cq cq, far;
	int chan;

	add_again(false);
	eventually(ctx_open(&ctx, 0) == 0);
	must(ctx_get_context(&ctx));
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);
	if (ours)
		cq_on(&stays, &far, chan);
	reader_start(&reader, chan, 64);

	check_case("removal waits, and all goes on as before");
	must(-pthread_create(&removal.thread, NULL, removal_main, &removal));
	eventually(opens_no_more());
	eventually(removal_waits(&removal));
	ok(!reader_done(&reader));
	eq(fire(&cq, 1), 0);
	eq(reader_end(&reader), DESC_SIZE);
	eq(reader.events[0].cq_handle, cq.user_handle);
	if (ours) {
		int second = must(channel_create(&ctx, 0));

		must(assoc_move(&cq, second));
		eq(fire(&cq, 1), 0);
		eq(rd(second, events, sizeof(events)), DESC_SIZE);
		must(assoc_move(&cq, chan));
		eq(channel_destroy(&ctx, second), 0);
		close(second);
		eq(fire(&far, 2), 0);
		eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
	}
	ok(!removal_done(&removal));

	check_case("the context is closed");
	if (!ours)
		reader_start(&reader, chan, 64);
	ctx_close(&ctx);
	if (ours) {
		/* Its channel is still open, with an event of the other's. */
		eq(rd(chan, events, sizeof(events)), DESC_SIZE);
		eq(events[0].cq_handle, far.user_handle);
		eq(rd(chan, events, sizeof(events)), -EIO);
	} else {
		eq(reader_end(&reader), -EIO);
	}
	eq(fire(&cq, 1), -ENOENT);

	check_case("the channel is closed too");
	eq(close(chan), 0);
	eventually(removal_done(&removal));
	must(-pthread_join(removal.thread, NULL));
	if (ours) {
		/* Where the other device's CQ is, is nowhere. */
		chan = must(channel_create(&stays, 0));
		eq(fire(&far, 1), 0);
		must(assoc_move(&far, chan));
		eq(rd(chan, events, sizeof(events)), DESC_SIZE);
		cq_off(&far);
	}

	check_case("the device comes back");
	add_again(true);
	works();
	return abi_done();
}

int main(int argc, char **argv)
{
	int mode, status;
	pid_t pid;

	mode = abi_init(argc, argv, "stock compch stock-wait compch-wait");
	ours = mode % 2;
	if (ours && access("/sys/class/infiniband/compch_test0/compch", F_OK))
		skip("ib_compch is not loaded, or was loaded too late");
	pid = child();
	if (!pid)
		_exit(mode < 2 ? gone() : waits());
	status = child_status(pid);
	eq(status, 0);
	if (status)
		add_again(true);
	return abi_done();
}
