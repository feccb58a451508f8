/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event ring of drivers/infiniband/compch/ring.h and queue.c, as a model
 * for spin: every interleaving of those who fire, of programs that take events
 * as compch-abi.h tells them to, of those who read and poll, and of those who
 * detach, reuse a slot, move and repair.
 *
 * One statement here is one access to shared memory there, or what is done
 * under a lock that everybody who looks at it takes.  Where the code has a
 * barrier, or an atomic operation that is one, the model keeps the order; each
 * BROKEN_* lets one of these accesses come before the other, as a processor
 * might without the barrier, or leaves a step out.
 *
 * What nobody can see there stands in the same step as an access: whose slot it
 * is, which slots are in cells, what has been fired, taken and discarded.  There
 * the assertions are; and in the end, when nothing moves any more, check() must
 * hold.
 *
 * run.sh says which scenarios there are (SCENARIO_*) and what must break them.
 */

#define NONE		7

#if defined(SCENARIO_TAKE)
/* Programs take what is fired, as many as there may be. */
#define SOURCES		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 2); run firer(1, 1); \
			run program(NONE, 0, 4); run program(NONE, 0, 4)
#elif defined(SCENARIO_CROWD)
/* All at once, of one source */
#define SOURCES		1
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(0, 2); \
			run program(NONE, 0, 2); run program(NONE, 0, 3)
#elif defined(SCENARIO_LAPS)
/* So many events that positions wrap for who has just come */
#define SOURCES		2
#define WAITERS		1
#define WORK		3
#define START		run firer(0, 3); run firer(1, 3); \
			run program(NONE, 0, 6)
#elif defined(SCENARIO_READ)
/* Blocked readers, and a program that takes their events */
#define SOURCES		1
#define WAITERS		2
#define WORK		4
#define START		run firer(0, 2); run program(NONE, 0, 1); \
			run reader(0, 0, 1); run reader(1, 0, 1)
#elif defined(SCENARIO_READ_TWO)
/* The same with events of two sources */
#define SOURCES		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(1, 1); \
			run program(NONE, 0, 1); run reader(0, 0, 2)
#elif defined(SCENARIO_POLL)
/* Programs that poll() where the ring is empty */
#define SOURCES		1
#define WAITERS		2
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run program(0, 0, 1); run program(1, 0, 1)
#elif defined(SCENARIO_EDGE)
/* One that waits for an edge, and another that takes one event and is gone */
#define EDGE
#define SOURCES		2
#define WAITERS		1
#define WORK		3
#define START		run salvo(); \
			run program(NONE, 0, 1); run program(0, 0, 3)
#elif defined(SCENARIO_ASK)
/* ... and asks to be woken, instead of reading in vain */
#define EDGE
#define ASKS
#define SOURCES		2
#define WAITERS		1
#define WORK		3
#define START		run salvo(); \
			run program(NONE, 0, 1); run program(0, 0, 3)
#elif defined(SCENARIO_ASK_READ)
/* ... where the other one reads */
#define EDGE
#define ASKS
#define SOURCES		2
#define WAITERS		2
#define WORK		3
#define START		run salvo(); \
			run reader(1, 0, 1); run program(0, 0, 3)
#elif defined(SCENARIO_ASK_BOTH)
/* ... where another one takes events, and a third one reads */
#define EDGE
#define ASKS
#define QUEUED
#define SOURCES		1
#define WAITERS		2
#define WORK		4
#define START		run salvo(); run program(NONE, 0, 1); \
			run reader(1, 0, 1); run program(0, 0, 3)
#elif defined(SCENARIO_EXCLUSIVE)
/* Two that wait exclusively, and another likewise; one event is there already */
#define EXCLUSIVE
#define QUEUED
#define SOURCES		2
#define WAITERS		2
#define WORK		4
#define START		run salvo(); run program(NONE, 0, 1); \
			run program(0, 0, 1); run program(1, 0, 1)
#elif defined(SCENARIO_DETACH)
/* A slot is used again at once. */
#define SOURCES		3
#define USED		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 2); run firer(1, 1); \
			run program(NONE, 0, 4); run reuser(0, 2, NONE)
#elif defined(SCENARIO_DETACH_READ)
/* ... with a reader instead of a program */
#define SOURCES		3
#define USED		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 2); run firer(1, 1); \
			run reader(0, 0, 3); run reuser(0, 2, NONE)
#elif defined(SCENARIO_DETACH_TWICE)
/* ... and again */
#define SOURCES		3
#define USED		1
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 2); run program(NONE, 0, 2); \
			run program(NONE, 0, 2); run reuser(0, 1, 2)
#elif defined(SCENARIO_MOVE)
/* From one ring to another */
#define SOURCES		1
#define QUEUES		2
#define WAITERS		1
#define WORK		5
#define START		run firer(0, 2); run firer(0, 1); \
			run program(NONE, 0, 2); run program(NONE, 1, 2); \
			run mover(0)
#elif defined(SCENARIO_MOVE_READ)
/* ... where a reader waits */
#define SOURCES		1
#define QUEUES		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run reader(0, 1, 2); run mover(0)
#elif defined(SCENARIO_MOVE_IN)
/* From a queue without a ring */
#define PLAIN_0
#define SOURCES		1
#define QUEUES		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run program(NONE, 1, 2); run mover(0)
#elif defined(SCENARIO_KILL)
/* A program is killed. */
#define MORTAL
#define SOURCES		2
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 2); run firer(1, 1); \
			run program(NONE, 0, 1); run reader(0, 0, 1)
#elif defined(SCENARIO_KILL_DETACH)
/* ... with the slot of a source in its hands that leaves */
#define MORTAL
#define SOURCES		2
#define USED		1
#define WAITERS		1
#define WORK		3
#define START		run firer(0, 2); run program(NONE, 0, 3); \
			run reuser(0, 1, NONE)
#elif defined(SCENARIO_LATE)
/* Who fires may find that others are always faster. */
#define GIVES_UP
#define SOURCES		1
#define WAITERS		2
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run program(0, 0, 1); run reader(1, 0, 1)
#elif defined(SCENARIO_QUERY)
/* Somebody asks what has been taken, while a program takes it, and waits. */
#define EDGE
#define ASKS
#define SOURCES		1
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run program(0, 0, 2); run query(0)
#elif defined(SCENARIO_MERGE)
/* Events merge, in a slot that is used again, too. */
#define COALESCES
#define SOURCES		2
#define USED		1
#define WAITERS		1
#define WORK		4
#define START		run firer(0, 1); run firer(0, 1); \
			run program(0, 0, 3); run reuser(0, 1, NONE)
#else
#error "define a scenario"
#endif

#ifndef QUEUES
#define QUEUES		1
#endif
/* Sources that are attached at the beginning */
#ifndef USED
#define USED		SOURCES
#endif

#ifdef MORTAL
#define MAY_DIE		if :: goto died :: skip fi
#else
#define MAY_DIE		skip
#endif

#define SLOTS		2
#define CELLS		2
/*
 * A cell tells so much of its position; which is about to wrap.  Nobody stands
 * still for as many pushes as there are positions: not for 2^32, in the code.
 */
#define TAGS		15
#define FIRST		14

/* More than there are events */
#define STALE		16
#define POSTS		100
#define HELD		(-100)
#define DETACHED	(-200)

#define SLOT(q, s)	((q) * SLOTS + (s))
#define PLACE(q, t)	((q) * CELLS + (t) % CELLS)
#define FILLED(t, s)	(((t) & TAGS) * SLOTS + (s))
#define TAG(c)		((c) / SLOTS)
#define LAP(t, c)	(((t) - TAG(c)) & TAGS)
#define IN_CELL(q, t, s)	(cells[PLACE(q, t)] == FILLED(t, s))

/* struct compch_source */
short pending[SOURCES];
byte queue_of[SOURCES];
byte slot_of[SOURCES];

/* struct compch_queue */
bool incoming[SOURCES];
bool watched[QUEUES];
bool locked[QUEUES];
bool pollers_locked[QUEUES];
byte waking[QUEUES];

/* struct compch_ring */
byte head[QUEUES];
byte tail[QUEUES];
byte cells[QUEUES * CELLS];
byte hungry[QUEUES];
bool put_back[QUEUES];
byte events[QUEUES * SLOTS];
byte cookie[QUEUES * SLOTS];
byte posted[QUEUES * SLOTS];
bool unpushed[QUEUES * SLOTS];
bool late[QUEUES];

/* Who waits: as a reader, or by poll() */
bool listed[WAITERS];
bool polls[WAITERS];
byte waits_at[WAITERS];
bool awake[WAITERS];
bool asleep[WAITERS];

/* What nobody sees */
byte owner[QUEUES * SLOTS];
bool in_cell[QUEUES * SLOTS];
byte merged[SOURCES];
byte fired[SOURCES];
byte taken[SOURCES];
byte discarded[SOURCES];
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

#define IS_LISTED(w, q)	(listed[(w) % WAITERS] && waits_at[(w) % WAITERS] == (q))
#define DOES_POLL(w, q)	(polls[(w) % WAITERS] && waits_at[(w) % WAITERS] == (q))
#define SOMEBODY_LISTED(q)	(IS_LISTED(0, q) || IS_LISTED(1, q))
#define BOTH_LISTED(q)	(WAITERS > 1 && IS_LISTED(0, q) && IS_LISTED(1, q))
#define SOMEBODY_POLLS(q)	(DOES_POLL(0, q) || DOES_POLL(1, q))

/* compch_queue_wake_reader(), in an atomic */
inline wake_reader(q)
{
	if
	:: IS_LISTED(0, q) ->
		listed[0] = false; awake[0] = true; waking[q]++
	:: WAITERS > 1 && IS_LISTED(1, q) ->
		listed[1 % WAITERS] = false; awake[1 % WAITERS] = true;
		waking[q]++
	:: else -> skip
	fi
}

/*
 * wake_up_locked_poll().  Who waits exclusively, and does wait, is one.  The
 * others have only been told, for when they will.
 */
inline wake_pollers(q)
{
#ifdef EXCLUSIVE
	if
	:: DOES_POLL(0, q) && asleep[0] && !awake[0] ->
		awake[0] = true;
		if
		:: DOES_POLL(1, q) && !asleep[1] -> awake[1] = true
		:: skip
		fi
	:: DOES_POLL(1, q) && asleep[1] && !awake[1] ->
		awake[1] = true;
		if
		:: DOES_POLL(0, q) && !asleep[0] -> awake[0] = true
		:: skip
		fi
	:: else ->
		awake[0] = awake[0] || DOES_POLL(0, q);
		awake[1] = awake[1] || DOES_POLL(1, q)
	fi
#else
	awake[0] = awake[0] || DOES_POLL(0, q);
	if
	:: WAITERS > 1 ->
		awake[1 % WAITERS] = awake[1 % WAITERS] || DOES_POLL(1, q)
	:: else -> skip
	fi
#endif
}

/* What is said by programs, and by who looks under the lock */
#define SAID		1
#define SAID_HERE	2

/* Will everybody be woken? */
#if defined(EXCLUSIVE) && !defined(BROKEN_ONE_FOR_ALL)
#define WAKES_ALL(q)	(!BOTH_LISTED(q) && !SOMEBODY_POLLS(q))
#else
#define WAKES_ALL(q)	(!BOTH_LISTED(q))
#endif

inline sated(q)
{
	if
	:: WAKES_ALL(q) -> hungry[q] = 0
	:: else -> skip
	fi
}

/* compch_queue_wake() */
inline wake(q)
{
#ifdef BROKEN_CLEARED_LATE
	atomic {
		!pollers_locked[q] -> pollers_locked[q] = true
	}
#else
	atomic {
		!pollers_locked[q] -> pollers_locked[q] = true;
		sated(q)
	}
#endif
	atomic {
		wake_pollers(q);
		wake_reader(q);
		if
		:: !SOMEBODY_LISTED(q) && !SOMEBODY_POLLS(q) ->
			watched[q] = false
		:: else -> skip
		fi;
#ifndef BROKEN_CLEARED_LATE
		pollers_locked[q] = false
#endif
	}
#ifdef BROKEN_CLEARED_LATE
	atomic {
		sated(q);
		pollers_locked[q] = false
	}
#endif
}

/* compch_queue_watch() */
inline watch(q)
{
	atomic {
		!pollers_locked[q] -> watched[q] = true
	}
}

/*
 * compch_ring_push().  Who tries again in vain waits for what must change first:
 * a process that spins would not be seen to do so for ever.
 */
inline push(q, s)
{
	do
	:: true ->
		t = tail[q];
		c = cells[PLACE(q, t)];
		if
#ifdef BROKEN_NO_LAP
		:: LAP(t, c) != 0 ->
#else
		:: LAP(t, c) == CELLS ->
#endif
			atomic {
				ok = cells[PLACE(q, t)] == c;
				if
				:: ok ->
					/* What was there has been taken. */
					assert(head[q] + CELLS > t);
					assert(!in_cell[SLOT(q, s)]);
					cells[PLACE(q, t)] = FILLED(t, s);
					in_cell[SLOT(q, s)] = true
				:: else -> skip
				fi
			}
			if
			:: ok -> break
			:: else -> skip
			fi
		:: LAP(t, c) == 0 ->
#ifdef BROKEN_NO_HELP
			tail[q] != t
#else
			atomic {
				if
				:: tail[q] == t -> tail[q] = t + 1
				:: else -> skip
				fi
			}
#endif
		:: else ->
			/* Of an earlier position, or a later one */
			tail[q] != t
		fi
	od
}

/* Its last step */
inline push_tail(q)
{
	atomic {
		if
		:: tail[q] == t -> tail[q] = t + 1
		:: else -> skip
		fi;
		t = 0;
		c = 0
	}
}

/* compch_ring_claim(): of the cell at h, which is c as far as is known */
inline claim(q)
{
	atomic {
		ok = head[q] == h;
		if
		:: ok ->
			in_cell[SLOT(q, cells[PLACE(q, h)] % SLOTS)] = false;
			head[q] = h + 1
		:: else -> skip
		fi
	}
}

/* compch_ring_peek(): ok, h and s */
inline peek(q)
{
	h = head[q];
	do
	:: true ->
		c = cells[PLACE(q, h)];
		if
		:: TAG(c) == (h & TAGS) -> ok = true; break
		:: else -> skip
		fi;
		atomic {
			ok = false;
			if
			:: h == head[q] -> break
			:: else -> h = head[q]
			fi
		}
	od;
	atomic {
		s = c % SLOTS;
		c = 0
	}
}

/* An event is taken: what a program, or a reader, believes whose it is. */
inline count_taken(q, whose)
{
	assert(events[SLOT(q, s)] > 0 && events[SLOT(q, s)] < STALE);
	assert(owner[SLOT(q, s)] == whose);
	taken[whose]++;
	events[SLOT(q, s)]--
}

/* compch_ring_unmark(): e */
inline unmark(q)
{
	e = events[SLOT(q, s)];
	if
	:: e >= STALE ->
		atomic {
			e = events[SLOT(q, s)] - STALE;
			events[SLOT(q, s)] = e
		}
	:: else -> skip
	fi
}

/* The end of compch_ring_push() where others are always faster */
inline give_up(q, s)
{
#ifdef BROKEN_LATE_EARLY
	late[q] = true;
	unpushed[SLOT(q, s)] = true
#else
	unpushed[SLOT(q, s)] = true;
	late[q] = true
#endif
}

/* compch_ring_push_late() */
inline push_late(q)
{
	if
	:: late[q] ->
		late[q] = false;
		s = 0;
		do
		:: s < SLOTS && unpushed[SLOT(q, s)] ->
			unpushed[SLOT(q, s)] = false;
			push(q, s);
			push_tail(q);
			s++
		:: s < SLOTS && !unpushed[SLOT(q, s)] -> s++
		:: else -> break
		od;
		s = 0
	:: else -> skip
	fi
}

/* compch_queue_feed(), with the lock */
inline feed(q)
{
	if
	:: put_back[q] ->
		put_back[q] = false;
#ifndef BROKEN_NO_FEED
		if
		:: hungry[q] & SAID -> wake(q)
		:: else -> skip
		fi
#endif
	:: else -> skip
	fi
}

/* compch_ring_has_events(): ok */
inline has_events(q)
{
#ifdef GIVES_UP
	push_late(q);
#endif
	do
	:: true ->
		peek(q);
		if
		:: !ok -> break
		:: else -> skip
		fi;
		e = events[SLOT(q, s)];
		if
		:: e != 0 && e != STALE -> break
		:: else -> skip
		fi;
		claim(q);
		if
		:: ok ->
			unmark(q);
			if
			:: e > 0 -> push(q, s); push_tail(q); put_back[q] = true
			:: else -> skip
			fi
		:: else -> skip
		fi
	od;
	atomic {
		h = 0;
		s = 0;
		e = 0
	}
	feed(q)
}

inline say_here(q)
{
#ifdef BROKEN_OVERWRITES
	hungry[q] = SAID_HERE
#else
	atomic {
		if
		:: hungry[q] == 0 -> hungry[q] = SAID_HERE
		:: else -> skip
		fi
	}
#endif
}

/* compch_queue_look(): ok */
inline look(q)
{
	has_events(q);
	if
	:: ok -> skip
	:: else ->
#ifdef BROKEN_LOOK_EARLY
		has_events(q);
		say_here(q)
#else
		say_here(q);
#ifndef BROKEN_NO_LOOK
		has_events(q)
#endif
#endif
	fi
}

/* Does an event merge, in a slot that has @e? */
#ifndef COALESCES
#define MERGES(e)	false
#elif defined(BROKEN_STALE_MERGES)
#define MERGES(e)	((e) != 0)
#else
#define MERGES(e)	((e) % STALE != 0)
#endif

/* compch_queue_post(), of an event that has been counted */
inline post(q, source)
{
	s = slot_of[source];
#ifdef BROKEN_WATCHED_EARLY
	watching = watched[q];
#endif
	atomic {
		assert(owner[SLOT(q, s)] == source);
		e = events[SLOT(q, s)];
#ifdef COALESCES
		events[SLOT(q, s)] = (e % 2 -> e : e + 1);
		merged[source] = merged[source] + MERGES(e)
#else
		events[SLOT(q, s)] = e + 1
#endif
	}
	if
	:: e == 0 -> push(q, s); push_tail(q)
#ifdef GIVES_UP
	:: e == 0 -> give_up(q, s)
#endif
	:: else -> skip
	fi;
	posted[SLOT(q, s)]++;
#ifndef BROKEN_WATCHED_EARLY
	watching = watched[q];
#endif
	if
	:: watching && !MERGES(e) -> wake(q)
	:: else -> skip
	fi;
	atomic {
		watching = false;
		s = 0;
		e = 0
	}
}

/* compch_source_fire() */
inline fire(source)
{
	atomic {
		before = pending[source];
		pending[source] = before + 1;
		if
		:: before >= HELD -> fired[source]++
		:: else -> skip
		fi
	}
	if
	:: before < 0 -> skip
	:: else ->
		q = queue_of[source];
		if
#if defined(BROKEN_POSTS_BY_QUEUE) && defined(PLAIN_0)
		:: q != 0 -> post(q, source)
#else
		:: before >= POSTS -> post(q, source)
#endif
		:: else ->
			if
			:: before == 0 -> incoming[source] = true
			:: else -> skip
			fi;
			watching = watched[q];
			if
			:: watching -> wake(q)
			:: else -> skip
			fi;
			watching = false
		fi
	fi;
	atomic {
		before = 0;
		q = 0
	}
}

proctype firer(byte source; byte count)
{
	short before;
	byte q, s, t, c, e;
	bool watching, ok;

	do
	:: count > 0 -> count--; fire(source)
	:: else -> break
	od;
	at_work--
}

/* Twice of one source, and then of another */
proctype salvo()
{
	short before;
	byte q, s, t, c, e;
	bool watching, ok;

#ifndef QUEUED
	fire(0);
#endif
	fire(0);
	fire(SOURCES - 1);
	at_work--
}

/* compch_source_hold(), and compch_source_posted() */
inline hold(source)
{
	atomic {
		before = pending[source];
		pending[source] = HELD
	}
	if
	:: before >= POSTS ->
		posted[SLOT(queue_of[source], slot_of[source])] ==
			before - POSTS
	:: before > 0 && before < POSTS ->
		/* compch_source_settle() */
		incoming[source];
		incoming[source] = false
	:: else -> skip
	fi
}

/* compch_ring_post(): @n events */
inline ring_post(q, source, n)
{
	if
	:: n > 0 ->
		s = slot_of[source];
		atomic {
			assert(owner[SLOT(q, s)] == source);
			e = events[SLOT(q, s)];
			events[SLOT(q, s)] = e + n
		}
		if
		:: e == 0 -> push(q, s); push_tail(q)
		:: else -> skip
		fi;
		atomic {
			posted[SLOT(q, s)] = posted[SLOT(q, s)] + n;
			s = 0;
			e = 0
		}
	:: else -> skip
	fi
}

/* compch_source_release(): more */
inline release(source, n)
{
	atomic {
		more = pending[source] - HELD;
		pending[source] = POSTS + n + more;
#ifdef BROKEN_FORGETS
		more = 0
#endif
	}
}

#define ATTACHED(source)	(pending[source] >= HELD)

/* compch_queue_repair() */
inline repair(q)
{
	lock(q);
	i = 0;
	do
	:: i < SOURCES ->
		if
		:: ATTACHED(i) -> hold(i)
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < SLOTS ->
		if
		:: IN_CELL(q, head[q], i) || IN_CELL(q, head[q] + 1, i) -> skip
		:: else ->
			if
			:: owner[SLOT(q, i)] == NONE -> events[SLOT(q, i)] = 0
			:: owner[SLOT(q, i)] != NONE &&
			   events[SLOT(q, i)] > 0 ->
				push(q, i);
				push_tail(q)
			:: else -> skip
			fi
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < SOURCES ->
		if
		:: ATTACHED(i) ->
			release(i, posted[SLOT(q, slot_of[i])]);
			ring_post(q, i, more)
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	atomic {
		i = 0;
		before = 0;
		more = 0
	}
	unlock(q);
#ifndef BROKEN_QUIET_REPAIR
	wake(q)
#endif
}

/*
 * A program that takes events, @count of them at most.  As a waiter, it sleeps
 * by poll() if there are none; otherwise it has something else to do then.
 */
proctype program(byte me; byte q; byte count)
{
	byte h, t, c, s, e, k;
	bool ok, hears;
#ifdef MORTAL
	short before;
	byte left, more, i;
#endif

#ifdef EDGE
	/* epoll_ctl(), which looks */
	if
	:: me != NONE ->
		atomic {
			!pollers_locked[q] -> polls[me] = true
		}
		watch(q);
		lock(q);
		look(q);
		unlock(q);
		if
		:: ok -> awake[me] = true
		:: else -> skip
		fi
	:: else -> skip
	fi;
#endif

again:
	do
	:: count == 0 -> break
	:: else ->
		/* 2. */
		h = head[q];
		c = cells[PLACE(q, h)];
		if
		:: TAG(c) == (h & TAGS) -> skip
		:: else ->
			if
			:: me == NONE -> break
			:: else -> goto nothing
			fi
		fi;
		/* 3. */
		claim(q);
		if
		:: ok -> skip
		:: else -> goto again
		fi;
#ifdef BROKEN_CLAIM_FIRST
		c = cells[PLACE(q, h)];
#endif
		atomic {
			s = c % SLOTS;
			c = 0;
			h = 0
		}
		MAY_DIE;
		/* 4. */
load:
		e = events[SLOT(q, s)];
#ifdef BROKEN_COOKIE_EARLY
		k = cookie[SLOT(q, s)];
#endif
		if
		:: e >= STALE ->
			atomic {
				ok = events[SLOT(q, s)] == e;
				if
				:: ok -> e = e - STALE; events[SLOT(q, s)] = e
				:: else -> skip
				fi
			}
			if
			:: ok -> skip
			:: else -> goto load
			fi
		:: else -> skip
		fi;
		MAY_DIE;
		if
		:: e == 0 -> goto again
		:: else -> skip
		fi;
#ifndef BROKEN_COOKIE_EARLY
		k = cookie[SLOT(q, s)];
#endif
		atomic {
#ifdef BROKEN_DECREMENT
			ok = true;
#else
			ok = events[SLOT(q, s)] == e;
#endif
			if
			:: ok -> count_taken(q, k); count--
			:: else -> skip
			fi;
			k = 0
		}
		if
		:: ok -> skip
		:: else -> goto load
		fi;
		MAY_DIE;
		/* 5. */
		if
		:: e > 1 ->
#ifdef BROKEN_HUNGRY_EARLY
			hears = hungry[q] != 0;
#endif
			push(q, s);
			MAY_DIE;
			push_tail(q);
#ifdef BROKEN_NO_HUNGRY
			hears = false;
#elif !defined(BROKEN_HUNGRY_EARLY)
			hears = hungry[q] != 0;
#endif
			MAY_DIE;
			if
			:: hears -> wake(q)
			:: else -> skip
			fi
		:: else -> skip
		fi;
		atomic {
			s = 0;
			e = 0;
			hears = false
		}
	od;
	goto out;

nothing:
#ifdef EDGE
#ifdef ASKS
	/* compch_ring_ask(), and another look */
#if defined(BROKEN_ASKS_LATE)
	h = head[q];
	c = cells[PLACE(q, h)];
	hungry[q] = SAID;
#else
#ifndef BROKEN_ASKS_NOBODY
	hungry[q] = SAID;
#endif
	h = head[q];
	c = cells[PLACE(q, h)];
#endif
	ok = TAG(c) == (h & TAGS) || h != head[q];
	atomic {
		h = 0;
		c = 0
	}
#else
	/* Whoever waits for an edge has read in vain, without sleeping. */
	lock(q);
#ifdef BROKEN_QUIET_EAGAIN
	has_events(q);
#else
	look(q);
#endif
	unlock(q);
#endif
	if
	:: ok -> goto again
	:: else -> skip
	fi;
	do
	:: true ->
		asleep[me] = true;
end_edge:		atomic {
			awake[me];
			asleep[me] = false;
			awake[me] = false
		}
		if
		/* io_uring tells without looking. */
		:: true -> break
		:: true -> skip
		fi;
		watch(q);
		lock(q);
		look(q);
		unlock(q);
		if
		:: ok -> break
		:: else -> skip
		fi
	od;
#else
	/* Its entry, and then compch_queue_poll() */
	atomic {
		!pollers_locked[q] -> polls[me] = true
	}
	do
	:: true ->
		watch(q);
		lock(q);
		look(q);
		unlock(q);
		if
		:: ok -> break
		:: else -> skip
		fi;
		asleep[me] = true;
end_poll:		atomic {
			awake[me];
			asleep[me] = false;
			awake[me] = false
		}
	od;
	atomic {
		!pollers_locked[q] ->
		polls[me] = false;
		awake[me] = false
	}
#endif
	goto again;

#ifdef MORTAL
died:
	repair(q);
#endif
out:
	if
	:: me != NONE -> polls[me % WAITERS] = false
	:: else -> skip
	fi;
	at_work--
}

/* compch_queue_read(), @count times, of one event each */
proctype reader(byte me; byte q; byte count)
{
	byte h, t, c, s, e;
	bool ok;

	do
	:: count > 0 ->
		count--;
		lock(q);
		do
		:: true ->
			has_events(q);
			if
			:: ok ->
				/* compch_queue_serve_ring() */
				peek(q);
				if
				:: ok -> claim(q)
				:: else -> skip
				fi;
				if
				:: ok -> unmark(q)
				:: else -> skip
				fi;
				if
				:: ok && e > 0 ->
					atomic {
						e = events[SLOT(q, s)];
						count_taken(q,
							owner[SLOT(q, s)])
					}
					if
					:: e > 1 ->
						push(q, s);
						push_tail(q);
						put_back[q] = true
					:: else -> skip
					fi;
					feed(q);
					break
				:: else -> skip
				fi;
				atomic {
					h = 0;
					s = 0;
					e = 0
				}
			:: else ->
				/* compch_queue_wait() */
				atomic {
					!pollers_locked[q] ->
					listed[me] = true;
					awake[me] = false;
#ifndef BROKEN_WATCHED_LATE
					watched[q] = true
#endif
				}
				look(q);
#ifdef BROKEN_WATCHED_LATE
				watched[q] = true;
#endif
				if
				:: ok -> skip
				:: else ->
					unlock(q);
					asleep[me] = true;
end_read:				awake[me];
					asleep[me] = false;
					lock(q)
				fi;
				atomic {
					!pollers_locked[q] ->
					if
					:: listed[me] -> listed[me] = false
					:: else -> waking[q]--
					fi;
					awake[me] = false
				}
			fi
		od;
		atomic {
			h = 0;
			s = 0;
			e = 0
		}
		/* compch_queue_pass_on() */
		if
		:: SOMEBODY_LISTED(q) ->
			has_events(q);
			atomic {
				!pollers_locked[q] ->
				if
				:: ok && waking[q] == 0 -> wake_reader(q)
				:: else -> skip
				fi
			}
		:: else -> skip
		fi;
		unlock(q)
	:: else -> break
	od;
	at_work--
}

/* compch_ring_leave(): left */
inline leave(q, source)
{
	atomic {
		left = events[SLOT(q, slot_of[source])];
		owner[SLOT(q, slot_of[source])] = NONE;
#ifdef BROKEN_NO_STALE
		events[SLOT(q, slot_of[source])] = 0
#else
		events[SLOT(q, slot_of[source])] = STALE
#endif
	}
	if
	:: left == 0 -> events[SLOT(q, slot_of[source])] = 0
	:: else -> left = left % STALE
	fi
}

/* compch_ring_join() */
inline join(q, source, slot)
{
	atomic {
		assert(owner[SLOT(q, slot)] == NONE);
		owner[SLOT(q, slot)] = source;
		posted[SLOT(q, slot)] = 0
	}
	cookie[SLOT(q, slot)] = source;
	slot_of[source] = slot
}

/* compch_source_detach(), from queue 0 */
inline detach(source)
{
	lock(0);
	atomic {
		before = pending[source];
		pending[source] = DETACHED
	}
#ifndef BROKEN_NO_POSTED
	posted[SLOT(0, slot_of[source])] == before - POSTS;
#endif
	leave(0, source);
	atomic {
		discarded[source] = left;
		before = 0;
		left = 0
	}
	unlock(0)
}

/* compch_source_attach(), to the slot that another one has left */
inline attach(source, other)
{
	lock(0);
	join(0, source, slot_of[other]);
	pending[source] = POSTS;
	unlock(0)
}

/* A source leaves, and another one, and then maybe a third one, comes. */
proctype reuser(byte first; byte second; byte third)
{
	short before;
	byte q, s, t, c, e, left;
	bool watching, ok;

	detach(first);
	attach(second, first);
	fire(second);
	if
	:: third != NONE ->
		detach(second);
		attach(third % SOURCES, second);
		fire(third % SOURCES)
	:: else -> skip
	fi;
	at_work--
}

/* compch_source_move(), of compch_source_carry(), from queue 0 to 1 */
proctype mover(byte source)
{
	short before;
	byte q, s, t, c, e, left, more;
	bool watching, ok;

#if QUEUES > 1
	lock(0);
	lock(1);
	hold(source);
	if
	:: before >= POSTS -> leave(0, source)
	:: else -> left = before
	fi;
	before = 0;
	queue_of[source] = 1;
	join(1, source, 0);
	ring_post(1, source, left);
	release(source, left);
	ring_post(1, source, more);
	/* compch_queue_wake_many() */
	atomic {
		!pollers_locked[1] ->
		left = left + more;
		more = 0;
		if
		:: left > 0 -> wake_pollers(1)
		:: else -> skip
		fi;
		do
		:: left > 0 && SOMEBODY_LISTED(1) -> wake_reader(1); left--
		:: else -> break
		od;
		left = 0
	}
	unlock(0);
	unlock(1);
	/* What has been fired is posted, and no more than that. */
	pending[source] - POSTS == posted[SLOT(1, 0)];
#endif
	at_work--
}

/*
 * compch_source_count_ring(), with one try: what has been taken before is
 * reported, and not more than has been taken by then.
 */
proctype query(byte source)
{
	short before;
	byte q, s, t, c, e, more, was;
	bool ok;

	atomic {
		!locked[0] -> locked[0] = true;
		was = taken[source]
	}
	t = posted[SLOT(0, slot_of[source])];
#ifdef BROKEN_QUERY_EARLY
	before = pending[source];
	e = events[SLOT(0, slot_of[source])];
#else
	e = events[SLOT(0, slot_of[source])];
	before = pending[source];
#endif
	if
#ifdef BROKEN_QUERY_ONCE
	:: true -> skip
#else
	:: before == POSTS + t -> skip
	:: else ->
		hold(source);
		t = posted[SLOT(0, slot_of[source])];
		e = events[SLOT(0, slot_of[source])];
#endif
	fi;
	atomic {
		e = (e < t -> t - e : 0);
		assert(e >= was);
		assert(e <= taken[source]);
		t = 0;
		e = 0;
		was = 0;
		before = 0
	}
	if
	:: pending[source] < 0 ->
		release(source, posted[SLOT(0, slot_of[source])]);
		ring_post(0, source, more);
#ifndef BROKEN_QUIET_QUERY
		if
		:: more > 0 -> wake(0)
		:: else -> skip
		fi;
#endif
		more = 0
	:: else -> skip
	fi;
	unlock(0);
	at_work--
}

inline check()
{
	byte at;

	atomic {
		assert(!locked[0] && !locked[QUEUES - 1]);
		assert(waking[0] == 0 && waking[QUEUES - 1] == 0);
		/* Whoever has not come to an end has nothing to take. */
		i = 0;
		do
		:: i < WAITERS && asleep[i] ->
			at = waits_at[i];
			assert(events[SLOT(at, 0)] % STALE == 0 &&
			       events[SLOT(at, 1)] % STALE == 0);
			at_work--;
			i++
		:: i < WAITERS && !asleep[i] -> i++
		:: else -> break
		od;
		assert(at_work == 0);
		/* What has events can be taken. */
		i = 0;
		do
		:: i < QUEUES * SLOTS ->
			assert(in_cell[i] + unpushed[i] == (events[i] != 0));
			assert(!unpushed[i] || late[i / SLOTS]);
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < QUEUES ->
			at = (IN_CELL(i, head[i], 0) || IN_CELL(i, head[i], 1));
			at = at + (IN_CELL(i, head[i] + 1, 0) ||
				   IN_CELL(i, head[i] + 1, 1));
			assert(at == in_cell[SLOT(i, 0)] + in_cell[SLOT(i, 1)]);
			assert(at == 0 || IN_CELL(i, head[i], 0) ||
			       IN_CELL(i, head[i], 1));
			i++
		:: else -> break
		od;
		/* Nothing is lost, or taken twice. */
		i = 0;
		do
		:: i < SOURCES && ATTACHED(i) ->
			at = SLOT(queue_of[i], slot_of[i]);
			assert(pending[i] == POSTS + posted[at]);
			assert(fired[i] == taken[i] + merged[i] + discarded[i] +
			       events[at] % STALE);
			i++
		:: i < SOURCES && !ATTACHED(i) ->
			assert(fired[i] == taken[i] + merged[i] + discarded[i]);
			i++
		:: else -> break
		od
	}
}

init
{
	byte i;

	atomic {
		do
		:: i < QUEUES ->
			head[i] = FIRST;
			tail[i] = FIRST;
			cells[PLACE(i, FIRST)] = FILLED(FIRST - CELLS, 0);
			cells[PLACE(i, FIRST + 1)] = FILLED(FIRST - CELLS + 1, 0);
			owner[SLOT(i, 0)] = NONE;
			owner[SLOT(i, 1)] = NONE;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SOURCES ->
			pending[i] = DETACHED;
			if
			:: i < USED ->
				slot_of[i] = i;
#ifdef PLAIN_0
				pending[i] = 0;
#else
				pending[i] = POSTS;
				owner[SLOT(0, i)] = i;
				cookie[SLOT(0, i)] = i;
#endif
			:: else -> skip
			fi;
			i++
		:: else -> break
		od;
		i = 0;
#ifdef QUEUED
		pending[0] = POSTS + 1;
		fired[0] = 1;
		events[0] = 1;
		posted[0] = 1;
		cells[PLACE(0, FIRST)] = FILLED(FIRST, 0);
		in_cell[0] = true;
		tail[0] = FIRST + 1;
#endif
#ifdef SCENARIO_MOVE_READ
		waits_at[0] = 1;
#endif
		at_work = WORK;
		START
	}
	timeout;
	check()
}
