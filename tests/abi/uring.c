// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_uring: reads and polls complete when there are events, and the reads that
 * wait for them occupy no thread.
 */
#include "abi.h"

#include <dirent.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static int ring_init(struct ring *ring)
{
	struct io_uring_params p = {};
	size_t size;
	char *map;

	ring->fd = syscall(SYS_io_uring_setup, 32, &p);
	if (ring->fd < 0)
		return -errno;
	if (!(p.features & IORING_FEAT_SINGLE_MMAP))
		return -EOPNOTSUPP;
	size = p.sq_off.array + p.sq_entries * sizeof(unsigned int);
	if (size < p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe))
		size = p.cq_off.cqes +
		       p.cq_entries * sizeof(struct io_uring_cqe);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
	if (map == MAP_FAILED)
		return -errno;
	ring->sqes = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			  ring->fd, IORING_OFF_SQES);
	if (ring->sqes == MAP_FAILED)
		return -errno;
	ring->sq_tail = (void *)(map + p.sq_off.tail);
	ring->sq_mask = (void *)(map + p.sq_off.ring_mask);
	ring->sq_array = (void *)(map + p.sq_off.array);
	ring->cq_head = (void *)(map + p.cq_off.head);
	ring->cq_tail = (void *)(map + p.cq_off.tail);
	ring->cq_mask = (void *)(map + p.cq_off.ring_mask);
	ring->cqes = (void *)(map + p.cq_off.cqes);
	return 0;
}

static void submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *ring->sq_tail;
	unsigned int index = tail & *ring->sq_mask;

	ring->sqes[index] = *sqe;
	ring->sq_array[index] = index;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	eq(syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0), 1);
}

/* Runs what is due, and tells how many have completed. */
static int completed(struct ring *ring)
{
	syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_GETEVENTS,
		NULL, 0);
	return __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) -
	       *ring->cq_head;
}

struct done {
	uint64_t user_data;
	int res;
};

static struct done completion(struct ring *ring)
{
	unsigned int head = *ring->cq_head;
	struct io_uring_cqe *cqe;
	struct done done;

	eventually(completed(ring) > 0);
	cqe = &ring->cqes[head & *ring->cq_mask];
	done.user_data = cqe->user_data;
	done.res = cqe->res;
	__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
	return done;
}

static void submit_read(struct ring *ring, int fd, void *buf, size_t len,
			uint64_t id, unsigned int flags)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ,
		.fd = fd,
		.addr = (uintptr_t)buf,
		.len = len,
		.off = -1,
		.user_data = id,
		.flags = flags,
	};

	submit(ring, &sqe);
}

static void submit_poll(struct ring *ring, int fd, uint64_t id)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_POLL_ADD,
		.fd = fd,
		.poll32_events = POLLIN | POLLRDNORM,
		.user_data = id,
	};

	submit(ring, &sqe);
}

/* Threads that io_uring has made for us; one of them, if there is any */
static int workers(pid_t *one)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], comm[64];
	struct dirent *entry;
	int n = 0;

	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 entry->d_name);
		if (file_read(path, comm, sizeof(comm)) < 0 ||
		    strncmp(comm, "iou-wrk", 7))
			continue;
		n++;
		if (one)
			*one = atoi(entry->d_name);
	}
	closedir(dir);
	return n;
}

static bool sleeps(pid_t tid)
{
	char path[64], buf[512], *p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	if (file_read(path, buf, sizeof(buf)) <= 0)
		return false;
	p = strrchr(buf, ')');
	return p && p[2] == 'S';
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc bufs[4][8];
	struct done cqe;
	int chan, i, ret, mask;
	struct ring ring;
	struct ctx ctx;
	struct cq cq;
	pid_t worker;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &cq, chan);
	ret = ring_init(&ring);
	if (ret == -ENOSYS || ret == -EPERM || ret == -EOPNOTSUPP)
		skip("io_uring: %s", strerror(-ret));
	must(ret);

	check_case("a read with events there");
	eq(fire(&cq, 3), 0);
	submit_read(&ring, chan, bufs[0], sizeof(bufs[0]), 1, 0);
	cqe = completion(&ring);
	eq(cqe.user_data, 1);
	eq(cqe.res, 3 * DESC_SIZE);
	eq(bufs[0][2].cq_handle, cq.user_handle);

	check_case("reads that wait");
	for (i = 0; i < 4; i++)
		submit_read(&ring, chan, bufs[i], DESC_SIZE, i, 0);
	eq(completed(&ring), 0);
	eq(fire_in(&cq, 1, "hardirq", -1), 0);
	cqe = completion(&ring);
	eq(cqe.res, DESC_SIZE);
	mask = 1 << cqe.user_data;
	eq(completed(&ring), 0);
	eq(fire(&cq, 2), 0);
	for (i = 0; i < 2; i++) {
		cqe = completion(&ring);
		eq(cqe.res, DESC_SIZE);
		mask |= 1 << cqe.user_data;
	}
	eq(completed(&ring), 0);
	eq(poll_now(chan), 0);

	check_case("a cancel, with a read that waits");
	eq(channel_cancel(&ctx, chan), 0);
	cqe = completion(&ring);
	eq(cqe.res, -ECANCELED);
	mask |= 1 << cqe.user_data;
	eq(mask, 15);
	eq(completed(&ring), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 6);

	check_case("bad buffers");
	eq(fire(&cq, 1), 0);
	submit_read(&ring, chan, NULL, DESC_SIZE, 1, 0);
	cqe = completion(&ring);
	eq(cqe.res, -EFAULT);
	submit_read(&ring, chan, bufs[0], 7, 1, 0);
	cqe = completion(&ring);
	eq(cqe.res, -EINVAL);
	assoc_is(&cq, 1, 6, 0);
	submit_read(&ring, chan, bufs[0], 8, 1, 0);
	cqe = completion(&ring);
	eq(cqe.res, DESC_SIZE);

	check_case("poll");
	submit_poll(&ring, chan, 7);
	eq(completed(&ring), 0);
	eq(fire(&cq, 1), 0);
	cqe = completion(&ring);
	eq(cqe.user_data, 7);
	eq(cqe.res, POLLIN | POLLRDNORM);
	eq(rd(chan, bufs[0], sizeof(bufs[0])), DESC_SIZE);

	/* None of these took a thread. */
	check_case("threads");
	eq(workers(NULL), 0);

	check_case("in a thread, as asked for");
	submit_read(&ring, chan, bufs[0], sizeof(bufs[0]), 1, IOSQE_ASYNC);
	eventually(workers(&worker) == 1 && sleeps(worker));
	eq(completed(&ring), 0);
	eq(fire(&cq, 1), 0);
	cqe = completion(&ring);
	eq(cqe.res, DESC_SIZE);

	check_case("the end of the channel");
	submit_read(&ring, chan, bufs[0], DESC_SIZE, 1, 0);
	submit_read(&ring, chan, bufs[1], DESC_SIZE, 2, IOSQE_ASYNC);
	submit_poll(&ring, chan, 4);
	eventually(sleeps(worker));
	cq_off(&cq);
	eq(channel_destroy(&ctx, chan), 0);
	for (i = 0, mask = 0; i < 3; i++) {
		cqe = completion(&ring);
		mask |= cqe.user_data;
		if (cqe.user_data == 4)
			eq(cqe.res, POLLERR);
		else
			eq(cqe.res, -EIO);
	}
	eq(mask, 7);

	check_case("the ring goes away with reads pending");
	eq(close(chan), 0);
	chan = must(channel_create(&ctx, 0));
	submit_read(&ring, chan, bufs[0], DESC_SIZE, 1, 0);
	submit_read(&ring, chan, bufs[1], DESC_SIZE, 2, IOSQE_ASYNC);
	eq(completed(&ring), 0);
	return abi_done();
}
