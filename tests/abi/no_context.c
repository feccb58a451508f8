// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Before GET_CONTEXT a file can do nothing: a method that takes no handle of
 * it answers EINVAL, and no handle is one of it.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct compch_channel_info info;
	struct ctx ctx, bare;
	struct cq cq, by_bare;
	int chan, closed;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	must(ctx_open(&bare, 0));
	chan = must(channel_create(&ctx, 0));
	closed = must(channel_create(&ctx, 0));
	eq(channel_destroy(&ctx, closed), 0);
	cq_on(&ctx, &cq, chan);
	by_bare = cq;
	by_bare.ctx = &bare;

	eq(channel_create(&bare, 0), -EINVAL);
	eq(channel_cancel(&bare, chan), -EINVAL);
	eq(channel_query(&bare, chan, &info), -EINVAL);
	eq(channel_destroy(&bare, chan), -EINVAL);
	eq(channel_cancel(&bare, closed), -EINVAL);
	eq(channel_destroy(&bare, closed), -EINVAL);
	eq(assoc_create(&by_bare, chan), -EINVAL);
	eq(assoc_move(&by_bare, chan), -ENOENT);
	eq(assoc_destroy(&by_bare, 0, NULL), -ENOENT);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);

	/* And once it has been opened, all of these work. */
	must(ctx_get_context(&bare));
	eq(channel_cancel(&bare, chan), 0);
	channel_is(&bare, chan, COMPCH_CHANNEL_OPEN, 1, 1, 0, 0);
	cq_off(&cq);
	eq(channel_destroy(&bare, chan), 0);
	return abi_done();
}
