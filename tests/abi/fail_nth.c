// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory that cannot be had, and copies that fault: each call is made with its
 * first allocation or copy failing, then with its second, and so on until none
 * fails. Whatever it returns, nothing is left half done.
 *
 *   calls   on a device
 *   add     the device is registered
 *   load    the module is loaded (COMPCH_KO names it)
 */
#include "abi.h"

#include <sys/epoll.h>
#include <sys/klog.h>
#include <sys/syscall.h>

#define CTL	"/sys/kernel/debug/compch_testdev/ctl"
#define SYSFS	"/sys/class/infiniband/compch_test0"

/* More than any call here needs */
#define FAILURES_MAX	20000

/* --- failures -------------------------------------------------------------- */

static const struct setting {
	const char *path;
	const char *value;
	const char *usual;
} settings[] = {
	{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N", "Y" },
	{ "/sys/kernel/debug/failslab/verbose", "0", "2" },
	{ "/sys/kernel/debug/fail_page_alloc/verbose", "0", "2" },
	{ "/sys/kernel/debug/fail_usercopy/verbose", "0", "2" },
	/* kmemleak's complaint of a failure of its own, under a raw lock */
	{ "/proc/sys/kernel/printk", "4", "7" },
	/* Calls only: to load a module takes pages by the thousand. */
	{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N", "Y" },
	{ "/sys/kernel/debug/fail_page_alloc/min-order", "0", "1" },
};

#define SETTINGS_OF_PAGES	2

static int fail_nth;

static void failures_init(bool pages)
{
	unsigned int n = ARRAY_SIZE(settings) - (pages ? 0 : SETTINGS_OF_PAGES);
	unsigned int i;

	fail_nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || access(settings[0].path, W_OK))
		skip("this kernel cannot make allocations fail");
	/* Those that are not there are not needed. */
	for (i = 0; i < n; i++)
		file_write(settings[i].path, "%s", settings[i].value);
}

static void failures_end(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		file_write(settings[i].path, "%s", settings[i].usual);
}

/* The nth allocation or copy of this thread, from now on, fails. */
static void arm(unsigned int nth)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%u", nth);

	must(pwrite(fail_nth, buf, len, 0) == len ? 0 : -errno);
}

/* From here on none does. Returns how many more would not have failed. */
static unsigned int left(void)
{
	char buf[16] = "";

	/* These two copy as well, and may be what fails. */
	if (pread(fail_nth, buf, sizeof(buf) - 1, 0) < 0)
		return 1;
	if (pwrite(fail_nth, "0", 1, 0) < 0)
		return 2;
	return strtoul(buf, NULL, 10);
}

/* The same. Returns whether one has failed. */
static bool disarm(void)
{
	return !left();
}

/* --- calls ----------------------------------------------------------------- */

struct state {
	struct ctx ctx;
	int chan, other, ep;
	struct cq cq;
	struct cq crowd[64];
	int fds;
	int got;
	uint64_t pending;
	uint64_t reported;
	struct ib_uverbs_comp_event_desc events[128];
};

/*
 * A call that may fail. @undo takes back what it has done, @intact checks that
 * it has done nothing; a call that has done its work although it says that it
 * failed is told apart by @done.
 */
struct op {
	const char *name;
	int (*call)(struct state *s);
	void (*undo)(struct state *s);
	void (*intact)(struct state *s);
	bool (*done)(struct state *s);
	/* It does its work whatever fails. */
	bool steadfast;
};

static bool fds_are(const struct state *s, int fds)
{
	return fd_count() == s->fds + fds;
}

static void walk(struct state *s, const struct op *op)
{
	int failed = 0, survived = 0;
	unsigned int nth;
	bool hit;
	int ret;

	for (nth = 1; nth < FAILURES_MAX; nth++) {
		check_case("%s, failure %u", op->name, nth);
		s->fds = fd_count();
		arm(nth);
		ret = op->call(s);
		hit = disarm();
		if (ret >= 0) {
			if (op->undo)
				op->undo(s);
			if (!hit)
				break;
			survived++;
			continue;
		}
		failed++;
		ok(hit);
		ok(!op->steadfast);
		if (ret != -ENOMEM)
			eq(ret, -EFAULT);
		if (op->done && op->done(s))
			op->undo(s);
		else
			op->intact(s);
	}
	ok(nth < FAILURES_MAX);
	ok(op->steadfast || failed);
	printf("%s: %d failures, %d without consequence\n", op->name, failed,
	       survived);
}

static int create_call(struct state *s)
{
	s->got = channel_create(&s->ctx, COMPCH_CHANNEL_COALESCE);
	return s->got;
}

/* With a ring of some pages */
static int create_ring_call(struct state *s)
{
	s->got = channel_create_ring(&s->ctx, COMPCH_CHANNEL_COALESCE, 1000);
	return s->got;
}

/* The smallest, where no two runs differ in what is allocated for page tables */
static int create_small_ring_call(struct state *s)
{
	s->got = channel_create_ring(&s->ctx, COMPCH_CHANNEL_COALESCE, 1);
	return s->got;
}

static void create_undo(struct state *s)
{
	ok(fds_are(s, 1));
	channel_is(&s->ctx, s->got, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);
	eq(close(s->got), 0);
}

static void create_intact(struct state *s)
{
	ok(fds_are(s, 0));
}

static int assoc_call(struct state *s)
{
	return assoc_create(&s->cq, s->chan);
}

static unsigned int assocs(const struct state *s, int chan)
{
	struct compch_channel_info info;

	must(channel_query(&s->ctx, chan, &info));
	return info.associations;
}

static void assoc_undo(struct state *s)
{
	struct compch_assoc_destroy_resp resp;

	eq(fire(&s->cq, 1), 0);
	assoc_is(&s->cq, 1, 0, 0);
	eq(assoc_destroy(&s->cq, 0, &resp), 0);
	eq(resp.events_discarded, 1);
}

/* The CQ is nowhere, and has kept its own handler. */
static void assoc_intact(struct state *s)
{
	eq(fire(&s->cq, 1), 0);
	eq(poll_now(s->chan), 0);
	eq(assocs(s, s->chan), 0);
}

static void crowd_intact(struct state *s)
{
	eq(fire(&s->cq, 1), 0);
	eq(poll_now(s->chan), 0);
	eq(assocs(s, s->chan), ARRAY_SIZE(s->crowd));
}

static int move_call(struct state *s)
{
	return assoc_move(&s->cq, s->other);
}

static void move_undo(struct state *s)
{
	eq(poll_now(s->chan), 0);
	eq(poll_now(s->other), POLLIN | POLLRDNORM);
	eq(assocs(s, s->other), 1);
	eq(assoc_move(&s->cq, s->chan), 0);
}

static void move_intact(struct state *s)
{
	channel_is(&s->ctx, s->chan, COMPCH_CHANNEL_OPEN, 1, 0, 2, 0);
	channel_is(&s->ctx, s->other, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);
	assoc_is(&s->cq, 2, 0, 0);
}

static int assoc_query_call(struct state *s)
{
	struct compch_assoc_info info;

	return assoc_query(&s->cq, &info);
}

static int query_call(struct state *s)
{
	struct compch_channel_info info;

	return channel_query(&s->ctx, s->chan, &info);
}

static int read_call(struct state *s)
{
	s->got = rd(s->chan, s->events, s->pending * DESC_SIZE);
	return s->got;
}

/* It is all there, exactly once. */
static void read_undo(struct state *s)
{
	unsigned int i;

	eq(s->got, s->pending * DESC_SIZE);
	for (i = 0; i < s->pending; i++)
		if (!eq(s->events[i].cq_handle, s->cq.user_handle))
			break;
	s->reported += s->pending;
	channel_is(&s->ctx, s->chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, s->reported);
	assoc_is(&s->cq, 0, s->reported, 0);
	memset(s->events, 0, sizeof(s->events));
	eq(fire(&s->cq, s->pending), 0);
}

static int async_call(struct state *s)
{
	int flags = fcntl(s->chan, F_GETFL);

	return fcntl(s->chan, F_SETFL, flags | O_ASYNC) < 0 ? -errno : 0;
}

static void async_undo(struct state *s)
{
	int flags = fcntl(s->chan, F_GETFL);

	ok(flags & O_ASYNC);
	eq(fcntl(s->chan, F_SETFL, flags & ~O_ASYNC), 0);
}

static void async_intact(struct state *s)
{
	ok(!(fcntl(s->chan, F_GETFL) & O_ASYNC));
}

static int epoll_call(struct state *s)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(s->ep, EPOLL_CTL_ADD, s->chan, &event) < 0 ?
	       -errno : 0;
}

static void epoll_undo(struct state *s)
{
	struct epoll_event event = {};

	eq(epoll_wait(s->ep, &event, 1, 0), 1);
	eq(epoll_ctl(s->ep, EPOLL_CTL_DEL, s->chan, NULL), 0);
}

static void epoll_intact(struct state *s)
{
	eq(epoll_ctl(s->ep, EPOLL_CTL_DEL, s->chan, NULL) < 0 ? -errno : 0,
	   -ENOENT);
}

static int cancel_call(struct state *s)
{
	return channel_cancel(&s->ctx, s->other);
}

static void cancel_undo(struct state *s)
{
	channel_is(&s->ctx, s->other, COMPCH_CHANNEL_OPEN, 0, 1, 0, 0);
	eq(rd(s->other, s->events, DESC_SIZE), -ECANCELED);
}

static void cancel_intact(struct state *s)
{
	channel_is(&s->ctx, s->other, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);
}

static int destroy_call(struct state *s)
{
	return assoc_destroy(&s->cq, 0, NULL);
}

static void destroy_undo(struct state *s)
{
	eq(poll_now(s->chan), 0);
	eq(assocs(s, s->chan), 0);
	eq(assoc_create(&s->cq, s->chan), 0);
	eq(fire(&s->cq, 2), 0);
}

static void destroy_intact(struct state *s)
{
	assoc_is(&s->cq, 2, 0, 0);
	eq(poll_now(s->chan), POLLIN | POLLRDNORM);
}

/* The balance is copied twice: before, lest it fail, and after. */
static bool destroy_done(struct state *s)
{
	struct compch_assoc_info info;

	return assoc_query(&s->cq, &info) == -ENOENT;
}

static int channel_destroy_call(struct state *s)
{
	return channel_destroy(&s->ctx, s->other);
}

static void channel_destroy_undo(struct state *s)
{
	eq(rd(s->other, s->events, DESC_SIZE), -EIO);
	close(s->other);
	s->other = must(channel_create(&s->ctx, 0));
}

/* Closed with a CQ on it, which is then moved away. */
static int close_call(struct state *s)
{
	return close(s->other) < 0 ? -errno : 0;
}

static void close_undo(struct state *s)
{
	assoc_is(&s->cq, 2, 0, 0);
	s->other = must(channel_create(&s->ctx, 0));
	must(assoc_move(&s->cq, s->other));
}

static int calls(void)
{
	static const struct op create = {
		"CHANNEL CREATE", create_call, create_undo, create_intact
	}, create_ring = {
		"CHANNEL CREATE with a ring", create_ring_call, create_undo,
		create_intact
	}, create_small_ring = {
		"CHANNEL CREATE with a small ring", create_small_ring_call,
		create_undo, create_intact
	}, assoc = {
		"ASSOC CREATE", assoc_call, assoc_undo, assoc_intact
	}, crowded = {
		"ASSOC CREATE, one of many", assoc_call, assoc_undo, crowd_intact
	}, move = {
		"ASSOC MOVE", move_call, move_undo, move_intact
	}, destroy = {
		"ASSOC DESTROY", destroy_call, destroy_undo, destroy_intact,
		destroy_done
	}, close_it = {
		"close", close_call, close_undo, NULL, NULL, true
	}, reads[] = {
		{ "read", read_call, read_undo, NULL, NULL, true },
		{ "long read", read_call, read_undo, NULL, NULL, true },
	}, others[] = {
		{ "ASSOC QUERY", assoc_query_call, NULL, move_intact },
		{ "CHANNEL QUERY", query_call, NULL, move_intact },
		{ "O_ASYNC", async_call, async_undo, async_intact },
		{ "epoll", epoll_call, epoll_undo, epoll_intact },
		{ "CHANNEL CANCEL", cancel_call, cancel_undo, cancel_intact },
		{ "CHANNEL DESTROY", channel_destroy_call,
		  channel_destroy_undo, cancel_intact },
	};
	static const unsigned int lengths[ARRAY_SIZE(reads)] = { 3, 100 };
	static struct state s;
	unsigned int i;

	s.ctx = ctx_new(0);
	s.chan = must(channel_create(&s.ctx, 0));
	s.other = must(channel_create(&s.ctx, 0));
	s.ep = must(epoll_create1(EPOLL_CLOEXEC));
	must(cq_create(&s.ctx, &s.cq, -1));

	walk(&s, &create);
	walk(&s, &create_ring);
	walk(&s, &create_small_ring);
	walk(&s, &assoc);

	/* Enough for the module's table to grow, at the next one */
	check_case("many CQs");
	for (i = 0; i < ARRAY_SIZE(s.crowd); i++)
		cq_on(&s.ctx, &s.crowd[i], s.chan);
	walk(&s, &crowded);
	check_case("many CQs");
	for (i = 0; i < ARRAY_SIZE(s.crowd); i++) {
		eq(fire(&s.crowd[i], 1), 0);
		eq(rd(s.chan, s.events, DESC_SIZE), DESC_SIZE);
		eq(s.events[0].cq_handle, s.crowd[i].user_handle);
		eq(cq_off(&s.crowd[i]), 1);
	}
	close(s.chan);
	s.chan = must(channel_create(&s.ctx, 0));

	must(assoc_create(&s.cq, s.chan));
	eq(fire(&s.cq, 2), 0);
	walk(&s, &move);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		walk(&s, &others[i]);
	walk(&s, &destroy);

	check_case("close");
	must(assoc_move(&s.cq, s.other));
	walk(&s, &close_it);
	must(assoc_move(&s.cq, s.chan));

	for (i = 0; i < ARRAY_SIZE(reads); i++) {
		check_case("%s", reads[i].name);
		must(assoc_destroy(&s.cq, 0, NULL));
		close(s.chan);
		s.chan = must(channel_create(&s.ctx, 0));
		must(assoc_create(&s.cq, s.chan));
		s.reported = 0;
		s.pending = lengths[i];
		eq(fire(&s.cq, s.pending), 0);
		walk(&s, &reads[i]);
	}
	return abi_done();
}

/* --- the device ------------------------------------------------------------ */

static int ctl;

static int ctl_write(const char *command)
{
	return pwrite(ctl, command, strlen(command), 0) < 0 ? -errno : 0;
}

static bool has_uverbs(void)
{
	struct ctx ctx;
	int ret = ctx_open(&ctx, 0);

	if (!ret)
		ctx_close(&ctx);
	return ret != -ENODEV;
}

/* How a device came out of a failure */
struct outcomes {
	/* Not at all; without our channels; without the attributes that tell */
	int failed, without, unseen;
};

/*
 * The module extends the device in the middle of its registration, which may go
 * on without that. This ends when uverbs fails, which comes later, and leaks
 * nodes of its radix tree then.
 */
static void add_walk(struct outcomes *o)
{
	long long devices = counter("devices");
	bool hit, shown, seen = false;
	unsigned int nth;
	int ret;

	for (nth = 1; nth < FAILURES_MAX; nth++) {
		check_case("registration, failure %u", nth);
		arm(nth);
		ret = ctl_write("add 0");
		hit = disarm();
		if (ret) {
			o->failed++;
			ok(hit);
			eq(counter("devices"), devices);
			ok(access(SYSFS, F_OK));
			continue;
		}
		shown = !access(SYSFS "/compch", F_OK);
		if (counter("devices") == devices) {
			o->without++;
			ok(!shown);
		} else {
			eq(counter("devices"), devices + 1);
			o->unseen += !shown;
		}
		seen |= !shown;
		if (!hit || (seen && shown && !has_uverbs()))
			break;
		eq(ctl_write("del 0"), 0);
		eq(counter("devices"), devices);
	}
	ok(nth < FAILURES_MAX);
	eq(ctl_write("del 0"), 0);
	eq(counter("devices"), devices);
}

static int registration(void)
{
	struct outcomes o = {};
	int i;

	ctl = must(open(CTL, O_WRONLY | O_CLOEXEC));
	must(ctl_write("del 0"));
	/* What others allocate by the way varies, so a walk may miss one. */
	for (i = 0; i < 10 && !(o.failed && o.without && o.unseen); i++)
		add_walk(&o);
	ok(o.failed);
	ok(o.without);
	ok(o.unseen);
	printf("failures of the registration: %d, of the extension: %d, of its attributes: %d\n",
	       o.failed, o.without, o.unseen);

	check_case("at last");
	eq(ctl_write("add 0"), 0);
	eq(access(SYSFS "/compch", F_OK), 0);
	return abi_done();
}

/* --- the module ------------------------------------------------------------ */

static int load_module(int ko)
{
	return syscall(SYS_finit_module, ko, "", 0) ? -errno : 0;
}

static int unload_module(void)
{
	return syscall(SYS_delete_module, "ib_compch", 0) ? -errno : 0;
}

/*
 * Loads the module, and has the allocations fail from @first on, one each time.
 * Returns how many there were.
 */
static unsigned int load_walk(int ko, unsigned int first, int *failed,
			      int *survived)
{
	unsigned int nth;
	bool hit;
	int ret;

	for (nth = first; nth < FAILURES_MAX; nth++) {
		check_case("init_module, failure %u", nth);
		arm(nth);
		ret = load_module(ko);
		hit = disarm();
		if (!ret && !hit)
			break;
		ok(hit);
		if (ret) {
			++*failed;
			eq(ret, -ENOMEM);
			continue;
		}
		++*survived;
		must(unload_module());
	}
	ok(nth < FAILURES_MAX);
	return nth;
}

static int loading(void)
{
	const char *path = getenv("COMPCH_KO");
	int failed = 0, survived = 0;
	unsigned int first, end;
	int ko, i;

	if (!path)
		skip("COMPCH_KO does not name the module");
	ko = must(open(path, O_RDONLY | O_CLOEXEC));
	ctl = must(open(CTL, O_WRONLY | O_CLOEXEC));
	must(ctl_write("del 0"));
	must(ctl_write("del 1"));

	/*
	 * What the kernel takes until it knows that the module is there already.
	 * It complains when that fails, and a few more are for good measure: the
	 * module's own part is at the end.
	 */
	arm(FAILURES_MAX);
	eq(load_module(ko), -EEXIST);
	first = FAILURES_MAX - left() + 20;
	must(unload_module());

	/* kmemleak prints with a lock held that the console must not come under. */
	klogctl(6 /* SYSLOG_ACTION_CONSOLE_OFF */, NULL, 0);
	end = load_walk(ko, first, &failed, &survived);
	/* As above, for what the module does itself. */
	for (i = 0; i < 4; i++) {
		must(unload_module());
		end = load_walk(ko, end - 40, &failed, &survived);
	}
	klogctl(7 /* SYSLOG_ACTION_CONSOLE_ON */, NULL, 0);
	ok(failed);
	printf("from %u: %d failures, %d without consequence\n", first, failed,
	       survived);

	check_case("it is there");
	eq(ctl_write("add 0"), 0);
	eq(ctl_write("add 1"), 0);
	eq(counter("devices"), 2);
	return abi_done();
}

int main(int argc, char **argv)
{
	int mode = abi_init(argc, argv, "calls add load");
	int ret;

	deadline(240);
	failures_init(mode == 0);
	ret = mode == 0 ? calls() : mode == 1 ? registration() : loading();
	failures_end();
	return ret;
}
