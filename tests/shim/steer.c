// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two channels steer the events of their CQs to two threads: each gets those of
 * its own CQs, and all of them, in the order of each CQ.
 */
#include <pthread.h>

#include "rdma.h"

#define ROUNDS 200

struct side {
	struct rdma *rdma;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int rounds;
};

static void *run(void *arg)
{
	struct side *side = arg;
	struct ibv_cq *cq;
	void *context;
	int i;

	/* Blocked most of the time: the other thread sends. */
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ(ibv_get_cq_event(side->channel, &cq, &context), 0);
		CHECK(cq == side->cq);
		CHECK(context == side);
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
		rdma_expect_completions(cq, 2);
		ibv_ack_cq_events(cq, 1);
		__atomic_add_fetch(&side->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct side side[2] = {};
	pthread_t thread[2];
	struct rdma rdma;
	int i, sent[2] = {}, done = 0;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	for (i = 0; i < 2; i++) {
		side[i].rdma = &rdma;
		side[i].channel = ibv_create_comp_channel(rdma.context);
		CHECK(side[i].channel != NULL);
		side[i].cq = ibv_create_cq(rdma.context, 64, &side[i],
					   side[i].channel, 0);
		CHECK(side[i].cq != NULL);
		side[i].qp = rdma_qp(&rdma, side[i].cq, side[i].cq);
		CHECK_EQ(ibv_req_notify_cq(side[i].cq, 0), 0);
	}
	CHECK(side[0].channel->fd != side[1].channel->fd);
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, run, &side[i]), 0);

	/*
	 * A message raises one event or two, of its two completions, and one
	 * that the thread had armed for may tell of the other: so an event may
	 * be spurious, and another send must make up for none.
	 */
	while (done < 2) {
		done = 0;
		for (i = 0; i < 2; i++) {
			int rounds = __atomic_load_n(&side[i].rounds,
						     __ATOMIC_ACQUIRE);

			if (rounds >= ROUNDS) {
				done++;
			} else if (sent[i] <= rounds) {
				rdma_send(&rdma, side[i].qp);
				sent[i]++;
			}
		}
		test_sleep_ms(1);
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(ibv_destroy_qp(side[i].qp), 0);
		CHECK_EQ(ibv_destroy_cq(side[i].cq), 0);
		CHECK_EQ(ibv_destroy_comp_channel(side[i].channel), 0);
	}
	rdma_close(&rdma);
	return 0;
}
