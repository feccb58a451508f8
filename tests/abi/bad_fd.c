// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whatever is not a channel of ours is EBADF to every method that takes one,
 * and nothing changes.
 */
#include "abi.h"

static struct ctx ctx;
static struct cq cq, loose;
static int chan;

static void no_channel(const char *what, int fd)
{
	struct compch_channel_info info;
	int fds = fd_count();

	check_case("%s", what);
	eq(channel_destroy(&ctx, fd), -EBADF);
	eq(channel_cancel(&ctx, fd), -EBADF);
	memset(&info, 0x5a, sizeof(info));
	eq(channel_query(&ctx, fd, &info), -EBADF);
	eq(info.pending, 0x5a5a5a5a5a5a5a5a);
	eq(assoc_create(&loose, fd), -EBADF);
	eq(assoc_move(&cq, fd), -EBADF);

	eq(fd_count(), fds);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
	assoc_is(&cq, 3, 1, 0);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	char path[64];
	int pipes[2];
	int fd;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &loose, -1));
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 4), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);

	no_channel("-1", -1);
	no_channel("INT_MIN", INT32_MIN);
	no_channel("INT_MAX", INT32_MAX);
	fd = must(dup(chan));
	must(close(fd));
	no_channel("closed", fd);
	must(pipe(pipes));
	no_channel("pipe, reading end", pipes[0]);
	no_channel("pipe, writing end", pipes[1]);
	fd = must(open("/dev/null", O_RDWR));
	no_channel("/dev/null", fd);
	no_channel("the uverbs file", ctx.fd);
	fd = must(stock_channel(&ctx));
	no_channel("a stock channel", fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", chan);
	fd = must(open(path, O_PATH));
	no_channel("a channel with O_PATH", fd);

	/* A handle that could be mistaken for an fd */
	check_case("a duplicate is as good");
	fd = must(dup(chan));
	eq(channel_cancel(&ctx, fd), 0);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	eq(assoc_move(&cq, fd), 0);
	eq(assoc_create(&loose, fd), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 3, 1);
	cq_off(&loose);
	cq_off(&cq);
	eq(channel_destroy(&ctx, fd), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_CLOSED, 0, 0, 0, 1);
	return abi_done();
}
