// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See rdma.h. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "rdma.h"

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(stderr);
	_exit(1);
}

void test_eq(const char *file, int line, const char *a_text, long long a,
	     const char *b_text, long long b)
{
	if (a != b)
		test_fail(file, line, "%s is %lld, not %s (%lld)", a_text, a,
			  b_text, b);
}

void test_skip(const char *format, ...)
{
	va_list args;

	fputs("SKIP: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	_exit(77);
}

static void deadline(int signal)
{
	static const char text[] = "the test's deadline is over\n";

	(void)signal;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

void test_deadline(unsigned int seconds)
{
	struct sigaction action = { .sa_handler = deadline };

	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
}

uint64_t test_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

void test_sleep_ms(unsigned int ms)
{
	struct timespec time = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000,
	};

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

void rdma_need_ours(struct rdma *rdma)
{
	struct ibv_comp_channel *channel;
	bool ours;

	channel = ibv_create_comp_channel(rdma->context);
	if (!channel)
		FAIL("ibv_create_comp_channel: %m");
	ours = rdma_is_ours(channel);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	if (!ours)
		test_skip("this is about our channels, and these are stock");
}

bool rdma_readable(const struct ibv_comp_channel *channel, int ms)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	int ret;

	do
		ret = poll(&pfd, 1, ms);
	while (ret < 0 && errno == EINTR);
	CHECK(ret >= 0);
	return ret;
}

void rdma_expect_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_cq *got;
	void *context;

	if (!rdma_readable(channel, 10000))
		FAIL("there is no event");
	if (ibv_get_cq_event(channel, &got, &context))
		FAIL("ibv_get_cq_event: %m");
	CHECK(got == cq);
	CHECK(context == cq->cq_context);
	ibv_ack_cq_events(got, 1);
}

void rdma_expect_completions(struct ibv_cq *cq, int count)
{
	uint64_t end = test_ms() + 10000;
	struct ibv_wc wc;
	int n;

	while (count) {
		n = ibv_poll_cq(cq, 1, &wc);
		CHECK(n >= 0);
		if (n && wc.status != IBV_WC_SUCCESS)
			FAIL("completion: %s", ibv_wc_status_str(wc.status));
		count -= n;
		if (!n && test_ms() > end)
			FAIL("%d completions are missing", count);
		if (!n)
			test_sleep_ms(1);
	}
}

void rdma_round(struct rdma *rdma, struct ibv_comp_channel *channel,
		struct ibv_cq *cq, struct ibv_qp *qp)
{
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	rdma_send(rdma, qp);
	rdma_expect_event(channel, cq);
	rdma_expect_completions(cq, 2);
}

int rdma_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	CHECK(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3; /* ".", ".." and that of dir */
}
