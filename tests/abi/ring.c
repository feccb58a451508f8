// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event rings: what is taken from mapped memory instead of being read, alone
 * and together with everything else that can happen to a channel.
 */
#include "abi.h"

#include <sys/epoll.h>
#include <sys/mman.h>

#define CQS	4

static struct ctx ctx;
static int chan;
static struct compch_ring_user ring;
static struct cq cqs[CQS];
static __u64 got[256];

static unsigned int take(unsigned int max)
{
	bool wake;
	unsigned int n = compch_ring_take_events(&ring, got, max, &wake);

	if (wake)
		eq(channel_wake(&ctx, chan), 0);
	return n;
}

/* The events taken are of these CQs, by their index; -1 ends it */
static void took(const int *want)
{
	unsigned int n = 0;

	for (n = 0; want[n] >= 0; n++)
		eq(got[n], cqs[want[n]].user_handle);
}

#define takes(max, ...) do {						\
	const int want_[] = { __VA_ARGS__ __VA_OPT__(,) -1 };		\
									\
	memset(got, 0, sizeof(got));					\
	eq(take(max), ARRAY_SIZE(want_) - 1);				\
	took(want_);							\
} while (0)

static void setup(uint64_t flags, uint32_t room)
{
	int i;

	ctx = ctx_new(0);
	chan = must(channel_create_ring(&ctx, flags, room));
	ring_map(&ctx, chan, &ring);
	for (i = 0; i < CQS; i++)
		cq_on(&ctx, &cqs[i], chan);
}

/* --- one thing after another ----------------------------------------------- */

static void order(void)
{
	struct ib_uverbs_comp_event_desc events[8];
	int i, n;

	setup(0, CQS);
	check_case("empty");
	takes(8);
	eq(poll_now(chan), 0);

	check_case("in their order, one of each in turn");
	fire(&cqs[2], 1);
	fire(&cqs[0], 3);
	fire_in(&cqs[1], 2, "hardirq", -1);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 6, 0);
	takes(4, 2, 0, 1, 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 2, 4);
	assoc_is(&cqs[0], 1, 2, 0);
	takes(8, 1, 0);
	takes(8);
	eq(poll_now(chan), 0);

	check_case("one at a time");
	for (i = 0; i < CQS; i++)
		fire(&cqs[i], 2);
	for (n = 0; n < 2; n++) {
		for (i = 0; i < CQS; i++)
			takes(1, i);
	}
	takes(1);

	check_case("read() and the ring in turn");
	fire(&cqs[0], 3);
	fire(&cqs[3], 3);
	takes(1, 0);
	eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
	eq(events[0].cq_handle, cqs[3].user_handle);
	takes(2, 0, 3);
	eq(rd(chan, events, sizeof(events)), 2 * DESC_SIZE);
	eq(events[0].cq_handle, cqs[0].user_handle);
	eq(events[1].cq_handle, cqs[3].user_handle);
	takes(1);

	check_case("many");
	fire(&cqs[0], 1000);
	fire(&cqs[1], 10);
	for (n = 0; n < 1010; n += i) {
		i = take(64);
		must(i);
	}
	takes(1);

	check_case("acknowledgements are right");
	assoc_is(&cqs[0], 0, 1008, 0);
	eq(cq_off(&cqs[0]), 1008);
	fire(&cqs[1], 5);
	take(2);
	eq(cq_off(&cqs[1]), 16);
	eq(cq_off(&cqs[2]), 3);
	eq(cq_off(&cqs[3]), 5);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 0, 0, 0, 1032);
}

static void coalesce(void)
{
	setup(COMPCH_CHANNEL_COALESCE, CQS);
	fire(&cqs[1], 5);
	fire_in(&cqs[0], 7, "softirq", -1);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 2, 0);
	takes(8, 1, 0);
	assoc_is(&cqs[1], 0, 1, 4);
	assoc_is(&cqs[0], 0, 1, 6);
	fire(&cqs[0], 2);
	takes(8, 0);
	takes(8);
	fire(&cqs[0], 2);
	eq(cq_off(&cqs[0]), 2);
	takes(8);
}

/*
 * What has been taken is reported, no more and no less, though events of the
 * same CQs come in all the time.
 */
static void counts_of(uint64_t flags)
{
	static const char *const contexts[] = { "process", "hardirq" };
	struct compch_channel_info channel;
	long long seen[2] = {}, all = 0;
	struct compch_assoc_info info;
	int i, n, round;

	setup(flags, CQS);
	for (i = 0; i < 2; i++)
		must(fire_start(&cqs[i], 0, contexts[i], cpus_online() - 1));
	for (round = 0; round < 5000; round++) {
		n = take(1 + round % 16);
		all += n;
		while (n--)
			seen[got[n] == cqs[1].user_handle]++;
		if (!must(assoc_query(&cqs[round % 2], &info)))
			eq(info.reported, seen[round % 2]);
		if (!must(channel_query(&ctx, chan, &channel)))
			eq(channel.reported, all);
	}
	for (i = 0; i < 2; i++) {
		must(fire_stop(&cqs[i]));
		must(assoc_query(&cqs[i], &info));
		eq(info.pending + info.reported + info.merged, fired(&cqs[i]));
	}
	printf("info: %lld events, of which %lld were taken\n",
	       fired(&cqs[0]) + fired(&cqs[1]), all);
	for (i = 0; i < CQS; i++)
		eq(cq_off(&cqs[i]), i < 2 ? seen[i] : 0);
	eq(channel_destroy(&ctx, chan), 0);
}

static void counts(void)
{
	deadline(120);
	check_case("one by one");
	counts_of(0);
	check_case("merging");
	counts_of(COMPCH_CHANNEL_COALESCE);
}

static void gone(void)
{
	struct compch_assoc_destroy_resp resp;
	struct cq late;
	int i;

	setup(0, CQS);
	check_case("no room for more");
	must(cq_create(&ctx, &late, -1));
	eq(assoc_create(&late, chan), -ENOSPC);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 0, 0);

	check_case("detached with events: none is taken");
	fire(&cqs[0], 1);
	fire(&cqs[1], 2);
	fire(&cqs[2], 3);
	must(assoc_destroy(&cqs[1], 0, &resp));
	eq(resp.events_reported, 0);
	eq(resp.events_discarded, 2);
	takes(8, 0, 2, 2, 2);
	eq(poll_now(chan), 0);

	/* Its place in the cells is used by who gets its slot. */
	check_case("another one takes its slot at once");
	fire(&cqs[0], 2);
	must(assoc_destroy(&cqs[0], 0, &resp));
	eq(resp.events_reported, 1);
	eq(resp.events_discarded, 2);
	eq(poll_now(chan), 0);
	must(assoc_create(&late, chan));
	takes(8);
	fire(&late, 2);
	fire(&cqs[2], 1);
	eq(take(8), 3);
	eq(got[0], late.user_handle);
	eq(got[1], cqs[2].user_handle);
	eq(got[2], late.user_handle);
	eq(cq_off(&late), 2);

	/* Cells of those that have left must not fill up. */
	check_case("time after time, and nobody takes");
	for (i = 0; i < 100; i++) {
		must(assoc_create(&cqs[0], chan));
		must(assoc_create(&cqs[1], chan));
		fire(&cqs[i % 2], 1);
		must(assoc_destroy(&cqs[0], 0, &resp));
		fire(&cqs[1], i % 3);
		must(assoc_destroy(&cqs[1], 0, &resp));
	}
	must(assoc_create(&cqs[0], chan));
	must(assoc_create(&cqs[1], chan));
	eq(poll_now(chan), 0);
	takes(8);
	for (i = 0; i < CQS; i++)
		fire(&cqs[i], 1);
	takes(8, 0, 1, 2, 3);
	eq(poll_now(chan), 0);

	check_case("moved, with events");
	for (i = 0; i < 5; i++) {
		int other = must(i % 2 ? channel_create_ring(&ctx, 0, 1) :
				 channel_create_ring(&ctx, 0, 0));
		struct compch_assoc_info info;
		int full = must(channel_create_ring(&ctx, 0, 1));
		struct ib_uverbs_comp_event_desc events[8];

		fire(&cqs[2], 3);
		takes(1, 2);
		must(assoc_query(&cqs[2], &info));
		must(assoc_move(&cqs[2], other));
		eq(poll_now(chan), 0);
		takes(8);
		eq(rd(other, events, sizeof(events)), 2 * DESC_SIZE);
		assoc_is(&cqs[2], 0, info.reported + 2, 0);
		fire(&cqs[2], 2);
		must(assoc_move(&cqs[0], full));
		eq(assoc_move(&cqs[2], full), -ENOSPC);
		assoc_is(&cqs[2], 2, info.reported + 2, 0);
		must(assoc_move(&cqs[0], chan));
		must(assoc_move(&cqs[2], chan));
		takes(8, 2, 2);
		eq(channel_destroy(&ctx, other), 0);
		eq(close(other), 0);
		eq(close(full), 0);
	}
}

static void attention(void)
{
	struct ib_uverbs_comp_event_desc event;

	setup(0, CQS);
	check_case("a cancel");
	ok(!compch_ring_attention(&ring));
	fire(&cqs[0], 1);
	eq(channel_cancel(&ctx, chan), 0);
	ok(compch_ring_attention(&ring));
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	ok(!compch_ring_attention(&ring));
	takes(8, 0);

	check_case("two of them");
	eq(channel_cancel(&ctx, chan), 0);
	eq(channel_cancel(&ctx, chan), 0);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	ok(compch_ring_attention(&ring));
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	ok(!compch_ring_attention(&ring));

	/* Who takes all the same gets what there is. */
	check_case("closed");
	ctx_close(&ctx);
	ok(compch_ring_attention(&ring));
	takes(8);
	eq(rd(chan, &event, sizeof(event)), -EIO);
	/* The mapping holds the file. */
	eq(close(chan), 0);
	ok(compch_ring_attention(&ring));
	eq(counter("channels"), 1);
	eq(ring_unmap(&ring), 0);
	eventually(counter("channels") == 0);
}

/* What ring.head->hungry is if who has looked by a system call waits */
#define HUNGRY_HERE 2

/* Who sleeps and who puts back */
static void hungry(void)
{
	struct ib_uverbs_comp_event_desc event;
	struct epoll_event ev = { .events = EPOLLIN };
	struct reader reader;
	__u64 slot = 0;
	__u64 cookie = 0;
	int ep;

	setup(0, CQS);
	check_case("an event wakes who is blocked");
	reader_start(&reader, chan, DESC_SIZE);
	eq(ring.head->hungry, HUNGRY_HERE);
	fire(&cqs[0], 2);
	eq(reader_end(&reader), DESC_SIZE);
	eq(ring.head->hungry, 0);
	takes(8, 0);

	check_case("put back, it must be woken by who does that");
	fire(&cqs[1], 2);
	eq(compch_ring_grab(&ring, &slot, 1), 1);
	eq(compch_ring_take_one(compch_ring_slot_at(&ring, slot), &cookie), 1);
	eq(cookie, cqs[1].user_handle);
	eq(poll_now(chan), 0);
	reader_start(&reader, chan, DESC_SIZE);
	ok(!reader_done(&reader));
	compch_ring_put_back(&ring, slot);
	eq(ring.head->hungry, HUNGRY_HERE);
	ok(!reader_done(&reader));
	eq(channel_wake(&ctx, chan), 0);
	eq(reader_end(&reader), DESC_SIZE);
	eq(reader.events[0].cq_handle, cqs[1].user_handle);
	eq(ring.head->hungry, 0);

	check_case("so must who polls");
	ep = must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, chan, &ev));
	eq(ring.head->hungry, HUNGRY_HERE);
	fire(&cqs[1], 2);
	eq(epoll_wait(ep, &ev, 1, -1), 1);
	eq(ring.head->hungry, 0);
	/* Nobody has found it empty: nothing to be said */
	takes(1, 1);
	eq(epoll_wait(ep, &ev, 1, -1), 1);
	eq(compch_ring_grab(&ring, &slot, 1), 1);
	eq(epoll_wait(ep, &ev, 1, 0), 0);
	eq(ring.head->hungry, HUNGRY_HERE);
	compch_ring_put_back(&ring, slot);
	eq(channel_wake(&ctx, chan), 0);
	eq(epoll_wait(ep, &ev, 1, -1), 1);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(epoll_wait(ep, &ev, 1, 0), 0);
	close(ep);

	check_case("what a program says stays, and is answered by a read");
	ep = must(epoll_create1(EPOLL_CLOEXEC));
	compch_ring_ask(&ring);
	ev.events = EPOLLIN | EPOLLET;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, chan, &ev));
	eq(ring.head->hungry, 1);
	fire(&cqs[1], 3);
	eq(epoll_wait(ep, &ev, 1, -1), 1);
	eq(ring.head->hungry, 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(epoll_wait(ep, &ev, 1, 0), 0);
	compch_ring_ask(&ring);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(epoll_wait(ep, &ev, 1, -1), 1);
	eq(ring.head->hungry, 0);
	takes(8, 1);
	close(ep);

	check_case("a call for nothing");
	eq(channel_wake(&ctx, chan), 0);
	eq(channel_wake(&ctx, ctx.fd), -EBADF);
}

/* --- what must fail -------------------------------------------------------- */

static int map(int fd, size_t size, int flags, off_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (at == MAP_FAILED)
		return -errno;
	must(munmap(at, size) ? -errno : 0);
	return 0;
}

static void bad(void)
{
	const uint32_t sizes[] = { COMPCH_RING_MAX_CQS + 1, -1U };
	long page = sysconf(_SC_PAGESIZE);
	struct compch_channel_info info;
	struct compch_ring_user big;
	struct cmd cmd;
	uint32_t zero = 0;
	int plain, other, ret, i;
	size_t size;
	pid_t pid;

	setup(0, CQS);
	check_case("sizes");
	for (i = 0; i < 2; i++)
		eq(channel_create_ring(&ctx, 0, sizes[i]), -EINVAL);
	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_CREATE);
	cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_CREATE_FD, 0, 0);
	cmd_in(&cmd, COMPCH_ATTR_CHANNEL_CREATE_RING, &zero, sizeof(zero));
	eq(cmd_run(&ctx, &cmd), -EINVAL);
	other = must(channel_create_ring(&ctx, 0, COMPCH_RING_MAX_CQS));
	ring_map(&ctx, other, &big);
	eq(big.head->cells, 65536);
	eq(ring_unmap(&big), 0);
	eq(close(other), 0);
	other = must(channel_create_ring(&ctx, 0, 1));
	ring_map(&ctx, other, &big);
	eq(big.head->cells, 1);
	eq(ring_unmap(&big), 0);

	check_case("mappings");
	plain = must(channel_create_ring(&ctx, 0, 0));
	must(channel_query(&ctx, plain, &info));
	eq(info.ring_cqs, 0);
	eq(info.ring_size, 0);
	eq(map(plain, page, MAP_SHARED, 0), -ENODEV);
	must(channel_query(&ctx, chan, &info));
	eq(info.ring_cqs, CQS);
	eq(info.reserved, 0);
	size = info.ring_size;
	eq(map(chan, info.ring_size, MAP_PRIVATE, 0), -EINVAL);
	eq(map(chan, info.ring_size + page, MAP_SHARED, 0), -EINVAL);
	eq(map(chan, info.ring_size, MAP_SHARED, page), -EINVAL);
	/* Once more in the same process */
	eq(map(chan, info.ring_size, MAP_SHARED, 0), 0);
	/* Not in parts, and no longer */
	must(channel_query(&ctx, other, &info));
	big.head = mmap(NULL, info.ring_size, PROT_READ | PROT_WRITE,
			MAP_SHARED, other, 0);
	must(big.head == MAP_FAILED ? -errno : 0);
	ok(mremap(big.head, info.ring_size, info.ring_size + page,
		  MREMAP_MAYMOVE) == MAP_FAILED);
	big.head = mremap(big.head, info.ring_size, info.ring_size,
			  MREMAP_MAYMOVE | MREMAP_FIXED,
			  (char *)big.head + (1ul << 24));
	must(big.head == MAP_FAILED ? -errno : 0);
	eq(big.head->cqs, 1);
	must(munmap(big.head, info.ring_size) ? -errno : 0);

	check_case("another process");
	pid = child();
	if (!pid) {
		/* No mapping is inherited, and none can be made. */
		if (!msync(ring.head, page, MS_ASYNC) || errno != ENOMEM)
			_exit(10);
		if (map(chan, size, MAP_SHARED, 0) != -EBUSY)
			_exit(11);
		_exit(map(other, info.ring_size, MAP_SHARED, 0) ? 12 : 0);
	}
	eq(child_status(pid), 0);

	/* A program may insist on that.  It is one mapping more, and no less. */
	check_case("a child that inherits it");
	ret = madvise(ring.head, size, MADV_DOFORK) ? -errno : 0;
	/* There are kernels that do not let it. */
	if (ret != -EINVAL) {
		eq(ret, 0);
		pid = child();
		if (!pid)
			_exit(ring.head->cqs == CQS ? 0 : 13);
		eq(child_status(pid), 0);
		must(madvise(ring.head, size, MADV_DONTFORK) ? -errno : 0);
	}
	for (i = 0; i < 2; i++) {
		pid = child();
		if (!pid)
			_exit(map(chan, size, MAP_SHARED, 0) == (i ? 0 : -EBUSY) ?
			      0 : 14);
		eq(child_status(pid), 0);
		if (!i)
			eq(ring_unmap(&ring), 0);
	}
	ring_map(&ctx, chan, &ring);
}

/* A process that was killed with slots in its hands */
static void killed(void)
{
	int ready[2], i;
	__u64 cookie;
	__u64 slot = 0;
	pid_t pid;
	char c;

	setup(0, CQS);
	eq(ring_unmap(&ring), 0);
	must(pipe(ready) ? -errno : 0);
	for (i = 0; i < 4; i++) {
		check_case("killed after step %d", i);
		fire(&cqs[0], 3);
		fire(&cqs[1], 1);
		fire(&cqs[2], 2);
		pid = child();
		if (!pid) {
			ring_map(&ctx, chan, &ring);
			if (i > 0)
				eq(compch_ring_grab(&ring, &slot, 1), 1);
			if (i > 1)
				eq(compch_ring_take_one(compch_ring_slot_at(&ring, slot),
							&cookie), 2);
			if (i > 2)
				compch_ring_put_back(&ring, slot);
			must(write(ready[1], "", 1) == 1 ? 0 : -errno);
			for (;;)
				pause();
		}
		eq(read(ready[0], &c, 1), 1);
		/* Events go on coming to what it had in its hands. */
		fire(&cqs[0], 1);
		kill(pid, SIGKILL);
		eq(child_status(pid), -SIGKILL);
		ring_map(&ctx, chan, &ring);
		eq(poll_now(chan), POLLIN | POLLRDNORM);
		eq(take(64), i > 1 ? 6 : 7);
		takes(8);
		eq(poll_now(chan), 0);
		eq(ring_unmap(&ring), 0);
	}
	assoc_is(&cqs[0], 0, 16, 0);
}

/* --- all at once ----------------------------------------------------------- */

#define TAKERS	2
#define READERS	2

struct worker {
	pthread_t thread;
	int mode;
	int chan;
	struct compch_ring_user *ring;
	long long seen[CQS];
	long long wrong;
	long long slept;
	int ret;
};

static bool over;

static void count(struct worker *w, const __u64 *cookies, int n)
{
	int i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < CQS; j++) {
			if (cookies[i] == cqs[j].user_handle)
				break;
		}
		if (j < CQS)
			w->seen[j]++;
		else
			w->wrong++;
	}
}

/* Takes from the ring, and sleeps in poll() */
static void *taker(void *arg)
{
	struct worker *w = arg;
	struct pollfd pfd = { .fd = w->chan, .events = POLLIN };
	__u64 cookies[16];
	bool wake;
	int n;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		n = compch_ring_take_events(w->ring, cookies,
					    1 + w->mode * 15, &wake);
		count(w, cookies, n);
		if (wake)
			eq(channel_wake(&ctx, w->chan), 0);
		if (!n) {
			w->slept++;
			poll(&pfd, 1, -1);
		}
	}
	return NULL;
}

static void *reading(void *arg)
{
	struct worker *w = arg;
	__u64 cookies[16];
	int n;

	for (;;) {
		n = rd(w->chan, cookies, (1 + w->mode * 15) * DESC_SIZE);
		if (n < 0) {
			w->ret = n;
			return NULL;
		}
		count(w, cookies, n / DESC_SIZE);
	}
}

static void stress(void)
{
	static const char *const contexts[] = {
		"process", "softirq", "hardirq", "process",
	};
	struct compch_ring_user rings[2];
	struct worker workers[2 * (TAKERS + READERS)] = {};
	long long sum, moves = 0, seen = 0;
	int chans[3], i, j, n = 0;

	deadline(120);
	setup(0, CQS);
	chans[0] = chan;
	rings[0] = ring;
	chans[1] = must(channel_create_ring(&ctx, 0, CQS));
	ring_map(&ctx, chans[1], &rings[1]);
	chans[2] = must(channel_create_ring(&ctx, 0, 0));
	for (i = 0; i < 2; i++) {
		for (j = 0; j < TAKERS + READERS; j++, n++) {
			workers[n].mode = j % 2;
			workers[n].chan = chans[i];
			workers[n].ring = &rings[i];
			must(-pthread_create(&workers[n].thread, NULL,
					     j < TAKERS ? taker : reading,
					     &workers[n]));
		}
	}
	for (i = 0; i < CQS; i++)
		must(fire_start(&cqs[i], 0, contexts[i], i % cpus_online()));
	for (moves = 0; moves < 300; moves++) {
		must(assoc_move(&cqs[moves % 3], chans[moves / 3 % 3]));
		usleep(500);
	}
	for (i = 0; i < 3; i++)
		must(assoc_move(&cqs[i], chans[i % 2]));
	for (i = 0; i < CQS; i++)
		must(fire_stop(&cqs[i]));

	/* Whoever sleeps with events there hangs this. */
	for (i = 0; i < CQS; i++) {
		struct compch_assoc_info info;

		do {
			must(assoc_query(&cqs[i], &info));
			eventually(true);
		} while (info.pending);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (i = 0; i < CQS; i++) {
		struct compch_assoc_destroy_resp resp;

		must(assoc_destroy(&cqs[i], 0, &resp));
		eq(resp.events_discarded, 0);
		eq(resp.events_reported, fired(&cqs[i]));
	}
	for (i = 0; i < 2; i++)
		eq(channel_destroy(&ctx, chans[i]), 0);
	for (i = 0; i < n; i++) {
		must(-pthread_join(workers[i].thread, NULL));
		eq(workers[i].wrong, 0);
		eq(workers[i].ret, i % (TAKERS + READERS) < TAKERS ? 0 : -EIO);
	}
	for (i = 0; i < CQS; i++) {
		for (sum = j = 0; j < n; j++)
			sum += workers[j].seen[i];
		eq(sum, fired(&cqs[i]));
		seen += sum;
	}
	printf("info: %lld events, %lld of them taken by the first, who slept %lld times\n",
	       seen, workers[0].seen[0] + workers[0].seen[1] +
	       workers[0].seen[2] + workers[0].seen[3], workers[0].slept);
}

/* --- a program that destroys its ring --------------------------------------- */

static uint64_t random_state = 1;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void scribble(struct compch_ring_user *r, size_t size)
{
	__u64 *words = (__u64 *)r->head;
	size_t n = size / sizeof(*words);
	__u64 value;

	switch (rnd() % 6) {
	case 0:
		value = rnd();
		break;
	case 1:
		value = 0;
		break;
	case 2:
		value = ~0ull >> rnd() % 64;
		break;
	case 3:
		value = 1ull << rnd() % 64;
		break;
	case 4:
		value = r->head->head + rnd() % 8 - 4;
		break;
	default:
		value = (r->head->tail + rnd() % 8 - 4) << 32 | rnd() % 16;
		break;
	}
	switch (rnd() % 4) {
	case 0:
		r->head->head = value;
		break;
	case 1:
		r->head->tail = value;
		break;
	default:
		words[rnd() % n] = value;
		break;
	}
}

static void *scribbler(void *arg)
{
	struct compch_channel_info *info = arg;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		scribble(&ring, info->ring_size);
	return NULL;
}

/*
 * Nothing is promised to such a program, but that the kernel stays whole, that
 * no call takes for ever, and that other channels are none the worse.
 */
static void fuzz(void)
{
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc events[64];
	struct compch_channel_info info;
	struct compch_assoc_info assoc;
	struct ctx other = ctx_new(1);
	int good = must(channel_create_ring(&other, 0, 4));
	int plain, round, i, ret;
	long long fair = 0;
	pthread_t thread;
	struct cq theirs;

	deadline(120);
	setup(0, CQS);
	must(channel_query(&ctx, chan, &info));
	/* To be unmapped by hand, whatever stands in it */
	eq(ring_unmap(&ring), 0);
	ring.head = mmap(NULL, info.ring_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, chan, 0);
	must(ring.head == MAP_FAILED ? -errno : 0);
	plain = must(channel_create_ring(&ctx, 0, 0));
	cq_on(&other, &theirs, good);
	for (round = 0; round < 4000; round++) {
		/* In turn by itself, and while the kernel is at it */
		if (round == 2000)
			must(-pthread_create(&thread, NULL, scribbler, &info));
		for (i = rnd() % 8; i; i--)
			scribble(&ring, info.ring_size);
		i = rnd() % CQS;
		fire_in(&cqs[i], rnd() % 4, rnd() % 2 ? "hardirq" : "process",
			-1);
		fire(&theirs, 1);
		fair++;
		switch (rnd() % 8) {
		case 0:
			ret = rd_nowait(chan, events, sizeof(events));
			ok(ret == -EAGAIN || (ret > 0 && ret % DESC_SIZE == 0));
			break;
		case 1:
			ret = rd_nowait(chan, (char *)NULL, DESC_SIZE);
			ok(ret == -EAGAIN || ret == -EFAULT);
			break;
		case 2:
			poll_now(chan);
			break;
		case 3:
			must(assoc_query(&cqs[i], &assoc));
			ok(assoc.pending + assoc.reported <=
			   (uint64_t)fired(&cqs[i]));
			must(channel_query(&ctx, chan, &info));
			break;
		case 4:
			must(assoc_move(&cqs[i], plain));
			must(assoc_move(&cqs[i], chan));
			break;
		case 5:
			must(assoc_destroy(&cqs[i], 0, &resp));
			ok(resp.events_reported + resp.events_discarded <=
			   (uint64_t)fired(&cqs[i]));
			must(cq_destroy(&cqs[i]));
			cq_on(&ctx, &cqs[i], chan);
			break;
		case 6:
			if (round < 2000) {
				must(munmap(ring.head, info.ring_size) ?
				     -errno : 0);
				ring.head = mmap(NULL, info.ring_size,
						 PROT_READ | PROT_WRITE,
						 MAP_SHARED, chan, 0);
				must(ring.head == MAP_FAILED ? -errno : 0);
			}
			break;
		default:
			eq(channel_wake(&ctx, chan), 0);
			break;
		}
		if (round % 64 == 0) {
			long long sum = 0;
			struct cq *const list[] = { &theirs };

			must(drain(good, list, 1, &sum));
			eq(sum, fair);
			fair = 0;
		}
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	must(-pthread_join(thread, NULL));
	ret = 0;
	while (poll_now(chan) == (POLLIN | POLLRDNORM) && ret++ < 100000)
		rd_nowait(chan, events, sizeof(events));
	/* Then it goes like any other. */
	for (i = 0; i < CQS; i++)
		must(assoc_destroy(&cqs[i], 0, &resp));
	eq(channel_destroy(&ctx, chan), 0);
	must(munmap(ring.head, info.ring_size) ? -errno : 0);
}

int main(int argc, char **argv)
{
	static void (*const parts[])(void) = {
		order, coalesce, counts, gone, attention, hungry, bad, killed,
		stress, fuzz,
	};
	int part;

	part = abi_init(argc, argv, "order coalesce counts gone attention hungry "
			"bad killed stress fuzz");
	ours = true;
	parts[part]();
	return abi_done();
}
