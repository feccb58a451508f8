// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A channel is inherited over fork() and lives until its last descriptor is
 * closed; events go to whoever reads first, and calls work from either process.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct reader reader;
	int chan, pipes[2];
	struct ctx ctx;
	struct cq cq;
	pid_t pid;
	char c;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 1), 0);

	check_case("read in the child");
	pid = child();
	if (!pid) {
		eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
		eq(event.cq_handle, cq.user_handle);
		eq(poll_now(chan), 0);
		_exit(abi_done());
	}
	eq(child_status(pid), 0);
	eq(poll_now(chan), 0);

	check_case("still there when the child has closed it");
	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);

	check_case("blocked in the child, fired by the parent");
	must(pipe2(pipes, O_CLOEXEC));
	pid = child();
	if (!pid) {
		eq(write(pipes[1], "r", 1), 1);
		eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
		_exit(abi_done());
	}
	eq(read(pipes[0], &c, 1), 1);
	eventually(task_blocked(pid, pid, 0));
	eq(fire(&cq, 1), 0);
	eq(child_status(pid), 0);

	if (ours) {
		check_case("calls of the child");
		pid = child();
		if (!pid) {
			eq(channel_cancel(&ctx, chan), 0);
			eq(fire(&cq, 3), 0);
			assoc_is(&cq, 3, 3, 0);
			must(assoc_destroy(&cq, 0, NULL));
			must(assoc_create(&cq, chan));
			eq(fire(&cq, 2), 0);
			/* The parent knows only that number. */
			_exit(abi_done() ? 255 : (int)cq.assoc);
		}
		cq.assoc = child_status(pid);
		ok((int)cq.assoc >= 0 && cq.assoc != 255);
		channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 1, 2, 3);
		eq(rd(chan, &event, sizeof(event)), -ECANCELED);
		eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
		eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	}

	check_case("the parent's context is gone, the child has a copy");
	must(pipe2(pipes, O_CLOEXEC));
	pid = child();
	if (!pid) {
		close(pipes[1]);
		/* The end of file: the parent has closed its descriptors. */
		eq(read(pipes[0], &c, 1), 0);
		reader_start(&reader, chan, DESC_SIZE);
		ok(!reader_done(&reader));
		eq(fire(&cq, 1), 0);
		eq(reader_end(&reader), DESC_SIZE);
		eq(cq_off(&cq), ours ? 3 : 4);
		_exit(abi_done());
	}
	close(pipes[0]);
	close(chan);
	ctx_close(&ctx);
	close(pipes[1]);
	eq(child_status(pid), 0);
	return abi_done();
}
