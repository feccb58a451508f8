/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Completion channels for RDMA: the interface between ib_compch.ko and
 * userspace, version 1.
 *
 * The module adds two object types to the ioctl interface of every uverbs
 * device file (/dev/infiniband/uverbsN) of an extended device.  They are
 * called through RDMA_VERBS_IOCTL with the driver_id of the device, which
 * stands, with the version of this interface, in
 *
 *	/sys/class/infiniband/DEV/compch/driver_id
 *	/sys/class/infiniband/DEV/compch/abi_version
 *
 * (These files alone are no proof that the device is extended: see
 * EPROTONOSUPPORT.)
 *
 * Where there is no sysfs, CHANNEL_QUERY with QUERY_FD -1 tells both in an open
 * context: EINVAL means another driver_id (enum rdma_driver_id), EPROTONOSUPPORT
 * that the device is not extended, EBADF that it is, by version 1.  A version that
 * is not compatible with this one numbers its methods otherwise.
 *
 * What every call has in common
 * -----------------------------
 *  EPROTONOSUPPORT  The device is not extended: the module is not loaded, or
 *		     the device's ioctl tree was built before it was (the
 *		     device must be registered anew); or an attribute marked
 *		     UVERBS_ATTR_F_MANDATORY is unknown; or a reserved field
 *		     of struct ib_uverbs_ioctl_hdr is not zero.
 *  EINVAL	     A mandatory attribute is missing, an attribute is given
 *		     twice or has the wrong length, a reserved field of an
 *		     attribute is not zero, a flag is unknown, driver_id is not
 *		     that of the device, the context has not been opened
 *		     (GET_CONTEXT), a handle or a fd is out of range, or a
 *		     handle belongs to an object of another type.
 *  ENOENT	     A handle is not one of the calling context: it never was,
 *		     it is destroyed, or it belongs to another context.
 *  EBUSY	     Another call is just creating or destroying the object of
 *		     a handle, or is using the one that is to be destroyed.
 *		     Calls with the same handle are the caller's to serialize.
 *  EFAULT	     A buffer cannot be read or written; nothing has changed.
 *		     (Unless it is unmapped while the call runs.)
 *  EIO		     The device of the calling context has been removed.
 *  ENOMEM	     No memory; nothing has changed.
 *
 * A channel is named by its file descriptor, a plain s32 (a raw-fd attribute),
 * so the channel may have been created by another context, on another device,
 * or by another process, and the fd may have been passed by SCM_RIGHTS or
 * inherited.
 *  EBADF	     The fd is not open, or is not a channel of this module.
 *
 *
 * Object COMPCH_OBJECT_CHANNEL
 * ============================
 * A file descriptor (O_CLOEXEC, O_RDWR) that delivers the completion events
 * of the CQs associated with it.
 *
 * COMPCH_METHOD_CHANNEL_CREATE
 *	CREATE_FD    (out, mandatory)  the new file descriptor
 *	CREATE_FLAGS (in, optional)    enum compch_channel_flags
 *	CREATE_RING  (in, optional)    u32, 1 to COMPCH_RING_MAX_CQS: with a
 *			ring for so many CQs (see "The event ring")
 *  EMFILE, ENFILE   No file descriptor is left.
 *  EINVAL	     CREATE_RING is 0 or too large.
 *  EOPNOTSUPP	     A ring, on a 32-bit kernel.
 *
 * COMPCH_METHOD_CHANNEL_DESTROY
 *	DESTROY_FD   (in, mandatory)
 *	Closes the channel for good: no CQ can be associated any more, and
 *	every blocked reader returns EIO.  The fd itself stays open until it is
 *	closed.  Against a concurrent ASSOC_CREATE or ASSOC_MOVE exactly one of
 *	the two calls succeeds.
 *  EBUSY	     A CQ is associated with the channel; nothing has changed.
 *  EIO		     The channel is closed already.
 *
 * COMPCH_METHOD_CHANNEL_CANCEL
 *	CANCEL_FD    (in, mandatory)
 *	Makes exactly one read() return ECANCELED: one that is blocked, or, if
 *	none is, the next one to come.  In the latter case poll() reports
 *	EPOLLIN meanwhile.  Cancels add up.
 *  EIO		     The channel is closed: no read() blocks on it anyhow.
 *  EOVERFLOW	     2^32 - 1 cancels are pending.
 *
 * COMPCH_METHOD_CHANNEL_QUERY
 *	QUERY_FD     (in, mandatory)
 *	QUERY_RESP   (out, mandatory)  struct compch_channel_info
 *	A closed channel can be queried.
 *
 * COMPCH_METHOD_CHANNEL_WAKE
 *	WAKE_FD      (in, mandatory)
 *	Has one blocked read() and those who poll() look at the channel again:
 *	for who takes events from its ring.
 *
 * A channel is also closed when the context that created it goes away: its
 * uverbs file is closed, or its device is removed.  A CQ of another context
 * that is associated with it then can be moved to an open channel, its pending
 * events with it.
 *
 * read(), readv(), preadv2() with offset -1, io_uring
 *	fill the buffer with an array of struct ib_uverbs_comp_event_desc
 *	(<rdma/ib_user_verbs.h>, 8 bytes each), as many whole ones as are
 *	queued and fit.  CQs are served in the order in which they became
 *	ready, one event of each in turn.
 *
 *	queue	channel	read()				poll()
 *	-----	-------	------				------
 *	any, a cancel pending
 *		open	ECANCELED, uses up the cancel	EPOLLIN
 *	events	any	the events			EPOLLIN | EPOLLRDNORM
 *	empty	closed	EIO				EPOLLERR
 *	empty	open	EAGAIN, if O_NONBLOCK or
 *			RWF_NOWAIT			0
 *	empty	open	sleeps, exclusively; EINTR or
 *			a restart on a signal		0
 *
 *  EINVAL	     The buffer is shorter than 8 bytes, whatever is queued.
 *		     (Of length 0, preadv2() and readv() return 0.)
 *  EFAULT	     The buffer cannot be written.  The events stay queued and
 *		     uncounted.  If its beginning can be written, the events
 *		     that fit there are returned.
 *	Bytes of the buffer behind what read() returns may be overwritten.
 *
 * An event is counted as reported, and must be acknowledged, exactly when it
 * has been copied to the reader's buffer.  SIGIO is sent (F_SETOWN, O_ASYNC)
 * where poll() starts or goes on to report EPOLLIN or EPOLLERR.  There is no
 * write(), no llseek().
 *
 *
 * Object COMPCH_OBJECT_ASSOC
 * ==========================
 * A handle (an IDR object) in the context of a CQ: the association of that CQ
 * with a channel.  It is charged to the rdma cgroup as one HCA object.  A CQ
 * cannot be destroyed (EBUSY) while it is associated.
 *
 * COMPCH_METHOD_ASSOC_CREATE
 *	CREATE_HANDLE (out, mandatory)  the new handle
 *	CREATE_CQ     (in, mandatory)   handle of a CQ of this context
 *	CREATE_CHANNEL_FD (in, mandatory)
 *	CREATE_COOKIE (in, optional)    u64 that read() returns as cq_handle
 *			for this CQ; by default the CQ's user_handle
 *	The events of completions that come after the call go to the channel
 *	and no longer to the stock channel that the CQ may have been created
 *	with.
 *  EAGAIN	     The rdma cgroup's limit of HCA objects is reached.
 *  EBUSY	     The CQ is associated already.
 *  EIO		     The channel is closed.
 *  ENOSPC	     The channel has a ring, and no more CQs fit in.
 *
 * COMPCH_METHOD_ASSOC_MOVE
 *	MOVE_HANDLE  (in, mandatory)
 *	MOVE_CHANNEL_FD (in, mandatory)
 *	Moves the CQ to another channel, its pending events and its counters
 *	with it.  Each event is read once, from one of the two channels.
 *	Moving to the channel where the CQ is has no effect.
 *  EIO, ENOSPC	     The target is closed, or its ring full; the CQ stays where
 *		     it was.
 *
 * COMPCH_METHOD_ASSOC_DESTROY
 *	DESTROY_HANDLE (in, mandatory)
 *	DESTROY_RESP (out, mandatory)  struct compch_assoc_destroy_resp
 *	DESTROY_FLAGS (in, optional)   enum compch_assoc_destroy_flags
 *	Afterwards no read() returns an event of the CQ; its events go to the
 *	stock channel that it was created with, if any.
 *  EBUSY	     With COMPCH_ASSOC_DESTROY_IF_UNUSED: a QP, an SRQ or
 *		     anything else uses the CQ; nothing has changed.
 *
 * COMPCH_METHOD_ASSOC_QUERY
 *	QUERY_HANDLE (in, mandatory)
 *	QUERY_RESP   (out, mandatory)  struct compch_assoc_info
 *
 *
 * The event ring
 * ==============
 * A channel that was created with a ring can be mapped: MAP_SHARED, offset 0,
 * and of the length that struct compch_channel_info.ring_size tells, by one
 * process at a time (EBUSY); a child does not inherit the mapping.  (ENODEV: the
 * channel has no ring.  EINVAL: MAP_PRIVATE, or not the whole of it.)  Events can
 * then be taken without a system call.  All else is as without a ring, read()
 * and poll() included, and both ways can be used at once, by any number of
 * threads.
 *
 * struct compch_ring_head stands at the beginning, and says where the slots and
 * the cells are.  A slot belongs to a CQ, and counts its events.  The cells are
 * a queue of the slots that have some, each at most once: so it is never full.
 * All of it is the program's to destroy, but only to its own harm.
 *
 * A cell holds the position in the queue (the low 32 bits) in its upper half,
 * and in the lower one where a slot is, in bytes from the beginning of the
 * slots.  Each access is one of 64 bits, and atomic; those marked * are a
 * compare-and-exchange, and a program starts anew where one fails.
 *
 * To take an event:
 *  1. If attention is not 0, read() instead.
 *  2. Load head, and then (acquire) the cell at head modulo cells.  If its
 *     upper half is not the lower one of head, there is no event, or head has
 *     changed.
 *  3. Increment head (*, acquire).  The cell is now the program's.  So can
 *     several be taken that stand behind each other.
 *  4. Load the slot's events (acquire).
 *     - With COMPCH_RING_STALE, clear that (*).  Events that it had then are
 *	 those of another CQ than its cell was queued for.  If it had none, go
 *	 to 1.
 *     - If there are none, go to 1.
 *     - Load the cookie, and then decrement events (*, acquire and release).
 *	 The event is the program's.
 *  5. If the slot had more than this one, put it back:
 *     a. Load tail (acquire), and (acquire) the cell at tail modulo cells.
 *     b. If the cell's upper half is tail, others have just filled it:
 *	  increment tail (*, only if it is what was loaded), and go to a.
 *     c. If it is tail - cells, set it to tail and the slot's place (*,
 *	  release).  If it is another one, go to a.
 *     d. Increment tail (*, only if it is what was loaded).
 *     e. Behind a full barrier: if hungry is not 0, CHANNEL_WAKE.
 *
 * That the cells are empty does not say that no event is left: another thread may
 * have a slot in its hands, and put it back.  It wakes who waits if he has
 * looked by poll() or read().  So whoever waits for an edge (EPOLLET, SIGIO)
 * must have got EAGAIN from read() first; or have set hungry to 1 and, behind a
 * full barrier, have found the cells empty then.
 *
 * Output structures may grow: a longer buffer is filled up with zeros, a
 * shorter one is accepted down to the last member of version 1.
 */
#ifndef _UAPI_RDMA_COMPCH_ABI_H
#define _UAPI_RDMA_COMPCH_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define COMPCH_ABI_VERSION	1

enum compch_objects {
	COMPCH_OBJECT_ASSOC = (1U << UVERBS_ID_NS_SHIFT) + 10,
	COMPCH_OBJECT_CHANNEL,
};

enum compch_channel_methods {
	COMPCH_METHOD_CHANNEL_CREATE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_METHOD_CHANNEL_DESTROY,
	COMPCH_METHOD_CHANNEL_CANCEL,
	COMPCH_METHOD_CHANNEL_QUERY,
	COMPCH_METHOD_CHANNEL_WAKE,
};

enum compch_channel_create_attrs {
	COMPCH_ATTR_CHANNEL_CREATE_FD = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_CHANNEL_CREATE_FLAGS,
	COMPCH_ATTR_CHANNEL_CREATE_RING,
};

enum compch_channel_destroy_attrs {
	COMPCH_ATTR_CHANNEL_DESTROY_FD = (1U << UVERBS_ID_NS_SHIFT),
};

enum compch_channel_cancel_attrs {
	COMPCH_ATTR_CHANNEL_CANCEL_FD = (1U << UVERBS_ID_NS_SHIFT),
};

enum compch_channel_query_attrs {
	COMPCH_ATTR_CHANNEL_QUERY_FD = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_CHANNEL_QUERY_RESP,
};

enum compch_channel_wake_attrs {
	COMPCH_ATTR_CHANNEL_WAKE_FD = (1U << UVERBS_ID_NS_SHIFT),
};

enum compch_assoc_methods {
	COMPCH_METHOD_ASSOC_CREATE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_METHOD_ASSOC_MOVE,
	COMPCH_METHOD_ASSOC_DESTROY,
	COMPCH_METHOD_ASSOC_QUERY,
};

enum compch_assoc_create_attrs {
	COMPCH_ATTR_ASSOC_CREATE_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_ASSOC_CREATE_CQ,
	COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD,
	COMPCH_ATTR_ASSOC_CREATE_COOKIE,
};

enum compch_assoc_move_attrs {
	COMPCH_ATTR_ASSOC_MOVE_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD,
};

enum compch_assoc_destroy_attrs {
	COMPCH_ATTR_ASSOC_DESTROY_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_ASSOC_DESTROY_RESP,
	COMPCH_ATTR_ASSOC_DESTROY_FLAGS,
};

enum compch_assoc_query_attrs {
	COMPCH_ATTR_ASSOC_QUERY_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	COMPCH_ATTR_ASSOC_QUERY_RESP,
};

/* CHANNEL_CREATE_FLAGS */
enum compch_channel_flags {
	/* At most one event is queued for each CQ; further ones merge with it */
	COMPCH_CHANNEL_COALESCE = 1 << 0,
};

/* ASSOC_DESTROY_FLAGS */
enum compch_assoc_destroy_flags {
	/* Refuse (EBUSY) while anything but the association uses the CQ */
	COMPCH_ASSOC_DESTROY_IF_UNUSED = 1 << 0,
};

/* struct compch_channel_info.state */
enum compch_channel_state {
	COMPCH_CHANNEL_OPEN,
	COMPCH_CHANNEL_CLOSED,
};

/**
 * struct compch_channel_info - what CHANNEL_QUERY tells
 * @flags:	the flags that the channel was created with
 * @state:	enum compch_channel_state
 * @associations: CQs associated with the channel
 * @cancels:	cancels that no read() has used up yet
 * @pending:	events queued, of all its CQs
 * @reported:	events read from this channel, or taken from its ring, since it
 *		was created
 * @ring_cqs:	CQs that fit into its ring, or 0 if it has none
 * @reserved:	0
 * @ring_size:	bytes to be mapped
 */
struct compch_channel_info {
	__u32 flags;
	__u32 state;
	__u32 associations;
	__u32 cancels;
	__aligned_u64 pending;
	__aligned_u64 reported;
	__u32 ring_cqs;
	__u32 reserved;
	__aligned_u64 ring_size;
};

/**
 * struct compch_assoc_info - what ASSOC_QUERY tells
 * @cookie:	what read() returns for this CQ
 * @pending:	events queued for this CQ
 * @reported:	events of this CQ that have been read, on any channel
 * @merged:	events that merged with a queued one (COALESCE)
 */
struct compch_assoc_info {
	__aligned_u64 cookie;
	__aligned_u64 pending;
	__aligned_u64 reported;
	__aligned_u64 merged;
};

/**
 * struct compch_assoc_destroy_resp - the balance of a destroyed association
 * @events_reported:	events of this CQ that have been read, on any channel:
 *			as many acknowledgements are due
 * @events_discarded:	events that were still queued and nobody will read
 */
struct compch_assoc_destroy_resp {
	__aligned_u64 events_reported;
	__aligned_u64 events_discarded;
};

#define COMPCH_RING_MAX_CQS	(1U << 16)

/* struct compch_ring_slot.events: of a CQ that is associated no more */
#define COMPCH_RING_STALE	(1ULL << 63)

/**
 * struct compch_ring_head - the beginning of an event ring
 * @cqs:	number of slots
 * @cells:	number of cells, a power of two
 * @slots_offset: where the slots are, an array of struct compch_ring_slot: in
 *		bytes from the beginning of this
 * @cells_offset: where the cells are, an array of __aligned_u64
 * @attention:	not 0: cancelled, closed, or something is not in the cells; so
 *		use read()
 * @hungry:	not 0: somebody waits, who has found no event; 1 if a program has
 *		said so
 * @head:	position of the next cell to be taken
 * @tail:	position of the next cell to be filled
 *
 * Of this structure, the program writes to nothing else than @head, @tail and
 * @hungry.
 */
struct compch_ring_head {
	__u32 cqs;
	__u32 cells;
	__u32 slots_offset;
	__u32 cells_offset;
	__u32 attention;
	__u32 hungry;
	__aligned_u64 reserved0[5];
	__aligned_u64 head;
	__aligned_u64 reserved1[7];
	__aligned_u64 tail;
	__aligned_u64 reserved2[7];
};

/**
 * struct compch_ring_slot - the events of a CQ
 * @events:	their number, and COMPCH_RING_STALE
 * @cookie:	what read() returns for the CQ
 */
struct compch_ring_slot {
	__aligned_u64 events;
	__aligned_u64 cookie;
};

#endif /* _UAPI_RDMA_COMPCH_ABI_H */
