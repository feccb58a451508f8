/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints: see Documentation/tracing.rst.
 *
 * An event is about a channel, by its number; about a CQ, by its device and by
 * the number that "rdma resource show cq" knows it by; or about both.
 *
 * Whoever calls keeps the CQ of a source alive: he is its handler, holds the
 * lock of the queue that it is attached to, or is just making or ending its
 * association.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM compch

#if !defined(_COMPCH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _COMPCH_TRACE_H

#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "compch.h"

/* The rest of this file is read several times. */
#ifndef _COMPCH_TRACE_CQ
#define _COMPCH_TRACE_CQ
/* Which CQ it is, as its device and rdma(8) name it */
static inline void compch_trace_cq(const struct compch_source *source,
				   u32 *cqn, char *device)
{
	const struct ib_cq *cq = compch_source_cq(source);

	*cqn = cq->res.id;
	strscpy_pad(device, cq->device->name, IB_DEVICE_NAME_MAX);
}
#endif

TRACE_EVENT(compch_create,
	TP_PROTO(const struct compch_channel *channel),

	TP_ARGS(channel),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u32, flags)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->channel = channel->id;
		__entry->flags = channel->queue.flags;
		memcpy(__entry->device, channel->device, IB_DEVICE_NAME_MAX);
	),

	TP_printk("channel=%llu flags=%x device=%s",
		  __entry->channel, __entry->flags, __entry->device)
);

TRACE_EVENT(compch_destroy,
	TP_PROTO(const struct compch_channel *channel),

	TP_ARGS(channel),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, reported)
	),

	TP_fast_assign(
		__entry->channel = channel->id;
		__entry->reported = channel->queue.reported;
	),

	TP_printk("channel=%llu reported=%llu",
		  __entry->channel, __entry->reported)
);

TRACE_EVENT(compch_close,
	TP_PROTO(const struct compch_queue *queue, bool forced),

	TP_ARGS(queue, forced),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u32, cqs)
		__field(bool, forced)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->cqs = queue->nr_sources;
		__entry->forced = forced;
	),

	TP_printk("channel=%llu cqs=%u forced=%d",
		  __entry->channel, __entry->cqs, __entry->forced)
);

TRACE_EVENT(compch_cancel,
	TP_PROTO(const struct compch_queue *queue,
		 const struct task_struct *reader),

	TP_ARGS(queue, reader),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(pid_t, pid)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->pid = reader ? reader->pid : 0;
	),

	TP_printk("channel=%llu pid=%d", __entry->channel, __entry->pid)
);

TRACE_EVENT(compch_read,
	TP_PROTO(const struct compch_queue *queue, u64 events, int error),

	TP_ARGS(queue, events, error),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, events)
		__field(int, error)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->events = events;
		__entry->error = error;
	),

	TP_printk("channel=%llu events=%llu error=%d",
		  __entry->channel, __entry->events, __entry->error)
);

TRACE_EVENT(compch_associate,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue),

	TP_ARGS(source, queue),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, cookie)
		__field(u32, cqn)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->cookie = source->cookie;
		compch_trace_cq(source, &__entry->cqn, __entry->device);
	),

	TP_printk("device=%s cqn=%u channel=%llu cookie=%#llx",
		  __entry->device, __entry->cqn, __entry->channel,
		  __entry->cookie)
);

TRACE_EVENT(compch_dissociate,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue, u64 discarded),

	TP_ARGS(source, queue, discarded),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, reported)
		__field(u64, merged)
		__field(u64, discarded)
		__field(u32, cqn)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->reported = source->reported;
		__entry->merged = source->merged;
		__entry->discarded = discarded;
		compch_trace_cq(source, &__entry->cqn, __entry->device);
	),

	TP_printk("device=%s cqn=%u channel=%llu reported=%llu merged=%llu discarded=%llu",
		  __entry->device, __entry->cqn, __entry->channel,
		  __entry->reported, __entry->merged, __entry->discarded)
);

TRACE_EVENT(compch_move,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *from,
		 const struct compch_queue *to, u64 pending, u64 merged),

	TP_ARGS(source, from, to, pending, merged),

	TP_STRUCT__entry(
		__field(u64, from)
		__field(u64, to)
		__field(u64, pending)
		__field(u64, merged)
		__field(u32, cqn)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->from = compch_queue_id(from);
		__entry->to = compch_queue_id(to);
		__entry->pending = pending;
		__entry->merged = merged;
		compch_trace_cq(source, &__entry->cqn, __entry->device);
	),

	TP_printk("device=%s cqn=%u from=%llu to=%llu pending=%llu merged=%llu",
		  __entry->device, __entry->cqn, __entry->from, __entry->to,
		  __entry->pending, __entry->merged)
);

/* An event of a CQ, and how many there are of something. */
DECLARE_EVENT_CLASS(compch_cq_class,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue, u64 pending),

	TP_ARGS(source, queue, pending),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, cookie)
		__field(u64, pending)
		__field(u32, cqn)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->cookie = source->cookie;
		__entry->pending = pending;
		compch_trace_cq(source, &__entry->cqn, __entry->device);
	),

	TP_printk("device=%s cqn=%u channel=%llu cookie=%#llx pending=%llu",
		  __entry->device, __entry->cqn, __entry->channel,
		  __entry->cookie, __entry->pending)
);

DEFINE_EVENT(compch_cq_class, compch_event,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue, u64 pending),
	TP_ARGS(source, queue, pending)
);

DEFINE_EVENT(compch_cq_class, compch_report,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue, u64 pending),
	TP_ARGS(source, queue, pending)
);

TRACE_EVENT(compch_coalesced,
	TP_PROTO(const struct compch_source *source,
		 const struct compch_queue *queue, u64 merged),

	TP_ARGS(source, queue, merged),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(u64, merged)
		__field(u32, cqn)
		__array(char, device, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->merged = merged;
		compch_trace_cq(source, &__entry->cqn, __entry->device);
	),

	TP_printk("device=%s cqn=%u channel=%llu merged=%llu",
		  __entry->device, __entry->cqn, __entry->channel,
		  __entry->merged)
);

/* Without a CQ, it is a cancel, the end of the channel, or another reader. */
TRACE_EVENT(compch_wake,
	TP_PROTO(const struct compch_queue *queue,
		 const struct compch_source *source,
		 const struct task_struct *reader),

	TP_ARGS(queue, source, reader),

	TP_STRUCT__entry(
		__field(u64, channel)
		__field(s64, cqn)
		__field(pid_t, pid)
		__array(char, device, IB_DEVICE_NAME_MAX)
		__array(char, comm, TASK_COMM_LEN)
	),

	TP_fast_assign(
		__entry->channel = compch_queue_id(queue);
		__entry->cqn = source ? (s64)compch_source_cq(source)->res.id :
					-1;
		__entry->pid = reader ? reader->pid : 0;
		strscpy_pad(__entry->device,
			    source ? compch_source_cq(source)->device->name :
				     "-", IB_DEVICE_NAME_MAX);
		strscpy_pad(__entry->comm, reader ? reader->comm : "poll",
			    TASK_COMM_LEN);
	),

	TP_printk("device=%s cqn=%lld channel=%llu pid=%d comm=%s",
		  __entry->device, __entry->cqn, __entry->channel,
		  __entry->pid, __entry->comm)
);

#endif /* _COMPCH_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
