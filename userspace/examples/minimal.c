// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * minimal [DEVICE] - one CQ, one channel, and a wait that cannot miss anything.
 *
 * Works on stock channels as well.
 */
#include <errno.h>
#include <stdio.h>
#include <infiniband/compch.h>

#include "loopback.h"

#define MESSAGES 1000
#define SECOND 1000000000ll

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	struct ibv_wc wc[16];
	struct loopback loop;
	int i, n, done = 0;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	loopback_open(&loop, argc > 1 ? argv[1] : NULL);
	must("compch_create_channel",
	     compch_create_channel(loop.context, NULL, &channel));
	cq = ibv_create_cq(loop.context, 16, NULL, channel, 0);
	if (!cq)
		die("ibv_create_cq", errno);
	qp = loopback_qp(&loop, cq);

	for (i = 1; i <= MESSAGES; i++) {
		loopback_send(&loop, qp);
		/* Two completions, of the send and of the receive */
		while (done < 2 * i) {
			/* Polls, arms, polls again, and only then sleeps. */
			must("compch_wait_cq",
			     compch_wait_cq(cq, wc, 16, 0, 30 * SECOND, &n));
			for (done += n; n > 0; n--) {
				if (wc[n - 1].status != IBV_WC_SUCCESS)
					die(ibv_wc_status_str(wc[n - 1].status),
					    EIO);
			}
		}
	}
	printf("%d completions, on %s channel\n", done,
	       compch_is_native(channel) ? "a native" : "a stock");

	must("ibv_destroy_qp", ibv_destroy_qp(qp));
	must("ibv_destroy_cq", ibv_destroy_cq(cq));
	must("compch_destroy_channel", compch_destroy_channel(channel));
	loopback_close(&loop);
	return 0;
}
