// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_uring by liburing: the operations that a server would use.  Each event is
 * read exactly once, whatever is cancelled or times out meanwhile, and no thread
 * is made to wait for one.
 */
#include "abi.h"

#include <dirent.h>
#include <liburing.h>
#include <sys/mman.h>

#define CQS	3
#define EVENTS	500	/* of a CQ, in traffic */
#define BATCH	64
#define MASK	(POLLIN | POLLRDNORM)

/* Headers of liburing may be older than the kernel. */
#define OP_READ_MULTISHOT 49

typedef struct ib_uverbs_comp_event_desc event_t;

struct done {
	uint64_t id;
	int res;
	unsigned int flags;
};

static const char *const contexts[] = { "process", "softirq", "hardirq" };
static struct io_uring ring;
static struct ctx ctx;
static int chan;
static struct cq cqs[CQS];
static long long seen[CQS];
static event_t buf[BATCH];

/* --- the ring -------------------------------------------------------------- */

static void ring_new(struct io_uring *r, unsigned int flags)
{
	int ret = io_uring_queue_init(64, r, flags);

	if (ret == -ENOSYS || ret == -EPERM)
		skip("io_uring: %s", strerror(-ret));
	must(ret);
}

static struct io_uring_sqe *sqe_new(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	must(sqe ? 0 : -EBUSY);
	return sqe;
}

static void submit(struct io_uring_sqe *sqe, uint64_t id)
{
	sqe->user_data = id;
	eq(io_uring_submit(&ring), 1);
}

/* Runs what is due, and tells how many have completed. */
static int completed(void)
{
	must(io_uring_get_events(&ring));
	return io_uring_cq_ready(&ring);
}

static struct done completion(void)
{
	struct io_uring_cqe *cqe;
	struct done done;

	eventually(completed() > 0);
	must(io_uring_peek_cqe(&ring, &cqe));
	done.id = cqe->user_data;
	done.res = cqe->res;
	done.flags = cqe->flags;
	io_uring_cqe_seen(&ring, cqe);
	return done;
}

/* One completion, which must be this */
#define completes(want_id, want_res) do {			\
	struct done done_ = completion();			\
								\
	eq(done_.id, want_id);					\
	eq(done_.res, want_res);				\
	eq(done_.flags & IORING_CQE_F_MORE, 0);			\
} while (0)

/* Two of them, in any order */
static void two(struct done *a, struct done *b)
{
	struct done done = completion();

	*(done.id == a->id ? a : b) = done;
	done = completion();
	*(done.id == a->id ? a : b) = done;
}

static void submit_read(int fd, void *to, size_t len, uint64_t id)
{
	struct io_uring_sqe *sqe = sqe_new();

	io_uring_prep_read(sqe, fd, to, len, -1);
	submit(sqe, id);
}

static void submit_poll_multi(int fd, uint64_t id)
{
	struct io_uring_sqe *sqe = sqe_new();

	io_uring_prep_poll_multishot(sqe, fd, MASK);
	submit(sqe, id);
}

static void submit_cancel(uint64_t which, uint64_t id)
{
	struct io_uring_sqe *sqe = sqe_new();

	io_uring_prep_cancel64(sqe, which, 0);
	submit(sqe, id);
}

/* Memory that can be registered: that of a file cannot. */
static void *anonymous(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(map == MAP_FAILED ? -errno : 0);
	return map;
}

static void register_buffers(const struct iovec *iov, unsigned int n)
{
	int ret = io_uring_register_buffers(&ring, iov, n);

	if (ret == -ENOMEM)
		skip("no memory may be locked");
	must(ret);
}

/* Threads that io_uring has made to wait for us */
static int workers(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], comm[64];
	struct dirent *entry;
	int n = 0;

	must(dir ? 0 : -errno);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 entry->d_name);
		if (file_read(path, comm, sizeof(comm)) > 0 &&
		    !strncmp(comm, "iou-wrk-", 8))
			n++;
	}
	closedir(dir);
	return n;
}

/* --- events ---------------------------------------------------------------- */

static void count(const event_t *events, int len)
{
	int i, j;

	if (!ok(len > 0 && len % DESC_SIZE == 0)) {
		eq(len, DESC_SIZE);
		return;
	}
	for (i = 0; i < len / (int)DESC_SIZE; i++) {
		for (j = 0; j < CQS; j++)
			if (events[i].cq_handle == cqs[j].user_handle)
				break;
		if (ok(j < CQS))
			seen[j]++;
	}
}

static long long total(void)
{
	return seen[0] + seen[1] + seen[2];
}

/* Reads what there is, as an event loop does.  The channel may block. */
static int take(void)
{
	struct cq *const all[] = { &cqs[0], &cqs[1], &cqs[2] };

	return must(drain(chan, all, CQS, seen));
}

static void traffic_start(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		must(fire_start(&cqs[i], EVENTS, contexts[i],
				i % cpus_online()));
}

static void traffic_stop(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		must(fire_stop(&cqs[i]));
}

/* Events one by one, slower, for requests that do not always find one there */
static void *drizzle(void *arg)
{
	int i;

	for (i = 0; i < EVENTS; i++) {
		eq(fire(&cqs[i % CQS], 1), 0);
		sched_yield();
	}
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return NULL;
}

static void nothing_is_left(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		eq(seen[i], fired(&cqs[i]));
	eq(completed(), 0);
	eq(poll_now(chan), 0);
	eq(workers(), 0);
}

static void start(void)
{
	int i;

	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	for (i = 0; i < CQS; i++)
		cq_on(&ctx, &cqs[i], chan);
	memset(seen, 0, sizeof(seen));
}

static void end(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		eq(cq_off(&cqs[i]), seen[i]);
	eq(close(chan), 0);
	ctx_close(&ctx);
}

/* --- multishot poll: the same on either ------------------------------------ */

/* There is one or more.  Returns whether each says that more will come. */
static bool poll_completions(uint64_t id)
{
	struct done done;
	bool more = true;

	do {
		done = completion();
		eq(done.id, id);
		eq(done.res, MASK);
		more = more && done.flags & IORING_CQE_F_MORE;
	} while (completed());
	return more;
}

static void polls(uint64_t id)
{
	ok(poll_completions(id));
}

/*
 * The same where the edges may be more than the ring has room for: the kernel
 * ends the request then, and it is for the program to make another.
 */
static void polls_or_ends(uint64_t id)
{
	while (!poll_completions(id)) {
		submit_poll_multi(chan, id);
		if (!completed())
			break;
	}
}

static void multishot_poll(void)
{
	struct done poll = { .id = 1 }, other = { .id = 2 };
	int i;

	check_case("multishot poll");
	submit_poll_multi(chan, 1);
	eq(completed(), 0);
	for (i = 0; i < 6; i++) {
		eq(fire_in(&cqs[i % CQS], 1, contexts[i % 3], -1), 0);
		polls(1);
		/* Readable still, but that is no edge. */
		eq(completed(), 0);
		eq(poll_now(chan), MASK);
		/* One more is. */
		if (i % 2)
			continue;
		eq(take(), i ? 2 : 1);
		eq(completed(), 0);
	}
	eq(take(), 1);
	eq(completed(), 0);

	check_case("multishot poll: a batch");
	eq(fire(&cqs[0], 10), 0);
	eq(fire(&cqs[1], 10), 0);
	polls(1);
	eq(take(), 20);
	eq(completed(), 0);

	check_case("multishot poll: a second one");
	eq(fire(&cqs[2], 1), 0);
	polls(1);
	submit_poll_multi(chan, 2);
	polls(2);
	eq(take(), 1);
	submit_cancel(2, 3);
	other.id = 3;
	poll.id = 2;
	two(&poll, &other);
	eq(poll.res, -ECANCELED);
	eq(poll.flags & IORING_CQE_F_MORE, 0);
	eq(other.res, 0);

	if (ours) {
		check_case("multishot poll: a cancel");
		eq(channel_cancel(&ctx, chan), 0);
		poll = completion();
		eq(poll.id, 1);
		eq(poll.res, POLLIN);
		eq(poll.flags & IORING_CQE_F_MORE, IORING_CQE_F_MORE);
		eq(rd(chan, buf, sizeof(buf)), -ECANCELED);
		eq(completed(), 0);
	}
	submit_cancel(1, 3);
	poll.id = 1;
	two(&poll, &other);
	eq(poll.res, -ECANCELED);
	nothing_is_left();
	end();

	/* After each edge all is taken; so if one were missing, it would hang. */
	check_case("multishot poll: traffic");
	start();
	submit_poll_multi(chan, 1);
	traffic_start();
	while (total() < CQS * EVENTS) {
		polls_or_ends(1);
		take();
	}
	traffic_stop();
	/* Maybe for an event that had been read before. */
	if (completed())
		polls_or_ends(1);
	nothing_is_left();
}

/* --- reads ----------------------------------------------------------------- */

/* What the others are compared with */
static void stock_reads(void)
{
	struct done done;
	int i;

	check_case("reads");
	eq(fire(&cqs[0], 1), 0);
	submit_read(chan, buf, sizeof(buf), 0);
	done = completion();
	count(buf, done.res);
	printf("info: after a read with an event there: %d workers\n",
	       workers());
	for (i = 0; i < 4; i++)
		submit_read(chan, &buf[i], DESC_SIZE, i);
	eq(completed(), 0);
	for (i = 0; i < 4; i++)
		eq(fire(&cqs[i % CQS], 1), 0);
	for (i = 0; i < 4; i++) {
		done = completion();
		eq(done.res, DESC_SIZE);
		count(&buf[done.id], done.res);
	}
	printf("info: after four reads that waited: %d workers\n", workers());
	for (i = 0; i < CQS; i++)
		eq(seen[i], fired(&cqs[i]));
}

static void reads(void)
{
	event_t bufs[4][BATCH];
	struct io_uring_sqe *sqe;
	struct iovec iov[3] = {
		{ .iov_base = bufs[0], .iov_len = 4 },
		{ .iov_base = (char *)bufs[0] + 4, .iov_len = 13 },
		{ .iov_base = (char *)bufs[0] + 17, .iov_len = 100 },
	};
	struct done done;
	int other, i;

	check_case("one read, many events");
	for (i = 0; i < CQS; i++)
		eq(fire(&cqs[i], 5), 0);
	submit_read(chan, buf, sizeof(buf), 1);
	completes(1, 3 * 5 * DESC_SIZE);
	count(buf, 3 * 5 * DESC_SIZE);

	check_case("a read that waits");
	submit_read(chan, buf, sizeof(buf), 1);
	eq(completed(), 0);
	eq(fire_in(&cqs[0], 1, "hardirq", -1), 0);
	completes(1, DESC_SIZE);
	count(buf, DESC_SIZE);

	check_case("one into pieces");
	sqe = sqe_new();
	io_uring_prep_readv(sqe, chan, iov, 3, -1);
	submit(sqe, 1);
	eq(completed(), 0);
	eq(fire(&cqs[0], 1), 0);
	completes(1, DESC_SIZE);
	count(bufs[0], DESC_SIZE);
	eq(fire(&cqs[1], 20), 0);
	sqe = sqe_new();
	io_uring_prep_readv(sqe, chan, iov, 3, -1);
	submit(sqe, 1);
	completes(1, 117 / DESC_SIZE * DESC_SIZE);
	count(bufs[0], 14 * DESC_SIZE);
	eq(take(), 6);

	check_case("one on each of two channels");
	other = chan_new(&ctx);
	submit_read(chan, bufs[0], sizeof(bufs[0]), 0);
	submit_read(other, bufs[1], sizeof(bufs[1]), 1);
	eq(completed(), 0);
	/* What is moved there wakes its reader. */
	eq(fire(&cqs[0], 2), 0);
	done = completion();
	eq(done.id, 0);
	count(bufs[0], done.res);
	eq(fire(&cqs[1], 3), 0);
	must(assoc_move(&cqs[1], other));
	done = completion();
	eq(done.id, 1);
	count(bufs[1], done.res);
	must(assoc_move(&cqs[1], chan));
	take();
	eq(close(other), 0);

	/* The file blocks not: io_uring waits for it all the same. */
	check_case("O_NONBLOCK");
	set_nonblock(chan, true);
	submit_read(chan, buf, sizeof(buf), 1);
	eq(completed(), 0);
	eq(fire(&cqs[0], 1), 0);
	completes(1, DESC_SIZE);
	count(buf, DESC_SIZE);
	set_nonblock(chan, false);
	nothing_is_left();
	end();

	check_case("traffic");
	start();
	for (i = 0; i < 4; i++)
		submit_read(chan, bufs[i], i % 2 ? sizeof(bufs[i]) : DESC_SIZE,
			    i);
	traffic_start();
	while (total() < CQS * EVENTS) {
		done = completion();
		count(bufs[done.id], done.res);
		submit_read(chan, bufs[done.id], done.id % 2 ?
			    sizeof(bufs[0]) : DESC_SIZE, done.id);
	}
	traffic_stop();
	for (i = 0; i < 4; i++) {
		eq(channel_cancel(&ctx, chan), 0);
		eq(completion().res, -ECANCELED);
	}
	/* A read that is too often too late is given a thread: see retries(). */
	printf("info: after traffic with four reads: %d workers\n", workers());
}

static void fixed(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = anonymous(4 * page);
	struct iovec iov[2] = {
		{ .iov_base = map, .iov_len = page },
		/* The second page starts in the middle of an event. */
		{ .iov_base = map + 2 * page - 20, .iov_len = page },
	};
	struct io_uring_sqe *sqe;
	struct done done;
	int i, k;

	register_buffers(iov, 2);
	for (k = 0; k < 2; k++) {
		check_case("buffer %d: events there", k);
		for (i = 0; i < CQS; i++)
			eq(fire(&cqs[i], 30), 0);
		sqe = sqe_new();
		io_uring_prep_read_fixed(sqe, chan, iov[k].iov_base,
					 80 * DESC_SIZE, -1, k);
		submit(sqe, 1);
		completes(1, 80 * DESC_SIZE);
		memcpy(buf, iov[k].iov_base, sizeof(buf));
		count(buf, sizeof(buf));
		memcpy(buf, iov[k].iov_base + sizeof(buf), 16 * DESC_SIZE);
		count(buf, 16 * DESC_SIZE);

		check_case("buffer %d: the rest, from within", k);
		sqe = sqe_new();
		io_uring_prep_read_fixed(sqe, chan, iov[k].iov_base + 12, 799,
					 -1, k);
		submit(sqe, 1);
		completes(1, 10 * DESC_SIZE);
		memcpy(buf, iov[k].iov_base + 12, 10 * DESC_SIZE);
		count(buf, 10 * DESC_SIZE);

		check_case("buffer %d: a read that waits", k);
		sqe = sqe_new();
		io_uring_prep_read_fixed(sqe, chan, iov[k].iov_base, page, -1,
					 k);
		submit(sqe, 1);
		eq(completed(), 0);
		eq(fire_in(&cqs[0], 1, "hardirq", -1), 0);
		completes(1, DESC_SIZE);
		memcpy(buf, iov[k].iov_base, DESC_SIZE);
		count(buf, DESC_SIZE);
		nothing_is_left();
	}

	check_case("buffers that are none");
	eq(fire(&cqs[1], 1), 0);
	for (i = 0; i < 3; i++) {
		sqe = sqe_new();
		io_uring_prep_read_fixed(sqe, chan, map, i == 1 ? 7 : page, -1,
					 i == 2 ? 2 : 0);
		/* Longer than it is */
		if (i == 0)
			sqe->addr += page - 8;
		submit(sqe, i);
		completes(i, i == 1 ? -EINVAL : -EFAULT);
	}
	eq(take(), 1);
	nothing_is_left();
	end();

	check_case("traffic");
	start();
	traffic_start();
	while (total() < CQS * EVENTS) {
		k = total() % 2;
		sqe = sqe_new();
		io_uring_prep_read_fixed(sqe, chan, iov[k].iov_base,
					 sizeof(buf), -1, k);
		submit(sqe, 1);
		done = completion();
		memcpy(buf, iov[k].iov_base, sizeof(buf));
		count(buf, done.res);
	}
	traffic_stop();
	nothing_is_left();
}

/* --- multishot reads ------------------------------------------------------- */

#define BUFFERS	8
#define PER_BUF	4
#define GROUP	7

static struct io_uring_buf_ring *group;
static event_t pool[BUFFERS][PER_BUF];

static void give(int id)
{
	io_uring_buf_ring_add(group, pool[id], sizeof(pool[id]), id,
			      BUFFERS - 1, 0);
	io_uring_buf_ring_advance(group, 1);
}

/* Skips if this kernel has no such thing. */
static void group_new(void)
{
	struct io_uring_probe *probe = io_uring_get_probe();
	struct io_uring_buf_reg reg = {
		.ring_entries = BUFFERS,
		.bgid = GROUP,
	};
	bool known = probe && io_uring_opcode_supported(probe,
							OP_READ_MULTISHOT);
	int i;

	io_uring_free_probe(probe);
	if (!known)
		skip("this kernel has no IORING_OP_READ_MULTISHOT");
	group = anonymous(BUFFERS * sizeof(struct io_uring_buf));
	reg.ring_addr = (uintptr_t)group;
	must(io_uring_register_buf_ring(&ring, &reg, 0));
	io_uring_buf_ring_init(group);
	for (i = 0; i < BUFFERS; i++)
		give(i);
}

static void submit_read_multi(int fd, uint64_t id)
{
	struct io_uring_sqe *sqe = sqe_new();

	io_uring_prep_rw(OP_READ_MULTISHOT, sqe, fd, NULL, 0, -1);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	submit(sqe, id);
}

/* The events of one completion; their buffer is given back */
static int multi_events(uint64_t id, int more)
{
	struct done done = completion();
	int index = done.flags >> IORING_CQE_BUFFER_SHIFT;

	eq(done.id, id);
	eq(!!(done.flags & IORING_CQE_F_MORE), more);
	if (!ok(done.res > 0) || !ok(done.flags & IORING_CQE_F_BUFFER) ||
	    !ok(index < BUFFERS)) {
		must(done.res);
		return 0;
	}
	ok(done.res <= (int)sizeof(pool[index]));
	count(pool[index], done.res);
	give(index);
	return done.res / DESC_SIZE;
}

static void multishot(void)
{
	struct done a = { .id = 1 }, b = { .id = 2 };
	struct done done;
	int other, i, n;

	group_new();

	check_case("one request, many reads");
	submit_read_multi(chan, 1);
	eq(completed(), 0);
	for (i = 0; i < 3 * BUFFERS; i++) {
		eq(fire_in(&cqs[i % CQS], 1, contexts[i % 3], -1), 0);
		eq(multi_events(1, 1), 1);
		eq(completed(), 0);
	}

	check_case("more than fit into a buffer");
	eq(fire(&cqs[0], 2 * PER_BUF + 1), 0);
	for (n = 0; n < 2 * PER_BUF + 1;)
		n += multi_events(1, 1);
	nothing_is_left();

	check_case("more than fit into a buffer, at once");
	other = chan_new(&ctx);
	must(assoc_move(&cqs[0], other));
	eq(fire(&cqs[0], 2 * PER_BUF + 1), 0);
	must(assoc_move(&cqs[0], chan));
	for (n = 0; n < 2 * PER_BUF + 1;)
		n += multi_events(1, 1);
	eq(close(other), 0);
	nothing_is_left();

	check_case("events before the request");
	submit_cancel(1, 2);
	two(&a, &b);
	eq(a.res, -ECANCELED);
	eq(a.flags & IORING_CQE_F_MORE, 0);
	eq(b.res, 0);
	eq(fire(&cqs[1], 2 * PER_BUF + 1), 0);
	submit_read_multi(chan, 1);
	for (n = 0; n < 2 * PER_BUF + 1;)
		n += multi_events(1, 1);
	nothing_is_left();

	check_case("a cancel");
	eq(channel_cancel(&ctx, chan), 0);
	completes(1, -ECANCELED);
	eq(completed(), 0);

	check_case("no buffer is left");
	submit_read_multi(chan, 1);
	eq(completed(), 0);
	for (i = 0; i < BUFFERS + 1; i++)
		eq(fire(&cqs[2], 1), 0);
	eventually(completed() == BUFFERS + 1);
	for (i = 0; i < BUFFERS; i++)
		multi_events(1, 1);
	completes(1, -ENOBUFS);
	/* What there was no buffer for has stayed. */
	submit_read_multi(chan, 1);
	eq(multi_events(1, 1), 1);
	nothing_is_left();
	submit_cancel(1, 2);
	two(&a, &b);
	end();

	check_case("traffic");
	start();
	submit_read_multi(chan, 1);
	traffic_start();
	while (total() < CQS * EVENTS) {
		done = completion();
		eq(done.id, 1);
		if (done.res == -ENOBUFS) {
			submit_read_multi(chan, 1);
			continue;
		}
		i = done.flags >> IORING_CQE_BUFFER_SHIFT;
		if (!ok(done.flags & IORING_CQE_F_BUFFER) ||
		    !ok(i < BUFFERS) || !ok(done.res <= (int)sizeof(pool[i])))
			break;
		count(pool[i], done.res);
		give(i);
		/* It ends when the completion queue is full. */
		if (!(done.flags & IORING_CQE_F_MORE))
			submit_read_multi(chan, 1);
	}
	traffic_stop();
	nothing_is_left();

	check_case("the end of the channel");
	for (i = 0; i < CQS; i++)
		eq(cq_off(&cqs[i]), seen[i]);
	eq(channel_destroy(&ctx, chan), 0);
	completes(1, -EIO);
	submit_read_multi(chan, 1);
	completes(1, -EIO);
	eq(workers(), 0);
	eq(close(chan), 0);
	start();
}

/* --- requests that are given up -------------------------------------------- */

static void cancelled(void)
{
	struct done read = { .id = 1 }, cancel = { .id = 2 };
	struct io_uring_sqe *sqe;
	int won = 0, lost = 0;
	bool over = false;
	pthread_t thread;
	int i;

	check_case("one read");
	submit_read(chan, buf, sizeof(buf), 1);
	eq(completed(), 0);
	submit_cancel(1, 2);
	two(&read, &cancel);
	eq(read.res, -ECANCELED);
	eq(cancel.res, 0);
	submit_cancel(1, 2);
	completes(2, -ENOENT);
	/* It takes none along. */
	eq(fire(&cqs[0], 2), 0);
	eq(completed(), 0);
	eq(take(), 2);

	check_case("all of a file");
	submit_read(chan, buf, sizeof(buf), 1);
	submit_read(chan, buf, sizeof(buf), 1);
	submit_poll_multi(chan, 1);
	eq(completed(), 0);
	sqe = sqe_new();
	io_uring_prep_cancel_fd(sqe, chan, IORING_ASYNC_CANCEL_ALL);
	submit(sqe, 2);
	for (i = 0; i < 4; i++) {
		struct done done = completion();

		eq(done.res, done.id == 2 ? 3 : -ECANCELED);
	}
	/* Those that wait in a channel are still to be cancelled one by one. */
	submit_read(chan, buf, sizeof(buf), 1);
	eq(channel_cancel(&ctx, chan), 0);
	completes(1, -ECANCELED);
	nothing_is_left();
	end();

	check_case("in traffic");
	start();
	must(-pthread_create(&thread, NULL, drizzle, &over));
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		submit_read(chan, buf, sizeof(buf), 1);
		submit_cancel(1, 2);
		two(&read, &cancel);
		if (read.res == -ECANCELED) {
			lost++;
		} else {
			count(buf, read.res);
			won++;
		}
	}
	must(-pthread_join(thread, NULL));
	take();
	printf("info: %d reads were cancelled in traffic, %d were not\n", lost,
	       won);
	nothing_is_left();
}

static void submit_timed_read(long long ns)
{
	static struct __kernel_timespec ts;
	struct io_uring_sqe *sqe = sqe_new();

	io_uring_prep_read(sqe, chan, buf, sizeof(buf), -1);
	sqe->flags |= IOSQE_IO_LINK;
	sqe->user_data = 1;
	ts.tv_sec = ns / 1000000000;
	ts.tv_nsec = ns % 1000000000;
	sqe = sqe_new();
	io_uring_prep_link_timeout(sqe, &ts, 0);
	sqe->user_data = 2;
	eq(io_uring_submit(&ring), 2);
}

static void timeouts(void)
{
	struct done read = { .id = 1 }, timeout = { .id = 2 };
	int won = 0, lost = 0;
	bool over = false;
	pthread_t thread;

	check_case("it expires");
	submit_timed_read(1000000);
	two(&read, &timeout);
	eq(read.res, -ECANCELED);
	eq(timeout.res, -ETIME);
	eq(fire(&cqs[0], 2), 0);
	eq(completed(), 0);
	eq(take(), 2);

	check_case("an event comes first");
	submit_timed_read(3600000000000ll);
	eq(completed(), 0);
	eq(fire(&cqs[1], 1), 0);
	two(&read, &timeout);
	eq(read.res, DESC_SIZE);
	count(buf, read.res);
	eq(timeout.res, -ECANCELED);

	check_case("an event is there");
	eq(fire(&cqs[2], 3), 0);
	submit_timed_read(3600000000000ll);
	two(&read, &timeout);
	eq(read.res, 3 * DESC_SIZE);
	count(buf, read.res);
	/* Cancelled, or never armed */
	ok(timeout.res == -ECANCELED || timeout.res == -ENOENT);
	nothing_is_left();
	end();

	check_case("in traffic");
	start();
	must(-pthread_create(&thread, NULL, drizzle, &over));
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		submit_timed_read((won + lost) % 50 * 1000);
		two(&read, &timeout);
		if (read.res == -ECANCELED) {
			lost++;
		} else {
			count(buf, read.res);
			won++;
		}
	}
	must(-pthread_join(thread, NULL));
	take();
	printf("info: %d reads timed out in traffic, %d did not\n", lost, won);
	nothing_is_left();
}

/* --- the end of the channel ------------------------------------------------ */

/* One of each kind; the registered buffer is @registered. */
static void submit_all(event_t *into, void *registered)
{
	struct io_uring_sqe *sqe;

	submit_read(chan, into, DESC_SIZE, 1);
	sqe = sqe_new();
	io_uring_prep_read_fixed(sqe, chan, registered, DESC_SIZE, -1, 0);
	submit(sqe, 2);
	sqe = sqe_new();
	io_uring_prep_poll_add(sqe, chan, MASK);
	submit(sqe, 4);
	submit_poll_multi(chan, 8);
}

static void all_end(void)
{
	struct done done;
	int i, ids = 0;

	for (i = 0; i < 4; i++) {
		done = completion();
		ids |= done.id;
		eq(done.res, done.id < 4 ? -EIO : POLLERR);
	}
	eq(ids, 15);
	submit_read(chan, buf, DESC_SIZE, 1);
	completes(1, -EIO);
	eq(workers(), 0);
}

static void the_end(void)
{
	struct iovec iov = {
		.iov_base = anonymous(sizeof(buf)),
		.iov_len = sizeof(buf),
	};
	event_t event;
	struct done done;
	struct ctx gone;
	int i, kept;

	register_buffers(&iov, 1);
	check_case("destroyed");
	for (i = 0; i < CQS; i++)
		eq(cq_off(&cqs[i]), 0);
	submit_all(&event, iov.iov_base);
	eq(completed(), 0);
	eq(channel_destroy(&ctx, chan), 0);
	all_end();
	eq(close(chan), 0);

	check_case("its context goes away");
	gone = ctx_new(0);
	chan = chan_new(&gone);
	submit_all(&event, iov.iov_base);
	eq(completed(), 0);
	ctx_close(&gone);
	all_end();
	eq(close(chan), 0);

	/* A CQ of another context keeps its events, and they are read first. */
	check_case("its context goes away, with events");
	gone = ctx_new(0);
	chan = chan_new(&gone);
	for (i = 0; i < CQS; i++)
		cq_on(&ctx, &cqs[i], chan);
	memset(seen, 0, sizeof(seen));
	eq(fire(&cqs[0], 2), 0);
	ctx_close(&gone);
	submit_read(chan, &event, DESC_SIZE, 1);
	completes(1, DESC_SIZE);
	count(&event, DESC_SIZE);
	submit_read(chan, buf, sizeof(buf), 1);
	completes(1, DESC_SIZE);
	count(buf, DESC_SIZE);
	submit_read(chan, buf, sizeof(buf), 1);
	completes(1, -EIO);
	for (i = 0; i < CQS; i++)
		eq(cq_off(&cqs[i]), seen[i]);
	eq(close(chan), 0);

	/* A request holds the file. */
	check_case("its descriptor is closed");
	chan = chan_new(&ctx);
	cq_on(&ctx, &cqs[0], chan);
	submit_read(chan, &event, DESC_SIZE, 1);
	eq(completed(), 0);
	kept = chan;
	eq(close(chan), 0);
	eq(rd(kept, buf, sizeof(buf)), -EBADF);
	eq(fire(&cqs[0], 1), 0);
	done = completion();
	eq(done.res, DESC_SIZE);
	eq(event.cq_handle, cqs[0].user_handle);
	eq(cq_off(&cqs[0]), 1);
	eq(workers(), 0);

	/* And abi_done() sees that the channel goes with it. */
	check_case("the ring goes first");
	chan = chan_new(&ctx);
	submit_all(&event, iov.iov_base);
	eq(completed(), 0);
}

/* --- kinds of rings -------------------------------------------------------- */

static void rings(void)
{
	unsigned int flags[] = {
		IORING_SETUP_SQPOLL,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
	};
	int i, ret;

	for (i = 0; i < (int)ARRAY_SIZE(flags); i++) {
		io_uring_queue_exit(&ring);
		check_case("flags %#x", flags[i]);
		ret = io_uring_queue_init(8, &ring, flags[i]);
		if (ret == -EINVAL) {
			printf("info: this kernel knows no ring with flags %#x\n",
			       flags[i]);
			ring_new(&ring, 0);
			continue;
		}
		must(ret);
		submit_read(chan, buf, sizeof(buf), 1);
		eq(completed(), 0);
		eq(fire_in(&cqs[i], 1, "softirq", -1), 0);
		completes(1, DESC_SIZE);
		count(buf, DESC_SIZE);
		submit_poll_multi(chan, 1);
		eq(completed(), 0);
		eq(fire_in(&cqs[i], 2, "hardirq", -1), 0);
		polls(1);
		eq(take(), 2);
		nothing_is_left();
	}
}

/*
 * A read that finds nothing time after time, for others were faster: io_uring
 * tries again only so often, and then gives it a thread.  That thread blocks as
 * any reader does, so the read is still right.
 */
static void retries(void)
{
	bool read = false;
	int vain, ret;

	io_uring_queue_exit(&ring);
	/* Nothing is tried before we say so. */
	ret = io_uring_queue_init(8, &ring, IORING_SETUP_SINGLE_ISSUER |
				  IORING_SETUP_DEFER_TASKRUN);
	if (ret == -EINVAL)
		skip("this kernel has no IORING_SETUP_DEFER_TASKRUN");
	must(ret);
	submit_read(chan, buf, sizeof(buf), 1);
	for (vain = 0; vain < 300 && !read && !workers(); vain++) {
		eq(fire(&cqs[0], 1), 0);
		/* The thread may be there by now, and be faster than we are. */
		ret = rd_nowait(chan, buf, sizeof(buf));
		if (ret == -EAGAIN) {
			read = true;
			break;
		}
		count(buf, ret);
		eq(completed(), 0);
	}
	printf("info: %d wake-ups in vain: %d workers\n", vain, workers());
	/* Once is nothing: two reads on one channel would be a thread. */
	ok(vain > 1);
	if (!read)
		eq(fire(&cqs[1], 1), 0);
	completes(1, DESC_SIZE);
	count(buf, DESC_SIZE);
}

int main(int argc, char **argv)
{
	static void (*const parts[])(void) = {
		multishot_poll, stock_reads, multishot_poll, reads, fixed,
		multishot, cancelled, timeouts, the_end, rings, retries,
	};
	int part;

	part = abi_init(argc, argv, "stock-poll stock-read poll reads fixed "
			"multishot cancel timeout end rings retries");
	deadline(120);
	ring_new(&ring, 0);
	start();
	parts[part]();
	/* With whatever is still pending in it */
	io_uring_queue_exit(&ring);
	return abi_done();
}
