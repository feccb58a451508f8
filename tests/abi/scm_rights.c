// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A channel's fd is passed to another process, which reads events there and
 * associates a CQ of its own; what it had goes away with it.
 */
#include "abi.h"

#include <sys/socket.h>

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { .iov_base = "f", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	eq(sendmsg(sock, &msg, 0), 1);
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	if (msg.msg_controllen < CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* One word each way, to go on in step */
static void say(int sock, uint64_t word)
{
	eq(write(sock, &word, sizeof(word)), sizeof(word));
}

static uint64_t hear(int sock)
{
	uint64_t word = 0;

	eq(read(sock, &word, sizeof(word)), sizeof(word));
	return word;
}

static int other_process(int sock)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx = ctx_new(1);
	int chan = must(receive_fd(sock));
	struct cq cq;

	/* An event of the parent's CQ */
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	say(sock, event.cq_handle);

	must(cq_create(&ctx, &cq, -1));
	must(assoc_create(&cq, chan));
	say(sock, cq.user_handle);
	/* Until it is killed or told to end */
	while (hear(sock))
		eq(fire(&cq, 1), 0);
	return abi_done();
}

static void one_child(bool kill_it)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx = ctx_new(0);
	uint64_t handle;
	struct cq cq;
	int socks[2];
	pid_t pid;
	int chan;

	check_case(kill_it ? "killed" : "ends");
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	pid = child();
	if (!pid) {
		close(socks[0]);
		close(ctx.fd);
		_exit(other_process(socks[1]));
	}
	close(socks[1]);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &cq, chan);
	send_fd(socks[0], chan);
	eq(fire(&cq, 1), 0);
	eq(hear(socks[0]), cq.user_handle);

	handle = hear(socks[0]);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 0, 1);
	eq(channel_destroy(&ctx, chan), -EBUSY);
	say(socks[0], 1);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, handle);
	say(socks[0], 1);
	eventually(poll_now(chan) == (POLLIN | POLLRDNORM));

	/* Its unread event goes with it. */
	if (kill_it) {
		must(kill(pid, SIGKILL));
		eq(child_status(pid), -SIGKILL);
	} else {
		say(socks[0], 0);
		eq(child_status(pid), 0);
	}
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 2);
	eq(poll_now(chan), 0);
	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(cq_off(&cq), 2);
	eq(channel_destroy(&ctx, chan), 0);
	close(socks[0]);
	close(chan);
	ctx_close(&ctx);
}

int main(int argc, char **argv)
{
	abi_init(argc, argv, NULL);
	one_child(false);
	one_child(true);
	return abi_done();
}
