// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_testdev - RDMA devices that do nothing but fire completion events,
 * when and where a test wants them.
 *
 * A CQ is named by its tag, a u64 that the test passes as driver data when it
 * creates the CQ. A CQ without driver data has no tag, and fires nothing but
 * by compch_testdev_fire_cq(). Tests drive this from userspace through
 *
 *   /sys/kernel/debug/compch_testdev/fire (write)
 *	"TAG COUNT CONTEXT CPU"		calls the CQ's completion handler
 *		COUNT times, then returns. CONTEXT is process, softirq or
 *		hardirq; CPU is a number, or "any".
 *	"start TAG COUNT CONTEXT CPU"	the same, but from a thread and at
 *		once; with COUNT 0 until it is stopped.
 *	"stop TAG"			stops that thread.
 *	"load TAG"			reads the CQ's completion handler, as a
 *		driver does that is interrupted just before it calls it.
 *	"late TAG COUNT CONTEXT CPU"	calls that handler, whatever the CQ's
 *		is by now.
 *
 *   /sys/kernel/debug/compch_testdev/bench (write, then read on the same file)
 *	"TAG CQS COUNT"			calls the completion handlers of the
 *		CQS CQs whose tags are TAG and up in turn, COUNT times in all,
 *		in process context with interrupts off. Afterwards the file
 *		reads as "calls COUNT ticks T empty E start S end F": by the
 *		cycle counter, what the calls took, what the same loop takes
 *		with a handler that does nothing, when the last piece of
 *		TESTDEV_IRQ_BURST calls began and when it ended.
 *
 *   /sys/kernel/debug/compch_testdev/cqs (read)
 *	One line for each CQ with a tag: "TAG fired N notified M", the calls
 *	of its completion handler and the requests for notification so far.
 *
 *   /sys/kernel/debug/compch_testdev/ctl (write)
 *	"del N"		unregisters device N, as unplugging it would
 *	"add N"		registers it anew
 *
 * A write fails with EINVAL if it makes no sense, with ENOENT if there is no
 * such CQ, thread or device, with EEXIST if the device or thread is there
 * already, and with ENXIO if the CPU is not online.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat_rdma.h"
#include "compch_testdev.h"

/*
 * No driver has this number: a program that takes any other one for this
 * device's, or ignores it, shows up.
 */
#define TESTDEV_DRIVER_ID	((enum rdma_driver_id)0x7e57)

/* Do not keep interrupts off for longer than this many events take */
#define TESTDEV_IRQ_BURST	256

static unsigned int ndev = 2;
module_param(ndev, uint, 0444);
MODULE_PARM_DESC(ndev, "Number of devices (default 2)");

static bool disassociate = true;
module_param(disassociate, bool, 0644);
MODULE_PARM_DESC(disassociate,
		 "Devices added from now on can be removed while in use (default Y)");

struct testdev {
	struct ib_device ibdev;
	unsigned int index;
	atomic_t wq_num;
};

struct testdev_slot {
	/* Serialises add and del, which may take as long as the device's users */
	struct mutex lock;
	struct testdev *dev;
};

static struct testdev_slot slots[COMPCH_TESTDEV_MAX_DEVS];

/**
 * struct testdev_cq - a CQ
 * @ibcq:	what the core knows of it
 * @tag:	its name
 * @has_tag:	it has one
 * @users:	1 until it is destroyed, and 1 for each call that looked it up
 * @unused:	@users is down to 0
 * @fired:	calls of the completion handler
 * @notified:	requests for notification
 * @loaded:	the completion handler for late calls
 * @lock:	guards what follows
 * @dead:	no thread may be started any more
 * @thread:	fires on its own
 * @thread_count: how often, or 0 for until it is stopped
 * @thread_context: in which context
 * @thread_cpu: on which CPU
 */
struct testdev_cq {
	struct ib_cq ibcq;
	u64 tag;
	bool has_tag;
	refcount_t users;
	struct completion unused;
	atomic64_t fired;
	atomic64_t notified;
	ib_comp_handler loaded;
	struct mutex lock;
	bool dead;
	struct task_struct *thread;
	unsigned int thread_count;
	enum compch_testdev_context thread_context;
	int thread_cpu;
};

struct testdev_ucontext {
	struct ib_ucontext ibucontext;
};

struct testdev_pd {
	struct ib_pd ibpd;
};

static DEFINE_XARRAY(testdev_cqs);
static struct dentry *testdev_debugfs;

static struct testdev_cq *to_tcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct testdev_cq, ibcq);
}

/* --- CQs by tag ----------------------------------------------------------- */

static struct testdev_cq *tcq_get(u64 tag)
{
	struct testdev_cq *tcq = NULL;

	xa_lock(&testdev_cqs);
	if (tag <= ULONG_MAX)
		tcq = xa_load(&testdev_cqs, tag);
	if (tcq)
		refcount_inc(&tcq->users);
	xa_unlock(&testdev_cqs);
	return tcq;
}

static void tcq_put(struct testdev_cq *tcq)
{
	if (refcount_dec_and_test(&tcq->users))
		complete(&tcq->unused);
}

/* --- firing --------------------------------------------------------------- */

struct testdev_firing {
	struct testdev_cq *tcq;
	ib_comp_handler handler;
	unsigned int count;
	bool soft;
	struct irq_work work;
	struct tasklet_struct tasklet;
	struct completion done;
};

/* Called in the context asked for; a @handler of NULL is that of the moment */
static void fire_here(struct testdev_cq *tcq, ib_comp_handler handler,
		      unsigned int count)
{
	struct ib_cq *cq = &tcq->ibcq;

	while (count--) {
		atomic64_inc(&tcq->fired);
		if (handler)
			handler(cq, cq->cq_context);
		else
			cq->comp_handler(cq, cq->cq_context);
	}
}

static long fire_process(void *arg)
{
	struct testdev_firing *firing = arg;

	might_sleep();
	fire_here(firing->tcq, firing->handler, firing->count);
	return 0;
}

static void fire_softirq(struct tasklet_struct *tasklet)
{
	struct testdev_firing *firing =
		container_of(tasklet, struct testdev_firing, tasklet);

	WARN_ON_ONCE(!in_serving_softirq() || in_hardirq());
	fire_here(firing->tcq, firing->handler, firing->count);
	complete(&firing->done);
}

static void fire_hardirq(struct irq_work *work)
{
	struct testdev_firing *firing =
		container_of(work, struct testdev_firing, work);

	WARN_ON_ONCE(!in_hardirq());
	if (firing->soft) {
		tasklet_schedule(&firing->tasklet);
		return;
	}
	fire_here(firing->tcq, firing->handler, firing->count);
	complete(&firing->done);
}

static void fire_kick(void *arg)
{
	struct testdev_firing *firing = arg;

	irq_work_queue(&firing->work);
}

static void fire_irq(struct testdev_firing *firing, int cpu)
{
	reinit_completion(&firing->done);
	if (cpu == COMPCH_TESTDEV_ANY_CPU)
		fire_kick(firing);
	else
		smp_call_function_single(cpu, fire_kick, firing, 1);
	wait_for_completion(&firing->done);
	/* They may still be about to leave *firing alone. */
	irq_work_sync(&firing->work);
	tasklet_kill(&firing->tasklet);
}

static int fire(struct testdev_cq *tcq, ib_comp_handler handler,
		unsigned int count, enum compch_testdev_context context,
		int cpu)
{
	struct testdev_firing firing = {
		.tcq = tcq,
		.handler = handler,
		.soft = context == COMPCH_TESTDEV_SOFTIRQ,
		/* As drivers' interrupts are: a thread on a real-time kernel. */
		.work = IRQ_WORK_INIT(fire_hardirq),
	};
	int ret = 0;

	init_completion(&firing.done);
	tasklet_setup(&firing.tasklet, fire_softirq);

	if (context == COMPCH_TESTDEV_PROCESS &&
	    cpu == COMPCH_TESTDEV_ANY_CPU) {
		fire_here(tcq, handler, count);
		return 0;
	}

	cpus_read_lock();
	if (cpu != COMPCH_TESTDEV_ANY_CPU &&
	    (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))) {
		ret = -ENXIO;
	} else if (context == COMPCH_TESTDEV_PROCESS) {
		firing.count = count;
		ret = work_on_cpu(cpu, fire_process, &firing);
	} else {
		while (count) {
			firing.count = min_t(unsigned int, count,
					     TESTDEV_IRQ_BURST);
			count -= firing.count;
			fire_irq(&firing, cpu);
		}
	}
	cpus_read_unlock();
	return ret;
}

/**
 * compch_testdev_fire_cq - call the completion handler of a CQ
 * @ibcq: a CQ of one of this module's devices, which the caller keeps alive
 * @count: how often
 * @context: in which context
 * @cpu: on which CPU, or COMPCH_TESTDEV_ANY_CPU
 */
int compch_testdev_fire_cq(struct ib_cq *ibcq, unsigned int count,
			   enum compch_testdev_context context, int cpu)
{
	return fire(to_tcq(ibcq), NULL, count, context, cpu);
}
EXPORT_SYMBOL_GPL(compch_testdev_fire_cq);

/**
 * compch_testdev_fire - call the completion handler of the CQ with a tag
 * @tag: the tag
 * @count: how often
 * @context: in which context
 * @cpu: on which CPU, or COMPCH_TESTDEV_ANY_CPU
 */
int compch_testdev_fire(u64 tag, unsigned int count,
			enum compch_testdev_context context, int cpu)
{
	struct testdev_cq *tcq = tcq_get(tag);
	int ret;

	if (!tcq)
		return -ENOENT;
	ret = fire(tcq, NULL, count, context, cpu);
	tcq_put(tcq);
	return ret;
}
EXPORT_SYMBOL_GPL(compch_testdev_fire);

static int tcq_load(u64 tag)
{
	struct testdev_cq *tcq = tcq_get(tag);

	if (!tcq)
		return -ENOENT;
	mutex_lock(&tcq->lock);
	tcq->loaded = READ_ONCE(tcq->ibcq.comp_handler);
	mutex_unlock(&tcq->lock);
	tcq_put(tcq);
	return 0;
}

static int tcq_fire_late(u64 tag, unsigned int count,
			 enum compch_testdev_context context, int cpu)
{
	struct testdev_cq *tcq = tcq_get(tag);
	ib_comp_handler loaded;
	int ret = -EINVAL;

	if (!tcq)
		return -ENOENT;
	mutex_lock(&tcq->lock);
	loaded = tcq->loaded;
	mutex_unlock(&tcq->lock);
	if (loaded)
		ret = fire(tcq, loaded, count, context, cpu);
	tcq_put(tcq);
	return ret;
}

static int fire_thread(void *arg)
{
	struct testdev_cq *tcq = arg;
	unsigned int left = tcq->thread_count;
	int ret = 0;

	while (!kthread_should_stop()) {
		if (!ret && (left || !tcq->thread_count)) {
			ret = fire(tcq, NULL, 1, tcq->thread_context,
				   tcq->thread_cpu);
			left--;
			cond_resched();
			continue;
		}
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return ret;
}

static int tcq_start(struct testdev_cq *tcq, unsigned int count,
		     enum compch_testdev_context context, int cpu)
{
	struct task_struct *thread;

	lockdep_assert_held(&tcq->lock);

	if (tcq->dead)
		return -ENOENT;
	if (tcq->thread)
		return -EEXIST;
	tcq->thread_count = count;
	tcq->thread_context = context;
	tcq->thread_cpu = cpu;
	thread = kthread_run(fire_thread, tcq, "compch_testdev");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	tcq->thread = thread;
	return 0;
}

static int tcq_stop(struct testdev_cq *tcq)
{
	struct task_struct *thread = tcq->thread;
	int ret;

	lockdep_assert_held(&tcq->lock);

	if (!thread)
		return -ENOENT;
	tcq->thread = NULL;
	ret = kthread_stop(thread);
	/* It was stopped before it got to run. */
	return ret == -EINTR ? 0 : ret;
}

/**
 * compch_testdev_start - have a thread call the completion handler of a CQ
 * @tag: the CQ's tag
 * @count: how often; 0 for until it is stopped
 * @context: in which context
 * @cpu: on which CPU, or COMPCH_TESTDEV_ANY_CPU
 *
 * It must be stopped, even if it has done its @count calls; destroying the CQ
 * stops it too.
 */
int compch_testdev_start(u64 tag, unsigned int count,
			 enum compch_testdev_context context, int cpu)
{
	struct testdev_cq *tcq = tcq_get(tag);
	int ret;

	if (!tcq)
		return -ENOENT;
	mutex_lock(&tcq->lock);
	ret = tcq_start(tcq, count, context, cpu);
	mutex_unlock(&tcq->lock);
	tcq_put(tcq);
	return ret;
}
EXPORT_SYMBOL_GPL(compch_testdev_start);

/**
 * compch_testdev_stop - stop the thread of a CQ
 * @tag: the CQ's tag
 */
int compch_testdev_stop(u64 tag)
{
	struct testdev_cq *tcq = tcq_get(tag);
	int ret;

	if (!tcq)
		return -ENOENT;
	mutex_lock(&tcq->lock);
	ret = tcq_stop(tcq);
	mutex_unlock(&tcq->lock);
	tcq_put(tcq);
	return ret;
}
EXPORT_SYMBOL_GPL(compch_testdev_stop);

/* --- measuring ------------------------------------------------------------ */

/**
 * struct bench_call - a call of a completion handler
 * @cq: of this CQ
 * @handler: the handler
 */
struct bench_call {
	struct ib_cq *cq;
	ib_comp_handler handler;
};

/**
 * struct bench - what an open file of "bench" knows
 * @lock: guards what follows
 * @len: of @text
 * @text: the last result
 */
struct bench {
	struct mutex lock;
	size_t len;
	char text[160];
};

static noinline void bench_no_handler(struct ib_cq *cq, void *cq_context)
{
	/* It is called, all the same. */
	barrier();
}

/* The same machine code for all that is measured, the empty loop included */
static noinline u64 bench_loop(const struct bench_call *calls, unsigned int n,
			       unsigned int count, u64 *start, u64 *end)
{
	const struct bench_call *call = calls;
	unsigned int burst, i;
	unsigned long flags;
	u64 ticks = 0;

	while (count) {
		burst = min_t(unsigned int, count, TESTDEV_IRQ_BURST);
		count -= burst;
		local_irq_save(flags);
		*start = get_cycles();
		for (i = 0; i < burst; i++) {
			call->handler(call->cq, call->cq->cq_context);
			if (++call == calls + n)
				call = calls;
		}
		*end = get_cycles();
		local_irq_restore(flags);
		ticks += *end - *start;
		cond_resched();
	}
	return ticks;
}

static int bench_run(struct bench *bench, u64 tag, unsigned int n,
		     unsigned int count)
{
	struct bench_call *calls, nothing = { .handler = bench_no_handler };
	u64 ticks, empty, start, end;
	struct testdev_cq *tcq;
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&bench->lock);

	calls = kvcalloc(n, sizeof(*calls), GFP_KERNEL);
	if (!calls)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		tcq = tcq_get(tag + i);
		if (!tcq) {
			ret = -ENOENT;
			goto put;
		}
		calls[i].cq = &tcq->ibcq;
		calls[i].handler = READ_ONCE(tcq->ibcq.comp_handler);
	}

	nothing.cq = calls[0].cq;
	empty = bench_loop(&nothing, 1, count, &start, &end);
	ticks = bench_loop(calls, n, count, &start, &end);
	bench->len = scnprintf(bench->text, sizeof(bench->text),
			       "calls %u ticks %llu empty %llu start %llu end %llu\n",
			       count, ticks, empty, start, end);
put:
	for (n = i, i = 0; i < n; i++) {
		tcq = to_tcq(calls[i].cq);
		if (!ret)
			atomic64_add(count / n + (i < count % n), &tcq->fired);
		tcq_put(tcq);
	}
	kvfree(calls);
	return ret;
}

/* --- verbs ---------------------------------------------------------------- */

static int testdev_query_device(struct ib_device *ibdev,
				struct ib_device_attr *attr,
				struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->max_cq = INT_MAX;
	attr->max_cqe = INT_MAX;
	attr->max_pd = INT_MAX;
	return 0;
}

static int testdev_query_port(struct ib_device *ibdev, u32 port,
			      struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int testdev_get_port_immutable(struct ib_device *ibdev, u32 port,
				      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
	return 0;
}

static int testdev_alloc_ucontext(struct ib_ucontext *context,
				  struct ib_udata *udata)
{
	return 0;
}

static void testdev_dealloc_ucontext(struct ib_ucontext *context)
{
}

static void testdev_disassociate_ucontext(struct ib_ucontext *context)
{
}

static int testdev_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int testdev_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int testdev_create_cq(struct ib_cq *ibcq,
			     const struct ib_cq_init_attr *attr,
			     struct compat_create_cq_arg *arg)
{
	struct ib_udata *udata = compat_create_cq_udata(arg);
	struct testdev_cq *tcq = to_tcq(ibcq);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;

	refcount_set(&tcq->users, 1);
	init_completion(&tcq->unused);
	mutex_init(&tcq->lock);
	ibcq->cqe = attr->cqe;

	if (!udata || !udata->inlen)
		return 0;
	if (udata->inlen != sizeof(tcq->tag))
		return -EINVAL;
	ret = ib_copy_from_udata(&tcq->tag, udata, sizeof(tcq->tag));
	if (ret)
		return ret;
	if (tcq->tag > ULONG_MAX)
		return -EINVAL;
	tcq->has_tag = true;
	ret = xa_insert(&testdev_cqs, tcq->tag, tcq, GFP_KERNEL);
	return ret == -EBUSY ? -EEXIST : ret;
}

/* As with real hardware, no event comes any more when this returns. */
static int testdev_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct testdev_cq *tcq = to_tcq(ibcq);

	if (tcq->has_tag)
		xa_erase(&testdev_cqs, tcq->tag);
	mutex_lock(&tcq->lock);
	tcq->dead = true;
	tcq_stop(tcq);
	mutex_unlock(&tcq->lock);
	tcq_put(tcq);
	wait_for_completion(&tcq->unused);
	mutex_destroy(&tcq->lock);
	return 0;
}

static int testdev_poll_cq(struct ib_cq *ibcq, int num_entries,
			   struct ib_wc *wc)
{
	return 0;
}

static int testdev_req_notify_cq(struct ib_cq *ibcq,
				 enum ib_cq_notify_flags flags)
{
	atomic64_inc(&to_tcq(ibcq)->notified);
	return 0;
}

/* The cheapest object that uses a CQ */
static struct ib_wq *testdev_create_wq(struct ib_pd *pd,
				       struct ib_wq_init_attr *attr,
				       struct ib_udata *udata)
{
	struct testdev *dev = container_of(pd->device, struct testdev, ibdev);
	struct ib_wq *wq = kzalloc(sizeof(*wq), GFP_KERNEL);

	if (!wq)
		return ERR_PTR(-ENOMEM);
	wq->wq_num = atomic_inc_return(&dev->wq_num);
	return wq;
}

static int testdev_destroy_wq(struct ib_wq *wq, struct ib_udata *udata)
{
	kfree(wq);
	return 0;
}

static int testdev_modify_wq(struct ib_wq *wq, struct ib_wq_attr *attr,
			     u32 mask, struct ib_udata *udata)
{
	return 0;
}

static const struct ib_device_ops testdev_ops = {
	.owner = THIS_MODULE,
	.driver_id = TESTDEV_DRIVER_ID,
	.uverbs_abi_ver = 1,
	.alloc_pd = testdev_alloc_pd,
	.alloc_ucontext = testdev_alloc_ucontext,
	.create_cq = testdev_create_cq,
	.create_wq = testdev_create_wq,
	.dealloc_pd = testdev_dealloc_pd,
	.dealloc_ucontext = testdev_dealloc_ucontext,
	.destroy_cq = testdev_destroy_cq,
	.destroy_wq = testdev_destroy_wq,
	.get_port_immutable = testdev_get_port_immutable,
	.modify_wq = testdev_modify_wq,
	.poll_cq = testdev_poll_cq,
	.query_device = testdev_query_device,
	.query_port = testdev_query_port,
	.req_notify_cq = testdev_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, testdev_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, testdev_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, testdev_ucontext, ibucontext),
};

static const struct ib_device_ops testdev_disassociate_ops = {
	.disassociate_ucontext = testdev_disassociate_ucontext,
};

/* --- devices -------------------------------------------------------------- */

/**
 * compch_testdev_add - register a device
 * @index: its number; its name is "compch_test" and this
 */
int compch_testdev_add(unsigned int index)
{
	struct testdev_slot *slot;
	struct testdev *dev;
	char name[32];
	int ret;

	if (index >= ARRAY_SIZE(slots))
		return -EINVAL;
	slot = &slots[index];

	mutex_lock(&slot->lock);
	ret = -EEXIST;
	if (slot->dev)
		goto unlock;

	ret = -ENOMEM;
	dev = ib_alloc_device(testdev, ibdev);
	if (!dev)
		goto unlock;
	dev->index = index;
	dev->ibdev.node_type = RDMA_NODE_UNSPECIFIED;
	dev->ibdev.phys_port_cnt = 1;
	dev->ibdev.num_comp_vectors = num_possible_cpus();
	dev->ibdev.node_guid = cpu_to_be64(0x0200c0ffee000000ULL | index);
	ib_set_device_ops(&dev->ibdev, &testdev_ops);
	if (disassociate)
		ib_set_device_ops(&dev->ibdev, &testdev_disassociate_ops);

	snprintf(name, sizeof(name), "compch_test%u", index);
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		goto dealloc;
	slot->dev = dev;
	goto unlock;

dealloc:
	ib_dealloc_device(&dev->ibdev);
unlock:
	mutex_unlock(&slot->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(compch_testdev_add);

/**
 * compch_testdev_del - unregister a device
 * @index: its number
 *
 * Unless it was registered with disassociate, this waits for its users.
 */
int compch_testdev_del(unsigned int index)
{
	struct testdev_slot *slot;
	int ret = 0;

	if (index >= ARRAY_SIZE(slots))
		return -EINVAL;
	slot = &slots[index];

	mutex_lock(&slot->lock);
	if (slot->dev) {
		ib_unregister_device(&slot->dev->ibdev);
		ib_dealloc_device(&slot->dev->ibdev);
		slot->dev = NULL;
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&slot->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(compch_testdev_del);

/* --- debugfs -------------------------------------------------------------- */

static int parse_fire(char **args, u64 *tag, unsigned int *count,
		      enum compch_testdev_context *context, int *cpu)
{
	static const char * const contexts[] = {
		[COMPCH_TESTDEV_PROCESS] = "process",
		[COMPCH_TESTDEV_SOFTIRQ] = "softirq",
		[COMPCH_TESTDEV_HARDIRQ] = "hardirq",
	};
	int i;

	if (kstrtou64(args[0], 0, tag) || kstrtouint(args[1], 0, count))
		return -EINVAL;
	i = match_string(contexts, ARRAY_SIZE(contexts), args[2]);
	if (i < 0)
		return -EINVAL;
	*context = i;
	if (!strcmp(args[3], "any"))
		*cpu = COMPCH_TESTDEV_ANY_CPU;
	else if (kstrtoint(args[3], 0, cpu) || *cpu < 0)
		return -EINVAL;
	return 0;
}

static int fire_command(int argc, char **argv)
{
	enum compch_testdev_context context;
	unsigned int count;
	u64 tag;
	int cpu;
	int ret;

	if (argc == 2) {
		if (kstrtou64(argv[1], 0, &tag))
			return -EINVAL;
		if (!strcmp(argv[0], "stop"))
			return compch_testdev_stop(tag);
		if (!strcmp(argv[0], "load"))
			return tcq_load(tag);
	}
	if (argc == 5 && !strcmp(argv[0], "late")) {
		ret = parse_fire(argv + 1, &tag, &count, &context, &cpu);
		if (!ret && !count)
			ret = -EINVAL;
		return ret ?: tcq_fire_late(tag, count, context, cpu);
	}
	if (argc == 5 && !strcmp(argv[0], "start")) {
		ret = parse_fire(argv + 1, &tag, &count, &context, &cpu);
		return ret ?: compch_testdev_start(tag, count, context, cpu);
	}
	if (argc == 4) {
		ret = parse_fire(argv, &tag, &count, &context, &cpu);
		if (!ret && !count)
			ret = -EINVAL;
		return ret ?: compch_testdev_fire(tag, count, context, cpu);
	}
	return -EINVAL;
}

static int ctl_command(int argc, char **argv)
{
	unsigned int index;

	if (argc != 2 || kstrtouint(argv[1], 0, &index))
		return -EINVAL;
	if (!strcmp(argv[0], "add"))
		return compch_testdev_add(index);
	if (!strcmp(argv[0], "del"))
		return compch_testdev_del(index);
	return -EINVAL;
}

static ssize_t write_command(const char __user *ubuf, size_t size,
			     int (*command)(int argc, char **argv))
{
	char **argv;
	char *buf;
	int argc;
	int ret;

	if (size > 256)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, size);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	argv = argv_split(GFP_KERNEL, buf, &argc);
	kfree(buf);
	if (!argv)
		return -ENOMEM;
	ret = command(argc, argv);
	argv_free(argv);
	return ret ?: size;
}

static ssize_t fire_write(struct file *file, const char __user *ubuf,
			  size_t size, loff_t *pos)
{
	return write_command(ubuf, size, fire_command);
}

static const struct file_operations fire_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fire_write,
};

static int bench_open(struct inode *inode, struct file *file)
{
	struct bench *bench = kzalloc(sizeof(*bench), GFP_KERNEL);

	if (!bench)
		return -ENOMEM;
	mutex_init(&bench->lock);
	file->private_data = bench;
	return 0;
}

static int bench_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t bench_read(struct file *file, char __user *ubuf, size_t size,
			  loff_t *pos)
{
	struct bench *bench = file->private_data;
	ssize_t ret;

	mutex_lock(&bench->lock);
	ret = simple_read_from_buffer(ubuf, size, pos, bench->text, bench->len);
	mutex_unlock(&bench->lock);
	return ret;
}

static ssize_t bench_write(struct file *file, const char __user *ubuf,
			   size_t size, loff_t *pos)
{
	struct bench *bench = file->private_data;
	unsigned int n, count;
	char buf[64];
	u64 tag;
	int ret;

	if (size >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, size))
		return -EFAULT;
	buf[size] = '\0';
	if (sscanf(buf, "%llu %u %u", &tag, &n, &count) != 3 || !n || !count)
		return -EINVAL;

	mutex_lock(&bench->lock);
	ret = bench_run(bench, tag, n, count);
	mutex_unlock(&bench->lock);
	return ret ?: size;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.open = bench_open,
	.release = bench_release,
	.read = bench_read,
	.write = bench_write,
};

static ssize_t ctl_write(struct file *file, const char __user *ubuf,
			 size_t size, loff_t *pos)
{
	return write_command(ubuf, size, ctl_command);
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = ctl_write,
};

static int cqs_show(struct seq_file *seq, void *unused)
{
	struct testdev_cq *tcq;
	unsigned long tag;

	xa_lock(&testdev_cqs);
	xa_for_each(&testdev_cqs, tag, tcq)
		seq_printf(seq, "%llu fired %lld notified %lld\n", tcq->tag,
			   atomic64_read(&tcq->fired),
			   atomic64_read(&tcq->notified));
	xa_unlock(&testdev_cqs);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cqs);

/* --- module --------------------------------------------------------------- */

static void del_all(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++)
		compch_testdev_del(i);
}

static int __init testdev_init(void)
{
	unsigned int i;
	int ret;

	if (ndev > ARRAY_SIZE(slots))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		mutex_init(&slots[i].lock);
	for (i = 0; i < ndev; i++) {
		ret = compch_testdev_add(i);
		if (ret)
			goto del;
	}

	testdev_debugfs = debugfs_create_dir("compch_testdev", NULL);
	debugfs_create_file("fire", 0200, testdev_debugfs, NULL, &fire_fops);
	debugfs_create_file("bench", 0600, testdev_debugfs, NULL, &bench_fops);
	debugfs_create_file("ctl", 0200, testdev_debugfs, NULL, &ctl_fops);
	debugfs_create_file("cqs", 0400, testdev_debugfs, NULL, &cqs_fops);
	return 0;

del:
	del_all();
	return ret;
}
module_init(testdev_init);

static void __exit testdev_exit(void)
{
	debugfs_remove_recursive(testdev_debugfs);
	del_all();
	WARN_ON(!xa_empty(&testdev_cqs));
}
module_exit(testdev_exit);

MODULE_DESCRIPTION("RDMA devices that fire completion events on demand (for tests)");
MODULE_LICENSE("Dual BSD/GPL");
