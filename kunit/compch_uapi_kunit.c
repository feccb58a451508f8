// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The interface with userspace, version 1, is cast in stone: sizes, offsets,
 * numbers and masks, each as a literal.
 */

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/stddef.h>
#include <rdma/ib_user_verbs.h>

#include "../include/uapi/rdma/compch-abi.h"

/**
 * struct layout_case - a member of a structure, or all of it
 * @name: its name
 * @offset: where it is
 * @size: how long it is
 * @want_offset: where it must be
 * @want_size: how long it must be
 */
struct layout_case {
	const char *name;
	size_t offset;
	size_t size;
	size_t want_offset;
	size_t want_size;
};

#define WHOLE(type, want_size)						\
	{ #type, 0, sizeof(type), 0, want_size }
#define MEMBER(type, member, want_offset, want_size)			\
	{ #type "." #member, offsetof(type, member),			\
	  sizeof_field(type, member), want_offset, want_size }

static const struct layout_case layout_cases[] = {
	WHOLE(struct compch_channel_info, 48),
	MEMBER(struct compch_channel_info, flags, 0, 4),
	MEMBER(struct compch_channel_info, state, 4, 4),
	MEMBER(struct compch_channel_info, associations, 8, 4),
	MEMBER(struct compch_channel_info, cancels, 12, 4),
	MEMBER(struct compch_channel_info, pending, 16, 8),
	MEMBER(struct compch_channel_info, reported, 24, 8),
	MEMBER(struct compch_channel_info, ring_cqs, 32, 4),
	MEMBER(struct compch_channel_info, reserved, 36, 4),
	MEMBER(struct compch_channel_info, ring_size, 40, 8),

	WHOLE(struct compch_assoc_info, 32),
	MEMBER(struct compch_assoc_info, cookie, 0, 8),
	MEMBER(struct compch_assoc_info, pending, 8, 8),
	MEMBER(struct compch_assoc_info, reported, 16, 8),
	MEMBER(struct compch_assoc_info, merged, 24, 8),

	WHOLE(struct compch_assoc_destroy_resp, 16),
	MEMBER(struct compch_assoc_destroy_resp, events_reported, 0, 8),
	MEMBER(struct compch_assoc_destroy_resp, events_discarded, 8, 8),

	WHOLE(struct compch_ring_head, 192),
	MEMBER(struct compch_ring_head, cqs, 0, 4),
	MEMBER(struct compch_ring_head, cells, 4, 4),
	MEMBER(struct compch_ring_head, slots_offset, 8, 4),
	MEMBER(struct compch_ring_head, cells_offset, 12, 4),
	MEMBER(struct compch_ring_head, attention, 16, 4),
	MEMBER(struct compch_ring_head, hungry, 20, 4),
	MEMBER(struct compch_ring_head, reserved0, 24, 40),
	MEMBER(struct compch_ring_head, head, 64, 8),
	MEMBER(struct compch_ring_head, reserved1, 72, 56),
	MEMBER(struct compch_ring_head, tail, 128, 8),
	MEMBER(struct compch_ring_head, reserved2, 136, 56),

	WHOLE(struct compch_ring_slot, 16),
	MEMBER(struct compch_ring_slot, events, 0, 8),
	MEMBER(struct compch_ring_slot, cookie, 8, 8),

	/* What read() fills the buffer with is uverbs' own. */
	WHOLE(struct ib_uverbs_comp_event_desc, 8),
	MEMBER(struct ib_uverbs_comp_event_desc, cq_handle, 0, 8),
};

static void layout_case_desc(const struct layout_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(layout, layout_cases, layout_case_desc);

static void uapi_layout(struct kunit *test)
{
	const struct layout_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->offset, c->want_offset);
	KUNIT_EXPECT_EQ(test, c->size, c->want_size);
}

/* A structure ends where its last member does, at a multiple of 8 bytes. */
static void uapi_no_padding(struct kunit *test)
{
	const struct layout_case *c = layout_cases;
	const struct layout_case *last = c + ARRAY_SIZE(layout_cases);
	const struct layout_case *whole;
	size_t end;

	while (c < last) {
		whole = c;
		end = 0;
		for (c++; c < last && strchr(c->name, '.'); c++) {
			KUNIT_EXPECT_EQ_MSG(test, c->offset, end, "%s",
					    c->name);
			end = c->offset + c->size;
		}
		KUNIT_EXPECT_EQ_MSG(test, whole->size, end, "%s", whole->name);
		KUNIT_EXPECT_EQ_MSG(test, end % 8, 0UL, "%s", whole->name);
	}
}

struct number_case {
	const char *name;
	u64 value;
	u64 want;
};

#define NUMBER(name, want)	{ #name, name, want }

static const struct number_case number_cases[] = {
	NUMBER(COMPCH_ABI_VERSION, 1),

	NUMBER(COMPCH_OBJECT_ASSOC, 0x100a),
	NUMBER(COMPCH_OBJECT_CHANNEL, 0x100b),

	NUMBER(COMPCH_METHOD_CHANNEL_CREATE, 0x1000),
	NUMBER(COMPCH_METHOD_CHANNEL_DESTROY, 0x1001),
	NUMBER(COMPCH_METHOD_CHANNEL_CANCEL, 0x1002),
	NUMBER(COMPCH_METHOD_CHANNEL_QUERY, 0x1003),
	NUMBER(COMPCH_METHOD_CHANNEL_WAKE, 0x1004),
	NUMBER(COMPCH_ATTR_CHANNEL_CREATE_FD, 0x1000),
	NUMBER(COMPCH_ATTR_CHANNEL_CREATE_FLAGS, 0x1001),
	NUMBER(COMPCH_ATTR_CHANNEL_CREATE_RING, 0x1002),
	NUMBER(COMPCH_ATTR_CHANNEL_DESTROY_FD, 0x1000),
	NUMBER(COMPCH_ATTR_CHANNEL_CANCEL_FD, 0x1000),
	NUMBER(COMPCH_ATTR_CHANNEL_QUERY_FD, 0x1000),
	NUMBER(COMPCH_ATTR_CHANNEL_QUERY_RESP, 0x1001),
	NUMBER(COMPCH_ATTR_CHANNEL_WAKE_FD, 0x1000),

	NUMBER(COMPCH_METHOD_ASSOC_CREATE, 0x1000),
	NUMBER(COMPCH_METHOD_ASSOC_MOVE, 0x1001),
	NUMBER(COMPCH_METHOD_ASSOC_DESTROY, 0x1002),
	NUMBER(COMPCH_METHOD_ASSOC_QUERY, 0x1003),
	NUMBER(COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0x1000),
	NUMBER(COMPCH_ATTR_ASSOC_CREATE_CQ, 0x1001),
	NUMBER(COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, 0x1002),
	NUMBER(COMPCH_ATTR_ASSOC_CREATE_COOKIE, 0x1003),
	NUMBER(COMPCH_ATTR_ASSOC_MOVE_HANDLE, 0x1000),
	NUMBER(COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, 0x1001),
	NUMBER(COMPCH_ATTR_ASSOC_DESTROY_HANDLE, 0x1000),
	NUMBER(COMPCH_ATTR_ASSOC_DESTROY_RESP, 0x1001),
	NUMBER(COMPCH_ATTR_ASSOC_DESTROY_FLAGS, 0x1002),
	NUMBER(COMPCH_ATTR_ASSOC_QUERY_HANDLE, 0x1000),
	NUMBER(COMPCH_ATTR_ASSOC_QUERY_RESP, 0x1001),

	NUMBER(COMPCH_CHANNEL_COALESCE, 1),
	NUMBER(COMPCH_ASSOC_DESTROY_IF_UNUSED, 1),
	NUMBER(COMPCH_CHANNEL_OPEN, 0),
	NUMBER(COMPCH_CHANNEL_CLOSED, 1),

	NUMBER(COMPCH_RING_MAX_CQS, 65536),
	NUMBER(COMPCH_RING_STALE, 0x8000000000000000),
};

static void number_case_desc(const struct number_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(number, number_cases, number_case_desc);

static void uapi_number(struct kunit *test)
{
	const struct number_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->value, c->want);
}

/* A driver's ids are 0 to 11 of its namespace, by uverbs' keys. */
static void uapi_ids_in_driver_namespace(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, COMPCH_OBJECT_ASSOC >> UVERBS_ID_NS_SHIFT, 1);
	KUNIT_EXPECT_EQ(test, COMPCH_OBJECT_CHANNEL >> UVERBS_ID_NS_SHIFT, 1);
	KUNIT_EXPECT_LT(test, COMPCH_OBJECT_CHANNEL &
			(BIT(UVERBS_ID_NS_SHIFT) - 1), 12UL);
	KUNIT_EXPECT_NE(test, (int)COMPCH_OBJECT_ASSOC,
			(int)COMPCH_OBJECT_CHANNEL);
}

static struct kunit_case uapi_cases[] = {
	KUNIT_CASE_PARAM(uapi_layout, layout_gen_params),
	KUNIT_CASE(uapi_no_padding),
	KUNIT_CASE_PARAM(uapi_number, number_gen_params),
	KUNIT_CASE(uapi_ids_in_driver_namespace),
	{}
};

static struct kunit_suite uapi_suite = {
	.name = "compch_uapi",
	.test_cases = uapi_cases,
};

kunit_test_suite(uapi_suite);

MODULE_DESCRIPTION("KUnit tests of the interface of completion channels");
MODULE_LICENSE("Dual BSD/GPL");
