// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What read() and poll() say: each state of a channel, blocking or not, and
 * each kind of buffer.  The table is that of the interface, compch-abi.h.
 */

#define COMPCH_SUITE compch_fd_kunit
#include "compch_queue_test.h"

#include <linux/module.h>

#define COOKIE	0x1234567800000001ULL

/* What read() does instead of returning. */
#define SLEEPS	1

enum fd_buffer {
	BUF_0,
	BUF_7,
	BUF_8,
	BUF_15,
	BUF_64,
	BUF_BAD,
	BUF_COUNT,
};

static const size_t fd_sizes[BUF_COUNT] = {
	[BUF_0] = 0,
	[BUF_7] = 7,
	[BUF_8] = 8,
	[BUF_15] = 15,
	[BUF_64] = 64,
	[BUF_BAD] = 64,
};

/**
 * struct fd_case - a state and what must come of it
 * @name: of the state
 * @events: queued
 * @cancels: pending
 * @closed: afterwards
 * @poll: what poll() says
 * @blocking: what read() returns, by buffer
 * @nonblocking: the same with O_NONBLOCK or RWF_NOWAIT
 */
struct fd_case {
	const char *name;
	unsigned int events;
	unsigned int cancels;
	bool closed;
	__poll_t poll;
	ssize_t blocking[BUF_COUNT];
	ssize_t nonblocking[BUF_COUNT];
};

#define ALWAYS(...)	.blocking = __VA_ARGS__, .nonblocking = __VA_ARGS__
#define EVENTS		{ -EINVAL, -EINVAL, 8, 8, 24, -EFAULT }
#define ANY(ret)	{ [BUF_0 ... BUF_7] = -EINVAL, [BUF_8 ... BUF_BAD] = ret }

static const struct fd_case fd_cases[] = {
	{
		.name = "empty, open",
		.poll = 0,
		.blocking = ANY(SLEEPS),
		.nonblocking = ANY(-EAGAIN),
	}, {
		.name = "events, open",
		.events = 3,
		.poll = EPOLLIN | EPOLLRDNORM,
		ALWAYS(EVENTS),
	}, {
		.name = "empty, cancel, open",
		.cancels = 1,
		.poll = EPOLLIN,
		ALWAYS(ANY(-ECANCELED)),
	}, {
		.name = "events, cancels, open",
		.events = 3,
		.cancels = 2,
		.poll = EPOLLIN,
		ALWAYS(ANY(-ECANCELED)),
	}, {
		.name = "empty, closed",
		.closed = true,
		.poll = EPOLLERR,
		ALWAYS(ANY(-EIO)),
	}, {
		.name = "events, closed",
		.events = 3,
		.closed = true,
		.poll = EPOLLIN | EPOLLRDNORM,
		ALWAYS(EVENTS),
	}, {
		/* Closing drops the cancels. */
		.name = "empty, cancel, closed",
		.cancels = 1,
		.closed = true,
		.poll = EPOLLERR,
		ALWAYS(ANY(-EIO)),
	}, {
		.name = "events, cancels, closed",
		.events = 3,
		.cancels = 2,
		.closed = true,
		.poll = EPOLLIN | EPOLLRDNORM,
		ALWAYS(EVENTS),
	},
};

static void fd_case_desc(const struct fd_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fd, fd_cases, fd_case_desc);

/**
 * struct fd_state - a queue in the state that a case wants
 * @queue: the queue
 * @source: its only one
 * @reader: reads from it
 * @poll: the poll table
 * @polled: the wait queue that poll() has registered for
 */
struct fd_state {
	struct compch_queue queue;
	struct compch_source source;
	struct compch_test_reader reader;
	poll_table poll;
	wait_queue_head_t *polled;
};

static struct fd_state *fd_state_make(struct kunit *test,
				      const struct fd_case *c)
{
	struct fd_state *s;
	unsigned int i;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	compch_queue_init(&s->queue, 0, NULL);
	compch_source_init(&s->source, COOKIE);
	KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&s->source, &s->queue));
	for (i = 0; i < c->events; i++)
		KUNIT_ASSERT_TRUE(test, compch_test_fire(&s->source));
	for (i = 0; i < c->cancels; i++)
		KUNIT_ASSERT_EQ(test, 0, compch_queue_cancel(&s->queue));
	if (c->closed)
		KUNIT_ASSERT_EQ(test, 0, compch_queue_close(&s->queue, true));
	return s;
}

static void fd_state_end(struct fd_state *s)
{
	compch_queue_close(&s->queue, true);
	compch_test_reader_stop(&s->reader);
	synchronize_rcu();
}

static void fd_poll_table(struct file *file, wait_queue_head_t *head,
			  struct poll_table_struct *poll)
{
	container_of(poll, struct fd_state, poll)->polled = head;
}

static __poll_t fd_poll(struct fd_state *s)
{
	init_poll_funcptr(&s->poll, fd_poll_table);
	return compch_queue_poll(&s->queue, NULL, &s->poll);
}

/* The state after @ret came back, and what poll() says of it. */
static void fd_expect_after(struct kunit *test, const struct fd_case *c,
			    struct fd_state *s, ssize_t ret)
{
	unsigned int read = ret > 0 ? ret / sizeof(u64) : 0;
	struct compch_queue_state state;
	unsigned int cancels;
	__poll_t poll;

	cancels = c->closed ? 0 : c->cancels;
	if (ret == -ECANCELED)
		cancels--;
	if (cancels)
		poll = EPOLLIN;
	else if (c->events > read)
		poll = EPOLLIN | EPOLLRDNORM;
	else
		poll = c->closed ? EPOLLERR : 0;

	compch_queue_query(&s->queue, &state);
	KUNIT_EXPECT_EQ(test, state.pending, (u64)c->events - read);
	KUNIT_EXPECT_EQ(test, state.reported, (u64)read);
	KUNIT_EXPECT_EQ(test, state.cancels, cancels);
	KUNIT_EXPECT_EQ(test, state.closed, c->closed);
	KUNIT_EXPECT_EQ(test, fd_poll(s), poll);
}

static void fd_read(struct kunit *test, enum fd_buffer buffer, bool nonblock,
		    unsigned long bad)
{
	const struct fd_case *c = test->param_value;
	ssize_t want = nonblock ? c->nonblocking[buffer] : c->blocking[buffer];
	struct fd_state *s = fd_state_make(test, c);
	unsigned long addr = buffer == BUF_BAD ? bad : 0;
	ssize_t ret;
	int i;

	if (nonblock) {
		if (addr)
			ret = compch_test_read_user(&s->queue, addr,
						    fd_sizes[buffer], true,
						    NULL);
		else
			ret = compch_test_read(&s->queue, s->reader.cookies,
					       fd_sizes[buffer]);
	} else if (want == SLEEPS) {
		KUNIT_EXPECT_TRUE(test,
				  compch_test_reader_start(&s->reader,
							   &s->queue, addr,
							   fd_sizes[buffer]));
		ret = SLEEPS;
	} else {
		KUNIT_EXPECT_TRUE(test,
				  compch_test_reader_run(&s->reader, &s->queue,
							 addr,
							 fd_sizes[buffer]));
		KUNIT_EXPECT_TRUE(test,
				  compch_test_reader_returns(&s->reader));
		ret = s->reader.ret;
	}

	KUNIT_EXPECT_EQ_MSG(test, ret, want, "%sblocking, buffer %u",
			    nonblock ? "non" : "", buffer);
	for (i = 0; i < (int)(ret / (int)sizeof(u64)); i++)
		KUNIT_EXPECT_EQ(test, s->reader.cookies[i], COOKIE);
	fd_expect_after(test, c, s, ret == SLEEPS ? 0 : ret);
	fd_state_end(s);
}

static void fd_read_all(struct kunit *test, bool nonblock)
{
	unsigned long addr = compch_test_map(1, 1);
	int i;

	KUNIT_ASSERT_NE(test, addr, 0UL);
	for (i = 0; i < BUF_COUNT; i++)
		fd_read(test, i, nonblock, addr + PAGE_SIZE);
	compch_test_unmap(addr, 1);
}

static void fd_read_blocking(struct kunit *test)
{
	fd_read_all(test, false);
}

static void fd_read_nonblocking(struct kunit *test)
{
	fd_read_all(test, true);
}

static void fd_poll_state(struct kunit *test)
{
	const struct fd_case *c = test->param_value;
	struct fd_state *s = fd_state_make(test, c);
	int i;

	/* It changes nothing, so says the same twice. */
	for (i = 0; i < 2; i++) {
		s->polled = NULL;
		KUNIT_EXPECT_EQ(test, fd_poll(s), c->poll);
		KUNIT_EXPECT_PTR_EQ(test, s->polled, &s->queue.pollers);
	}
	/* Without a table, as for the second round of poll(). */
	KUNIT_EXPECT_EQ(test, compch_queue_poll(&s->queue, NULL, NULL),
			c->poll);
	fd_state_end(s);
}

/* poll() says nothing exactly if a read would find nothing. */
static void fd_poll_agrees(struct kunit *test)
{
	const struct fd_case *c = test->param_value;
	struct fd_state *s = fd_state_make(test, c);
	__poll_t poll;
	ssize_t ret;
	int i;

	for (i = 0; i < 8; i++) {
		poll = fd_poll(s);
		ret = compch_test_read(&s->queue, s->reader.cookies, 8);
		KUNIT_EXPECT_EQ_MSG(test, !poll, ret == -EAGAIN, "read %d", i);
		KUNIT_EXPECT_EQ_MSG(test, !!(poll & EPOLLERR), ret == -EIO,
				    "read %d", i);
		KUNIT_EXPECT_EQ_MSG(test, !!(poll & EPOLLRDNORM), ret == 8,
				    "read %d", i);
	}
	fd_state_end(s);
}

static struct kunit_case fd_test_cases[] = {
	KUNIT_CASE_PARAM(fd_read_blocking, fd_gen_params),
	KUNIT_CASE_PARAM(fd_read_nonblocking, fd_gen_params),
	KUNIT_CASE_PARAM(fd_poll_state, fd_gen_params),
	KUNIT_CASE_PARAM(fd_poll_agrees, fd_gen_params),
	{}
};

static struct kunit_suite fd_suite = {
	.name = "compch_fd",
	.suite_init = compch_test_get_mm,
	.suite_exit = compch_test_put_mm,
	.test_cases = fd_test_cases,
};

kunit_test_suite(fd_suite);

MODULE_DESCRIPTION("KUnit tests of read() and poll() on a completion channel");
MODULE_LICENSE("Dual BSD/GPL");
