/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A queue to be tested, and threads that read from it.  To be included once by
 * a suite, which gets a queue core of its own: the suites can be built into one
 * kernel, beside the module.
 */
#ifndef _COMPCH_QUEUE_TEST_H
#define _COMPCH_QUEUE_TEST_H

#ifndef COMPCH_SUITE
#error "define COMPCH_SUITE as the name of the suite"
#endif

#define COMPCH_OWN_2(suite, name)	suite ## _ ## name
#define COMPCH_OWN_1(suite, name)	COMPCH_OWN_2(suite, name)
#define COMPCH_OWN(name)		COMPCH_OWN_1(COMPCH_SUITE, name)
#define compch_queue_cancel	COMPCH_OWN(queue_cancel)
#define compch_queue_close	COMPCH_OWN(queue_close)
#define compch_queue_init	COMPCH_OWN(queue_init)
#define compch_queue_poll	COMPCH_OWN(queue_poll)
#define compch_queue_post	COMPCH_OWN(queue_post)
#define compch_queue_query	COMPCH_OWN(queue_query)
#define compch_queue_read	COMPCH_OWN(queue_read)
#define compch_queue_repair	COMPCH_OWN(queue_repair)
#define compch_queue_take_merged	COMPCH_OWN(queue_take_merged)
#define compch_queue_take_taken	COMPCH_OWN(queue_take_taken)
#define compch_queue_wake	COMPCH_OWN(queue_wake)
#define compch_queue_watch	COMPCH_OWN(queue_watch)
#define compch_source_attach	COMPCH_OWN(source_attach)
#define compch_source_detach	COMPCH_OWN(source_detach)
#define compch_source_fire_traced	COMPCH_OWN(source_fire_traced)
#define compch_source_init	COMPCH_OWN(source_init)
#define compch_source_move	COMPCH_OWN(source_move)
#define compch_source_query	COMPCH_OWN(source_query)

#define COMPCH_QUEUE_ALONE
#include "../drivers/infiniband/compch/queue.c"

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

/*
 * Which queues of a suite have a ring, by their number: a suite can be built
 * again with others, for all must be the same.
 */
#ifndef COMPCH_TEST_RINGS
#define COMPCH_TEST_RINGS	0
#endif

/* A ring for the queue with this number, or NULL if it is to have none */
static inline struct compch_ring *compch_test_ring(struct kunit *test,
						   unsigned int number, u32 cqs)
{
	struct compch_ring *ring;
	void *shared;

	if (!(COMPCH_TEST_RINGS & BIT(number)))
		return NULL;
	ring = kunit_kzalloc(test, sizeof(*ring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring);
	ring->own = kunit_kcalloc(test, cqs, sizeof(*ring->own), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring->own);
	ring->unused = kunit_kcalloc(test, cqs, sizeof(*ring->unused),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring->unused);
	ring->unpushed = kunit_kcalloc(test, BITS_TO_LONGS(cqs), sizeof(long),
				       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring->unpushed);
	ring->queued = kunit_kcalloc(test, BITS_TO_LONGS(cqs), sizeof(long),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring->queued);
	shared = kunit_kzalloc(test, compch_ring_size(cqs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, shared);
	compch_ring_init(ring, shared, cqs);
	return ring;
}

/* Nothing here takes a second, unless the machine is busy. */
#define COMPCH_TEST_DEADLINE	(10 * HZ)

/*
 * Is @condition true, or does it become so before the deadline?  What it tells
 * must be a fact by itself: this only waits for other threads to get there.
 */
#define compch_test_until(condition)					\
({									\
	unsigned long __end = jiffies + COMPCH_TEST_DEADLINE;		\
	bool __true;							\
									\
	while (!(__true = (condition)) && time_before(jiffies, __end))	\
		schedule_timeout_uninterruptible(1);			\
	__true;								\
})

/* --- firing ---------------------------------------------------------------- */

/* Fires as the handler of a CQ does. */
static inline bool compch_test_fire(struct compch_source *source)
{
	bool fired;

	rcu_read_lock();
	fired = compch_source_fire(source);
	rcu_read_unlock();
	return fired;
}

/* --- reading --------------------------------------------------------------- */

/* Reads into kernel memory, without blocking. */
static inline ssize_t compch_test_read(struct compch_queue *queue, void *buf,
				       size_t size)
{
	struct kvec kvec = { .iov_base = buf, .iov_len = size };
	struct iov_iter to;

	iov_iter_kvec(&to, READ, &kvec, 1, size);
	return compch_queue_read(queue, &to, true);
}

/*
 * Reads one event, without blocking: its cookie.  Cookies of tests are small
 * positive numbers, so a negative errno is none.
 */
static inline s64 compch_test_next(struct compch_queue *queue)
{
	u64 cookie = 0;
	ssize_t ret = compch_test_read(queue, &cookie, sizeof(cookie));

	return ret < 0 ? ret : ret == sizeof(cookie) ? cookie : 0;
}

/*
 * The address space for tests of buffers in user space: of the process that
 * loads the module, or a new one in a kernel that has the tests built in.  To be
 * called by suite_init(), and compch_test_put_mm() by suite_exit().
 */
static struct mm_struct *compch_test_mm;

static inline int compch_test_get_mm(struct kunit_suite *suite)
{
#ifdef MODULE
	compch_test_mm = get_task_mm(current);
#else
	compch_test_mm = mm_alloc();
	if (compch_test_mm)
		arch_pick_mmap_layout(compch_test_mm,
				      &current->signal->rlim[RLIMIT_STACK]);
#endif
	return compch_test_mm ? 0 : -ENOMEM;
}

static inline void compch_test_put_mm(struct kunit_suite *suite)
{
	/* Newer kernels come here even if there is none. */
	if (compch_test_mm)
		mmput(compch_test_mm);
}

/*
 * Maps @pages empty pages of user memory, with one after them that is not
 * there.  Of those only the first @present are not left to be faulted in.
 *
 * Return: the address, or 0.
 */
static inline unsigned long compch_test_map(unsigned int pages,
					    unsigned int present)
{
	unsigned long size = (pages + 1) * PAGE_SIZE;
	unsigned long addr;

	kthread_use_mm(compch_test_mm);
	addr = vm_mmap(NULL, 0, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(addr) ||
	    vm_munmap(addr + pages * PAGE_SIZE, PAGE_SIZE) ||
	    (present && clear_user((void __user *)addr, present * PAGE_SIZE)))
		addr = 0;
	kthread_unuse_mm(compch_test_mm);
	return addr;
}

static inline void compch_test_unmap(unsigned long addr, unsigned int pages)
{
	kthread_use_mm(compch_test_mm);
	vm_munmap(addr, pages * PAGE_SIZE);
	kthread_unuse_mm(compch_test_mm);
}

/* Reads into user memory, and copies what is there afterwards to @buf. */
static inline ssize_t compch_test_read_user(struct compch_queue *queue,
					    unsigned long addr, size_t size,
					    bool nonblock, void *buf)
{
	struct iovec iov = {
		.iov_base = (void __user *)addr,
		.iov_len = size,
	};
	struct iov_iter to;
	ssize_t ret;

	kthread_use_mm(compch_test_mm);
	iov_iter_init(&to, READ, &iov, 1, size);
	ret = compch_queue_read(queue, &to, nonblock);
	if (ret > 0 && buf && copy_from_user(buf, iov.iov_base, ret))
		ret = 0;
	kthread_unuse_mm(compch_test_mm);
	return ret;
}

/* --- threads that read ---------------------------------------------------- */

/**
 * struct compch_test_reader - a thread that reads once
 * @queue: where
 * @task: the thread
 * @done: it has read
 * @addr: user memory to read to, or 0
 * @into: kernel memory to read to instead of @cookies, or NULL
 * @size: how much it reads
 * @ret: what read returned
 * @cookies: what it has read
 */
struct compch_test_reader {
	struct compch_queue *queue;
	struct task_struct *task;
	struct completion done;
	unsigned long addr;
	void *into;
	size_t size;
	ssize_t ret;
	u64 cookies[64];
};

static inline int compch_test_reader_main(void *arg)
{
	struct compch_test_reader *reader = arg;
	struct kvec kvec = {
		.iov_base = reader->into ?: reader->cookies,
		.iov_len = reader->size,
	};
	struct iov_iter to;

	allow_signal(SIGUSR1);
	allow_signal(SIGIO);
	allow_signal(SIGKILL);
	if (reader->addr) {
		reader->ret = compch_test_read_user(reader->queue, reader->addr,
						    reader->size, false,
						    reader->cookies);
	} else {
		iov_iter_kvec(&to, READ, &kvec, 1, reader->size);
		reader->ret = compch_queue_read(reader->queue, &to, false);
	}
	flush_signals(current);
	complete(&reader->done);

	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* How many readers are blocked that nothing has woken yet? */
static inline unsigned int compch_test_blocked(struct compch_queue *queue)
{
	struct compch_reader *reader;
	unsigned int n = 0;

	spin_lock_irq(&queue->pollers.lock);
	list_for_each_entry(reader, &queue->readers, node)
		n++;
	spin_unlock_irq(&queue->pollers.lock);
	return n;
}

/* Is this the one that the next event wakes? */
static inline bool compch_test_is_oldest(struct compch_test_reader *reader)
{
	struct compch_queue *queue = reader->queue;
	struct compch_reader *first;
	bool is;

	spin_lock_irq(&queue->pollers.lock);
	first = list_first_entry_or_null(&queue->readers, struct compch_reader,
					 node);
	is = first && first->task == reader->task;
	spin_unlock_irq(&queue->pollers.lock);
	return is;
}

/* Starts a thread that reads @size bytes, to @addr in user space if not 0. */
static inline bool compch_test_reader_run(struct compch_test_reader *reader,
					  struct compch_queue *queue,
					  unsigned long addr, size_t size)
{
	struct task_struct *task;

	reader->queue = queue;
	reader->addr = addr;
	reader->size = size;
	init_completion(&reader->done);
	task = kthread_run(compch_test_reader_main, reader, "compch_reader");
	if (IS_ERR(task))
		return false;
	reader->task = task;
	return true;
}

/* The same, with nothing to be read: returns when the thread is blocked. */
static inline bool compch_test_reader_start(struct compch_test_reader *reader,
					    struct compch_queue *queue,
					    unsigned long addr, size_t size)
{
	unsigned int blocked = compch_test_blocked(queue);

	return compch_test_reader_run(reader, queue, addr, size) &&
	       compch_test_until(compch_test_blocked(queue) > blocked);
}

/* Has it returned, or does it before the deadline? */
static inline bool compch_test_reader_returns(struct compch_test_reader *reader)
{
	return wait_for_completion_timeout(&reader->done, COMPCH_TEST_DEADLINE);
}

/* The queue must be closed. */
static inline void compch_test_reader_stop(struct compch_test_reader *reader)
{
	if (reader->task)
		kthread_stop(reader->task);
	reader->task = NULL;
}

#endif /* _COMPCH_QUEUE_TEST_H */
