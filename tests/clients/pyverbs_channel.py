#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""pyverbs_channel.py DEVICE GID poll|epoll|nonblock

What a Python program does with a channel: wait for its descriptor, for so long,
and then take the event. An RC queue pair that is connected to itself sends.
"""

import errno
import fcntl
import os
import select
import sys

from pyverbs import enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

# Nothing that does not hang takes that long, in seconds.
LONG = 60
ROUNDS = 20
SIZE = 64


def channels():
    """The descriptors of all channels that are open."""
    found = set()
    for name in os.listdir('/proc/self/fd'):
        try:
            target = os.readlink(f'/proc/self/fd/{name}')
        except FileNotFoundError:
            continue
        if target.endswith(('[infinibandevent]', '[compch]')):
            found.add(int(name))
    return found


class Loop:
    """A queue pair that talks to itself, and whose CQ is on a channel."""

    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        before = channels()
        self.channel = CompChannel(self.context)
        # The bindings do not tell its descriptor.
        self.fd, = channels() - before
        self.cq = CQ(self.context, 16, None, self.channel, 0)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        cap = QPCap(max_send_wr=8, max_recv_wr=8)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap)
        self.qp = QP(self.pd, init, QPAttr(port_num=1))
        route = GlobalRoute(dgid=self.context.query_gid(1, gid_index),
                            sgid_index=gid_index)
        attr = QPAttr(port_num=1)
        attr.dest_qp_num = self.qp.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        self.qp.to_rts(attr)

    def send(self):
        """Send to ourselves: two completions, of the send and the receive."""
        send = SGE(self.mr.buf, SIZE, self.mr.lkey)
        receive = SGE(self.mr.buf + SIZE, SIZE, self.mr.lkey)
        self.qp.post_recv(RecvWR(num_sge=1, sg=[receive]))
        self.qp.post_send(SendWR(num_sge=1, sg=[send]))

    def drain(self):
        """Poll the CQ until it is empty; how many completions were in it?"""
        total = 0
        while True:
            count, completions = self.cq.poll(8)
            if not count:
                return total
            for completion in completions:
                assert completion.status == e.IBV_WC_SUCCESS, completion
            total += count

    def take(self):
        self.channel.get_cq_event(self.cq)
        self.cq.ack_events(1)


class Waiter:
    """Waits for events with poll() or epoll, and drains."""

    def __init__(self, loop, poller):
        self.loop = loop
        self.poller = poller
        poller.register(loop.fd, select.POLLIN)

    def is_quiet(self):
        return not self.poller.poll(0)

    def round(self):
        """Send once, with the CQ armed; sleep until both completions came."""
        completed = 0
        self.loop.cq.req_notify()
        self.loop.send()
        while completed < 2:
            # In ms for poll(), in s for epoll.
            long = LONG if isinstance(self.poller, select.epoll) else LONG * 1000
            assert self.poller.poll(long), 'no event'
            self.loop.take()
            self.loop.cq.req_notify()
            completed += self.loop.drain()
        # The CQ is armed and empty; what is left is of completions seen.
        while not self.is_quiet():
            self.loop.take()
        assert self.loop.drain() == 0


def polled(loop, poller):
    waiter = Waiter(loop, poller)
    assert waiter.is_quiet(), 'an event before the CQ was armed'
    loop.send()
    while loop.drain() == 0:
        pass
    loop.drain()
    for _ in range(ROUNDS):
        waiter.round()


def nonblock(loop):
    fd = loop.fd
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
    try:
        loop.channel.get_cq_event(loop.cq)
    except PyverbsRDMAError as error:
        assert error.error_code == errno.EAGAIN, error
    else:
        raise AssertionError('an event from nowhere')
    polled(loop, select.poll())


def main():
    device, gid_index, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    loop = Loop(device, gid_index)
    if way == 'poll':
        polled(loop, select.poll())
    elif way == 'epoll':
        polled(loop, select.epoll())
    elif way == 'nonblock':
        nonblock(loop)
    else:
        sys.exit(__doc__)
    loop.context.close()


if __name__ == '__main__':
    main()
