/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tracepoints that the event queue passes.  It has none where it stands
 * alone, without CQs: in its tests, which define COMPCH_QUEUE_ALONE.
 */
#ifndef _COMPCH_QUEUE_TRACE_H
#define _COMPCH_QUEUE_TRACE_H

#ifndef COMPCH_QUEUE_ALONE
#include "trace.h"
#else
#include <linux/types.h>

struct compch_queue;
struct compch_source;
struct task_struct;

#define COMPCH_NO_TRACE(name, ...)					\
	static inline void trace_compch_##name(__VA_ARGS__) {}		\
	static inline bool trace_compch_##name##_enabled(void)		\
	{								\
		return false;						\
	}

COMPCH_NO_TRACE(cancel, const struct compch_queue *queue,
		const struct task_struct *reader)
COMPCH_NO_TRACE(close, const struct compch_queue *queue, bool forced)
COMPCH_NO_TRACE(coalesced, const struct compch_source *source,
		const struct compch_queue *queue, u64 merged)
COMPCH_NO_TRACE(dissociate, const struct compch_source *source,
		const struct compch_queue *queue, u64 discarded)
COMPCH_NO_TRACE(event, const struct compch_source *source,
		const struct compch_queue *queue, u64 pending)
COMPCH_NO_TRACE(move, const struct compch_source *source,
		const struct compch_queue *from, const struct compch_queue *to,
		u64 pending, u64 merged)
COMPCH_NO_TRACE(read, const struct compch_queue *queue, u64 events, int error)
COMPCH_NO_TRACE(report, const struct compch_source *source,
		const struct compch_queue *queue, u64 pending)
COMPCH_NO_TRACE(wake, const struct compch_queue *queue,
		const struct compch_source *source,
		const struct task_struct *reader)

#undef COMPCH_NO_TRACE
#endif

#endif /* _COMPCH_QUEUE_TRACE_H */
