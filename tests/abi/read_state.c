// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What read() and poll() do in every state of a channel, each with a blocking
 * read, with O_NONBLOCK and with RWF_NOWAIT. A stock channel has neither
 * cancels nor RWF_NOWAIT, and cannot be closed with events on it.
 */
#include "abi.h"

enum how { BLOCKING, NONBLOCK, NOWAIT };

static const char *const hows[] = { "blocking", "O_NONBLOCK", "RWF_NOWAIT" };

static struct ctx user;

static int try_read(int fd, enum how how, void *buf, size_t len)
{
	int ret;

	set_nonblock(fd, how == NONBLOCK);
	ret = how == NOWAIT ? rd_nowait(fd, buf, len) : rd(fd, buf, len);
	set_nonblock(fd, false);
	return ret;
}

static void one_state(enum how how, bool events, bool closed, int cancels)
{
	struct ib_uverbs_comp_event_desc event[4] = {};
	struct ctx maker = ctx_new(0);
	struct reader reader;
	struct cq cq = {};
	int chan = chan_new(&maker);
	int reported = 0;
	int i;

	check_case("%s, %s, %s, %d cancels", hows[how],
		   events ? "events" : "empty", closed ? "closed" : "open",
		   cancels);

	/* The CQ lives in another context than the channel, to outlive it. */
	if (events) {
		if (ours)
			cq_on(&user, &cq, chan);
		else
			cq_on(&maker, &cq, chan);
		eq(fire(&cq, 2), 0);
	}
	for (i = 0; i < cancels; i++)
		eq(channel_cancel(&maker, chan), 0);
	if (closed)
		ctx_close(&maker);
	if (ours)
		channel_is(&user, chan, closed, events, closed ? 0 : cancels,
			   events ? 2 : 0, 0);
	/* Closing lets no reader block: that is what a cancel was for. */
	if (closed)
		cancels = 0;

	/*
	 * A short buffer, whatever is queued, changes nothing.  (The kernel
	 * itself answers a vectored read of nothing.)
	 */
	for (i = how == NOWAIT; i < (int)DESC_SIZE && ours; i++)
		eq(try_read(chan, how, event, i), -EINVAL);
	if (events)
		eq(try_read(chan, how, event, DESC_SIZE - 1), -EINVAL);

	for (; cancels; cancels--) {
		eq(poll_now(chan), POLLIN);
		eq(try_read(chan, how, event, sizeof(event)), -ECANCELED);
	}
	if (events) {
		eq(poll_now(chan), POLLIN | POLLRDNORM);
		eq(try_read(chan, how, event, DESC_SIZE), DESC_SIZE);
		eq(event[0].cq_handle, cq.user_handle);
		eq(poll_now(chan), POLLIN | POLLRDNORM);
		eq(try_read(chan, how, event, sizeof(event)), DESC_SIZE);
		eq(event[0].cq_handle, cq.user_handle);
		reported = 2;
	}
	if (closed) {
		eq(poll_now(chan), POLLERR);
		eq(try_read(chan, how, event, sizeof(event)), -EIO);
		/* For good */
		eq(poll_now(chan), POLLERR);
		eq(try_read(chan, how, event, sizeof(event)), -EIO);
	} else {
		eq(poll_now(chan), 0);
		if (how != BLOCKING) {
			eq(try_read(chan, how, event, sizeof(event)), -EAGAIN);
		} else {
			reader_start(&reader, chan, DESC_SIZE);
			ok(!reader_done(&reader));
			if (!events)
				cq_on(&maker, &cq, chan);
			eq(fire(&cq, 1), 0);
			eq(reader_end(&reader), DESC_SIZE);
			eq(reader.events[0].cq_handle, cq.user_handle);
			reported++;
		}
	}
	if (ours)
		channel_is(&user, chan, closed, !!cq.ctx, 0, 0, reported);
	if (cq.ctx)
		eq(cq_off(&cq), reported);
	close(chan);
	if (!closed)
		ctx_close(&maker);
}

int main(int argc, char **argv)
{
	enum how how;
	int events, closed, cancels;

	abi_init(argc, argv, "stock compch");
	user = ctx_new(0);
	for (how = BLOCKING; how <= (ours ? NOWAIT : NONBLOCK); how++)
		for (events = 0; events <= 1; events++)
			for (closed = 0; closed <= (ours || !events); closed++)
				for (cancels = 0; cancels <= (ours ? 3 : 0);
				     cancels++)
					one_state(how, events, closed, cancels);
	return abi_done();
}
