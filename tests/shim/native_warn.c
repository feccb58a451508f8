// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What ibv_destroy_cq() says, and does, when acknowledgements are missing:
 * COMPCH_DESTROY_WARN_MS and COMPCH_AUTO_ACK.  Each way is a child process.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

static struct native_cq n;
static int returned;

static void destroy(void *arg)
{
	(void)arg;
	CHECK_EQ(ibv_destroy_cq(n.cq), 0);
	__atomic_store_n(&returned, 1, __ATOMIC_SEQ_CST);
}

/* In the child: three events, of which one is acknowledged */
static int child(const char *device, const char *line)
{
	struct ibv_comp_channel *channel;
	struct native_thread t;
	struct ibv_cq *got;
	char want[256], text[512];
	struct rdma rdma;
	int ends[2], saved, count, i;
	ssize_t len;

	test_deadline(60);
	rdma_open(&rdma, device);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	native_cq(&rdma, &n, channel);
	for (i = 0; i < 3; i++) {
		native_event(&rdma, &n);
		CHECK_EQ(compch_get_events(channel, &got, 1, -1, &count), 0);
	}
	compch_ack(n.cq, 1);
	CHECK_EQ(ibv_destroy_qp(n.qp), 0);
	snprintf(want, sizeof(want), "CQ %u of %s ", n.cq->handle,
		 ibv_get_device_name(rdma.context->device));

	CHECK_EQ(pipe(ends), 0);
	saved = dup(STDERR_FILENO);
	CHECK(saved >= 0);
	CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	native_start(&t, destroy, NULL);
	if (!strcmp(line, "line")) {
		len = read(ends[0], text, sizeof(text) - 1);
		CHECK(len > 0);
		text[len] = '\0';
	}
	if (strcmp(line, "auto")) {
		/* Long enough for a second line, or for one that is wrong */
		test_sleep_ms(600);
		CHECK(!__atomic_load_n(&returned, __ATOMIC_SEQ_CST));
		ibv_ack_cq_events(n.cq, 1);
		compch_ack(n.cq, 1);
	}
	native_join(&t);
	CHECK_EQ(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	if (!strcmp(line, "line")) {
		CHECK(strstr(text, want));
		/* Their lower half: the model adds to the upper one. */
		CHECK(strstr(text, "3 events reported") ||
		      strstr(text, "4294967299 events reported"));
		CHECK(strstr(text, ", 1 acknowledged") ||
		      strstr(text, ", 4294967297 acknowledged"));
		CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	}
	CHECK_EQ(read(ends[0], text, sizeof(text)), 0); /* that is all */
	close(ends[0]);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}

/* The variables, what it must do about it, and what it says of their values */
static void way(char **argv, const char *warn_ms, const char *auto_ack,
		const char *line, const char *want)
{
	char text[1024] = "";
	size_t size = 0;
	ssize_t len;
	int ends[2], status;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		setenv("COMPCH_DESTROY_WARN_MS", warn_ms, 1);
		setenv("COMPCH_AUTO_ACK", auto_ack, 1);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(argv[0], argv[0], argv[1], line, NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((len = read(ends[0], text + size, sizeof(text) - 1 - size)) > 0)
		size += len;
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status || strcmp(text, want))
		FAIL("WARN_MS='%s' AUTO_ACK='%s' %s: status 0x%x, said '%s'",
		     warn_ms, auto_ack, line, status, text);
}

#define NO_NUMBER(name, value, max, using)				\
	"libcompch: " name "=" value " is not a number of at most " max	\
	"; using " using "\n"
#define NO_MS(value)							\
	NO_NUMBER("COMPCH_DESTROY_WARN_MS", value, "4294967295", "5000")
#define NO_FLAG(value) NO_NUMBER("COMPCH_AUTO_ACK", value, "1", "0")

int main(int argc, char **argv)
{
	struct rdma rdma;

	test_deadline(120);
	CHECK(argc > 1);
	if (argc > 2)
		return child(argv[1], argv[2]);
	rdma_open(&rdma, argv[1]);
	native_need_ours(&rdma);
	rdma_close(&rdma);
	way(argv, "50", "0", "line", "");
	way(argv, "50", "", "line", "");
	way(argv, "0", "", "silent", "");
	way(argv, "", "1", "auto", "");
	way(argv, "1", "1", "auto", "");
	way(argv, "x", "", "silent", NO_MS("x"));
	way(argv, "-1", "", "silent", NO_MS("-1"));
	way(argv, " 5", "", "silent", NO_MS(" 5"));
	way(argv, "5s", "", "silent", NO_MS("5s"));
	way(argv, "4294967296", "", "silent", NO_MS("4294967296"));
	way(argv, "99999999999999999999", "", "silent",
	    NO_MS("99999999999999999999"));
	way(argv, "50", "2", "line", NO_FLAG("2"));
	way(argv, "yes", "no", "silent", NO_MS("yes") NO_FLAG("no"));
	return 0;
}
