// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs that were created on no channel, on a stock one, or on one of ours are
 * attached, moved and detached, in each order, with events that are pending, or
 * reported, or not acknowledged at each step.  Events are where they belong,
 * their counts are right, and at the end ibv_destroy_cq() returns, but not
 * before the last acknowledgement.
 */
#include "native.h"

enum origin { ON_NONE, ON_STOCK, ON_OURS, ORIGINS };
enum step { STAY, ATTACH, DETACH, MOVE, STEPS };
/* What there is when a step is made */
enum state { IDLE, PENDING, REPORTED, ACKNOWLEDGED, STATES };

struct run {
	struct native_cq n;
	struct ibv_comp_channel *on;	/* of ours, or NULL */
	enum origin origin;
	int reported, acknowledged;	/* on channels of ours */
	int stock_due;			/* of the stock one */
	int pending;
};

static struct rdma rdma;
static struct ibv_comp_channel *ours[2], *stock;

static void check(struct run *r)
{
	struct compch_cq_info info;

	CHECK(r->n.cq->channel ==
	      (r->on ? r->on : r->origin == ON_STOCK ? stock : NULL));
	if (!r->on) {
		CHECK_EQ(compch_query_cq(r->n.cq, &info), EINVAL);
		return;
	}
	CHECK_EQ(compch_query_cq(r->n.cq, &info), 0);
	CHECK_EQ(info.pending, r->pending);
	CHECK_EQ(info.reported, r->reported);
	/* Those of its stock channel may count as well. */
	if (r->origin != ON_STOCK)
		CHECK_EQ(info.acknowledged, r->acknowledged);
}

/* One event, and what becomes of it */
static void make_event(struct run *r, enum state state)
{
	struct ibv_comp_channel *channel = r->n.cq->channel;
	struct ibv_cq *got;
	int count;

	if (state == IDLE)
		return;
	if (!channel) {
		native_event(&rdma, &r->n); /* there is no trace of it */
		return;
	}
	if (!r->on && rdma_readable(stock, 0))
		return; /* there is one already */
	native_event(&rdma, &r->n);
	if (state == PENDING) {
		r->pending += !!r->on;
		return;
	}
	do {
		CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
		CHECK_EQ(count, 1);
		CHECK(got == r->n.cq);
		if (r->on)
			r->reported++;
		else
			r->stock_due++;
	} while (rdma_readable(channel, 0));
	r->pending = 0;
	if (state != ACKNOWLEDGED)
		return;
	if (r->on) {
		compch_ack(got, 1);
		r->acknowledged++;
	} else {
		ibv_ack_cq_events(got, 1);
		r->stock_due--;
	}
}

static void make_step(struct run *r, enum step step)
{
	struct compch_assoc_destroy_resp balance;
	struct ibv_comp_channel *to = ours[r->on == ours[0]];

	switch (step) {
	case ATTACH:
		if (r->on) {
			CHECK_EQ(compch_attach_cq(r->n.cq, to), EBUSY);
			break;
		}
		CHECK_EQ(compch_attach_cq(r->n.cq, to), 0);
		r->on = to;
		break;
	case DETACH:
		if (!r->on) {
			CHECK_EQ(compch_detach_cq(r->n.cq, NULL), EINVAL);
			break;
		}
		CHECK_EQ(compch_detach_cq(r->n.cq, &balance), 0);
		CHECK_EQ(balance.events_discarded, r->pending);
		r->pending = 0;
		r->on = NULL;
		break;
	case MOVE:
		if (!r->on) {
			CHECK_EQ(compch_move_cq(r->n.cq, to), EINVAL);
			break;
		}
		CHECK_EQ(compch_move_cq(r->n.cq, stock), EOPNOTSUPP);
		CHECK_EQ(compch_move_cq(r->n.cq, to), 0);
		r->on = to;
		break;
	case STAY:
	case STEPS:
		break;
	}
	check(r);
}

static int due_now;

static void acknowledge(void *arg)
{
	struct ibv_cq *cq = arg;

	while (due_now > 1) {
		due_now--;
		if (due_now % 2)
			compch_ack(cq, 1);
		else
			ibv_ack_cq_events(cq, 1);
	}
	test_sleep_ms(1);
	__atomic_store_n(&due_now, 0, __ATOMIC_SEQ_CST);
	compch_ack(cq, 1);
}

static void finish(struct run *r)
{
	struct native_thread t = {};

	CHECK_EQ(ibv_destroy_cq(r->n.cq), EBUSY);
	check(r);
	/* It remembers what has been, wherever it is. */
	if (!r->on) {
		make_step(r, ATTACH);
		make_step(r, DETACH);
	}
	CHECK_EQ(ibv_destroy_qp(r->n.qp), 0);
	due_now = r->reported - r->acknowledged + r->stock_due;
	if (due_now)
		native_start(&t, acknowledge, r->n.cq);
	CHECK_EQ(ibv_destroy_cq(r->n.cq), 0);
	CHECK_EQ(__atomic_load_n(&due_now, __ATOMIC_SEQ_CST), 0);
	if (t.fn)
		native_join(&t);
	CHECK_EQ(ours[0]->refcnt, 0);
	CHECK_EQ(ours[1]->refcnt, 0);
	CHECK_EQ(stock->refcnt, 0);
	CHECK(!rdma_readable(ours[0], 0));
	CHECK(!rdma_readable(ours[1], 0));
	CHECK(!rdma_readable(stock, 0));
}

static void run(enum origin origin, const enum step *steps, int count,
		enum state first, enum state then)
{
	struct run r = { .origin = origin };
	int i;

	if (origin == ON_OURS)
		r.on = ours[0];
	native_cq(&rdma, &r.n, origin == ON_STOCK ? stock : r.on);
	for (i = 0; i < count; i++) {
		make_event(&r, i ? then : first);
		make_step(&r, steps[i]);
	}
	make_event(&r, then);
	finish(&r);
}

/* Without ours there is nothing to attach to. */
static void on_stock(void)
{
	struct native_cq n;

	native_cq(&rdma, &n, stock);
	CHECK_EQ(compch_attach_cq(n.cq, ours[0]), EOPNOTSUPP);
	CHECK_EQ(compch_move_cq(n.cq, ours[0]), EOPNOTSUPP);
	CHECK_EQ(compch_detach_cq(n.cq, NULL), EINVAL);
	rdma_round(&rdma, stock, n.cq, n.qp);
	native_cq_destroy(&n);
}

int main(int argc, char **argv)
{
	enum step steps[3];
	int origin, first, then, i;

	test_deadline(240);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	for (i = 0; i < 2; i++) {
		ours[i] = ibv_create_comp_channel(rdma.context);
		CHECK(ours[i] != NULL);
	}
	stock = native_stock_channel(rdma.context);
	CHECK_EQ(compch_is_native(stock), 0);
	if (!compch_is_native(ours[0]))
		on_stock();
	else for (origin = 0; origin < ORIGINS; origin++)
	for (first = 0; first < STATES; first++)
	for (then = 0; then < STATES; then++)
	for (i = 0; i < STEPS * STEPS * STEPS; i++) {
		steps[0] = i % STEPS;
		steps[1] = i / STEPS % STEPS;
		steps[2] = i / STEPS / STEPS;
		if (steps[0] == STAY || (steps[1] == STAY && steps[2] != STAY))
			continue;
		run(origin, steps, steps[2] ? 3 : steps[1] ? 2 : 1, first, then);
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(ibv_destroy_comp_channel(ours[i]), 0);
	CHECK_EQ(ibv_destroy_comp_channel(stock), 0);
	rdma_close(&rdma);
	return 0;
}
