/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event queue of drivers/infiniband/compch/queue.c, as a model for spin:
 * every interleaving of those who fire, read, move and detach.
 *
 * One statement here is one access to shared memory there, or what is done
 * under a lock that everybody who looks at it takes.  Where the code has a
 * barrier, or an atomic operation that is one, the model keeps the order; each
 * BROKEN_* lets one of these accesses come before the other, as a processor
 * might without the barrier, or leaves a step out.
 *
 * In the end, when nothing moves any more, check() must hold.
 *
 * run.sh says which scenarios there are (SCENARIO_*) and what must break them.
 */

#if defined(SCENARIO_SLEEP)
/* Readers that read one event each, and events, some of one source. */
#define SOURCES		2
#define READERS		3
#define START		run firer(0, 1); run firer(0, 1); run firer(1, 1); \
			run reader(0, 0, 1); run reader(1, 0, 1); \
			run reader(2, 0, 1)
#elif defined(SCENARIO_BURST)
/* One source that is fired from everywhere. */
#define SOURCES		1
#define READERS		2
#define START		run firer(0, 1); run firer(0, 1); run firer(0, 1); \
			run reader(0, 0, 1); run reader(1, 0, 1)
#elif defined(SCENARIO_SIGNAL)
/* One of those who wait is woken by a signal. */
#define SOURCES		2
#define READERS		3
#define START		run firer(0, 1); run firer(1, 1); \
			run reader(0, 0, 1); run reader(1, 0, 1); \
			run reader(2, 0, 1); run signaller()
#elif defined(SCENARIO_MOVE)
/* To another queue and back, with readers at both. */
#define SOURCES		1
#define READERS		2
#define START		run firer(0, 1); run firer(0, 1); \
			run reader(0, 0, 2); run reader(1, 1, 2); \
			run mover(0, 2, false)
#elif defined(SCENARIO_MOVE_WAKES)
/* To where readers wait that read one event each. */
#define SOURCES		1
#define READERS		2
#define START		run firer(0, 1); run firer(0, 1); \
			run reader(0, 1, 1); run reader(1, 1, 1); \
			run mover(0, 1, false)
#elif defined(SCENARIO_DETACH)
#define SOURCES		1
#define READERS		1
#define START		run firer(0, 2); run firer(0, 1); \
			run reader(0, 0, 3); run mover(0, 0, true)
#elif defined(SCENARIO_MOVE_DETACH)
#define SOURCES		1
#define READERS		2
#define START		run firer(0, 2); run firer(0, 1); \
			run reader(0, 0, 1); run reader(1, 1, 1); \
			run mover(0, 1, true)
#else
#error "define a scenario"
#endif

#define QUEUES		2

/* Which queues have COMPCH_QUEUE_COALESCE */
#ifndef COALESCE_0
#define COALESCE_0	false
#endif
#ifndef COALESCE_1
#define COALESCE_1	false
#endif

/* More than there are events */
#define DETACHED	(-20)

#define AT(q, s)	((q) * SOURCES + (s))
#define COALESCES(q)	((q) == 0 && COALESCE_0 || (q) == 1 && COALESCE_1)
#define KEEPS(q, n)	((COALESCES(q) && (n) != 0) -> 1 : (n))

/* struct compch_source */
short pending[SOURCES];
byte queue_of[SOURCES];

/* struct compch_queue */
bool incoming[QUEUES * SOURCES];
bool ready[QUEUES * SOURCES];
bool watched[QUEUES];
bool locked[QUEUES];
byte waking[QUEUES];

/* struct compch_reader: is it on the list of its queue? */
bool listed[READERS];
byte reads_from[READERS];
bool awake[READERS];
bool signalled[READERS];
/* It waits to be woken. */
bool asleep[READERS];

byte fired;
byte reported;
byte discarded;
byte merged;
byte at_work;

inline lock(q)
{
	atomic {
		!locked[q] -> locked[q] = true
	}
}

inline unlock(q)
{
	locked[q] = false
}

/* compch_queue_wake_reader(): any of those on the list; under a lock, so to be
 * called in an atomic. */
inline wake_reader(q)
{
	if
	:: listed[0] && reads_from[0] == q ->
		listed[0] = false; awake[0] = true; waking[q]++
#if READERS > 1
	:: listed[1] && reads_from[1] == q ->
		listed[1] = false; awake[1] = true; waking[q]++
#endif
#if READERS > 2
	:: listed[2] && reads_from[2] == q ->
		listed[2] = false; awake[2] = true; waking[q]++
#endif
	:: else -> skip
	fi
}

#define SOMEBODY_LISTED(q)	(listed[0] && reads_from[0] == (q) || \
	READERS > 1 && listed[1 % READERS] && \
		reads_from[1 % READERS] == (q) || \
	READERS > 2 && listed[2 % READERS] && \
		reads_from[2 % READERS] == (q))

#define SOMETHING_IN(list, q)	(list[AT(q, 0)] || \
	SOURCES > 1 && list[AT(q, SOURCES - 1)])

/* compch_queue_gather() */
inline gather(q)
{
	d_step {
		i = 0;
		do
		:: i < SOURCES ->
			if
			:: incoming[AT(q, i)] ->
				incoming[AT(q, i)] = false;
				/* It would be on two lists. */
				assert(!ready[AT(0, i)] && !ready[AT(1, i)]);
				ready[AT(q, i)] = true
			:: else -> skip
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* compch_queue_wake() */
inline wake(q)
{
	atomic {
		wake_reader(q);
#ifdef BROKEN_CLEARED_BLINDLY
		listening = SOMEBODY_LISTED(q)
	}
	if
	:: !listening -> watched[q] = false
	:: else -> skip
	fi;
	listening = false
#else
		if
		:: !SOMEBODY_LISTED(q) -> watched[q] = false
		:: else -> skip
		fi
	}
#endif
}

/* compch_source_fire() */
proctype firer(byte s; byte count)
{
	short before;
	byte q;
	bool watching, listening;

	do
	:: count > 0 ->
		count--;
#ifdef BROKEN_QUEUE_EARLY
		q = queue_of[s];
#endif
		atomic {
			before = pending[s];
			pending[s] = before + 1
		}
		if
		:: before < 0 -> skip
		:: else ->
			fired++;
#ifndef BROKEN_QUEUE_EARLY
			q = queue_of[s];
#endif
#ifdef BROKEN_WATCHED_EARLY
			watching = watched[q];
#endif
			if
			:: before == 0 ->
				atomic {
					/* Its node would be in use. */
					assert(!incoming[AT(0, s)] &&
					       !incoming[AT(1, s)]);
					incoming[AT(q, s)] = true
				}
			:: else -> skip
			fi;
#ifndef BROKEN_WATCHED_EARLY
			watching = watched[q];
#endif
			if
			:: watching && !(before > 0 && COALESCES(q)) -> wake(q)
			:: else -> skip
			fi
		fi;
		before = 0; q = 0; watching = false
	:: else -> break
	od;
	at_work--
}

/* compch_queue_claim() and compch_queue_commit(), of one event */
inline take(q, s)
{
	atomic {
		if
		:: ready[AT(q, 0)] -> s = 0
#if SOURCES > 1
		:: ready[AT(q, 1)] -> s = 1
#endif
		fi;
		ready[AT(q, s)] = KEEPS(q, pending[s]) > 1
	}
	atomic {
		reported++;
		if
		:: COALESCES(q) ->
			merged = merged + pending[s] - 1;
			pending[s] = 0
		:: else ->
			pending[s]--;
#ifndef BROKEN_NO_REQUEUE
			if
			:: pending[s] > 0 -> ready[AT(q, s)] = true
			:: else -> skip
			fi
#endif
		fi;
		s = 0
	}
}

/* compch_queue_pass_on() */
inline pass_on(q)
{
	gather(q);
	atomic {
		if
		:: SOMETHING_IN(ready, q) && waking[q] == 0 -> wake_reader(q)
		:: else -> skip
		fi
	}
}

/* compch_queue_read(), @count times, of one event each */
proctype reader(byte me; byte q; byte count)
{
	byte s, i;
	bool gave_up, incoming_seen;

	do
	:: count > 0 ->
		count--;
		lock(q);
		gave_up = false;
		do
		:: true ->
			gather(q);
			if
			:: SOMETHING_IN(ready, q) -> break
			:: else -> skip
			fi;
			if
			:: signalled[me] -> gave_up = true; break
			:: else -> skip
			fi;
#ifdef BROKEN_LOOK_EARLY
			incoming_seen = SOMETHING_IN(incoming, q);
#endif
			atomic {
				listed[me] = true;
				awake[me] = false;
				watched[q] = true
			}
#ifdef BROKEN_NO_LOOK
			incoming_seen = false;
#elif !defined(BROKEN_LOOK_EARLY)
			incoming_seen = SOMETHING_IN(incoming, q);
#endif
			if
			:: incoming_seen -> skip
			:: else ->
				unlock(q);
				asleep[me] = true;
				/* A signal may be pending already. */
end_asleep:			awake[me] || signalled[me];
				asleep[me] = false;
				lock(q)
			fi;
			atomic {
				if
				:: listed[me] -> listed[me] = false
				:: else -> waking[q]--
				fi;
				awake[me] = false
			}
		od;
		if
		:: gave_up -> skip
		:: else -> take(q, s)
		fi;
#ifndef BROKEN_NO_PASS_ON
		pass_on(q);
#endif
		unlock(q);
		if
		:: gave_up -> break
		:: else -> skip
		fi
	:: else -> break
	od
}

proctype signaller()
{
	signalled[0] = true;
	at_work--
}

/*
 * compch_source_settle(), which spins: a process that spins would not be seen
 * to do so for ever.
 */
inline settle(s, one, other)
{
#ifdef BROKEN_NO_SETTLE
	gather(one);
	gather(other);
#elif defined(BROKEN_SETTLES_OLD)
	pending[s] == 0 || incoming[AT(one, s)] || ready[AT(one, s)];
	gather(one);
#else
	pending[s] == 0 || incoming[AT(one, s)] || incoming[AT(other, s)] ||
		ready[AT(one, s)] || ready[AT(other, s)];
	gather(one);
	gather(other);
#endif
}

/* compch_source_move(), @count times, and compch_source_detach() */
proctype mover(byte s; byte count; bool detaches)
{
	short before, keeps;
	byte from, to, i;
	bool has_events;

	do
	:: count > 0 ->
		count--;
		from = queue_of[s];
		to = 1 - from;
		lock(0);
		lock(1);
#ifdef BROKEN_PENDING_EARLY
		has_events = pending[s] != 0;
		queue_of[s] = to;
#else
		queue_of[s] = to;
		has_events = pending[s] != 0;
#endif
		if
		:: has_events ->
			settle(s, from, to);
			atomic {
				ready[AT(from, s)] = false;
				ready[AT(to, s)] = true
			}
			before = pending[s];
			keeps = KEEPS(from, before);
			keeps = (keeps < KEEPS(to, before) ->
				 keeps : KEEPS(to, before));
			atomic {
				pending[s] = pending[s] - (before - keeps);
				merged = merged + (before - keeps)
			}
			/* compch_queue_wake_many() */
			atomic {
				do
				:: keeps > 0 && SOMEBODY_LISTED(to) ->
					wake_reader(to);
					keeps--
				:: else -> break
				od;
				before = 0;
				keeps = 0
			}
		:: else -> skip
		fi;
		unlock(0);
		unlock(1)
	:: else -> break
	od;

	if
	:: detaches ->
		from = queue_of[s];
		lock(from);
#ifdef BROKEN_NO_XCHG
		before = pending[s];
		pending[s] = DETACHED;
#else
		atomic {
			before = pending[s];
			pending[s] = DETACHED
		}
#endif
		if
		:: before > 0 -> settle(s, from, from)
		:: else -> skip
		fi;
		atomic {
			ready[AT(from, s)] = false;
			keeps = KEEPS(from, before);
			discarded = discarded + keeps;
			merged = merged + before - keeps;
			before = 0;
			keeps = 0
		}
		unlock(from)
	:: else -> skip
	fi;
	at_work--
}

#define WHERE(s)	(incoming[AT(0, s)] + incoming[AT(1, s)] + \
			 ready[AT(0, s)] + ready[AT(1, s)])

inline check()
{
	byte s, r, left;

	/* Nobody waits for something that does not come. */
	assert(at_work == 0 && !locked[0] && !locked[1]);
	assert(waking[0] == 0 && waking[1] == 0);
	s = 0;
	left = 0;
	do
	:: s < SOURCES ->
		if
		:: pending[s] > 0 ->
			left = left + pending[s];
			/* It is queued, once, where it belongs. */
			assert(WHERE(s) == 1);
			assert(incoming[AT(queue_of[s], s)] ||
			       ready[AT(queue_of[s], s)]);
			/* Whoever could read it does not sleep. */
			r = 0;
			do
			:: r < READERS ->
				assert(!asleep[r] ||
				       reads_from[r] != queue_of[s]);
				r++
			:: else -> break
			od
		:: else -> assert(WHERE(s) == 0)
		fi;
		s++
	:: else -> break
	od;
	/* Nothing is lost, or read twice. */
	assert(fired == reported + discarded + merged + left)
}

init
{
	atomic {
		/* In each scenario */
		at_work = 3;
#if defined(SCENARIO_MOVE) || defined(SCENARIO_MOVE_DETACH)
		reads_from[1] = 1;
#elif defined(SCENARIO_MOVE_WAKES)
		reads_from[0] = 1;
		reads_from[1] = 1;
#endif
		START
	}
	timeout;
	check()
}
