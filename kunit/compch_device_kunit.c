// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The extension of devices, on a device that does nothing.  It has an extender
 * of its own, so the module must not be there at the same time: that one would
 * find its object ids taken.
 */

#define compch_assoc_defs	compch_device_kunit_assoc_defs
#define compch_channel_defs	compch_device_kunit_channel_defs
#define compch_device_exit	compch_device_kunit_exit
#define compch_device_init	compch_device_kunit_init
#define compch_live		compch_device_kunit_live

#include "../drivers/infiniband/compch/device.c"

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/kernfs.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#define DRIVER_ID	((enum rdma_driver_id)0x4711)

atomic_long_t compch_live[COMPCH_LIVE_COUNT];

struct device_test;

/**
 * struct fake_device - an RDMA device that does nothing
 * @ibdev: the device
 * @test: whose it is
 * @enable_ret: what becomes of its registration
 */
struct fake_device {
	struct ib_device ibdev;
	struct device_test *test;
	int enable_ret;
};

/**
 * struct device_test - what each test starts with
 * @dev: not registered
 * @seen: how often uverbs has come across each of the lists of definitions
 * @registered: @dev is
 */
struct device_test {
	struct fake_device *dev;
	unsigned int seen[3];
	bool registered;
};

static struct fake_device *to_fake(struct ib_device *ibdev)
{
	return container_of(ibdev, struct fake_device, ibdev);
}

/* --- lists of definitions that tell when uverbs reads them ---------------- */

enum { SEEN_DRIVER, SEEN_CHANNEL, SEEN_ASSOC };

static bool seen_driver(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id == DRIVER_ID)
		to_fake(ibdev)->test->seen[SEEN_DRIVER]++;
	return true;
}

static bool seen_channel(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id == DRIVER_ID)
		to_fake(ibdev)->test->seen[SEEN_CHANNEL]++;
	return true;
}

static bool seen_assoc(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id == DRIVER_ID)
		to_fake(ibdev)->test->seen[SEEN_ASSOC]++;
	return true;
}

const struct uapi_definition compch_channel_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_channel),
	{}
};

const struct uapi_definition compch_assoc_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_assoc),
	{}
};

static const struct uapi_definition driver_plain_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_driver),
	{}
};

#define OBJECT(id)							\
	{								\
		.kind = UAPI_DEF_OBJECT_START,				\
		.object_start = { .object_id = (id) },			\
	}

static const struct uapi_definition driver_other_id_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_driver),
	OBJECT((1U << UVERBS_ID_NS_SHIFT) + 9),
	{}
};

static const struct uapi_definition driver_assoc_id_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_driver),
	OBJECT(COMPCH_OBJECT_ASSOC),
	{}
};

static const struct uapi_definition driver_channel_id_defs[] = {
	UAPI_DEF_IS_OBJ_SUPPORTED(seen_driver),
	OBJECT((1U << UVERBS_ID_NS_SHIFT) + 1),
	OBJECT(COMPCH_OBJECT_CHANNEL),
	{}
};

static const struct uapi_definition driver_chained_id_defs[] = {
	UAPI_DEF_CHAIN(driver_plain_defs),
	UAPI_DEF_CHAIN(driver_channel_id_defs),
	{}
};

/* --- the device ----------------------------------------------------------- */

static int fake_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	return 0;
}

static int fake_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	return 0;
}

static int fake_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_RAW_PACKET;
	return 0;
}

static int fake_alloc_ucontext(struct ib_ucontext *context,
			       struct ib_udata *udata)
{
	return 0;
}

static void fake_dealloc_ucontext(struct ib_ucontext *context)
{
}

static int fake_enable_driver(struct ib_device *ibdev)
{
	return to_fake(ibdev)->enable_ret;
}

struct fake_ucontext {
	struct ib_ucontext ibucontext;
};

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = DRIVER_ID,
	.uverbs_abi_ver = 1,
	.alloc_ucontext = fake_alloc_ucontext,
	.dealloc_ucontext = fake_dealloc_ucontext,
	.enable_driver = fake_enable_driver,
	.get_port_immutable = fake_get_port_immutable,
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	INIT_RDMA_OBJ_SIZE(ib_ucontext, fake_ucontext, ibucontext),
};

static int device_test_init(struct kunit *test)
{
	struct device_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->dev = ib_alloc_device(fake_device, ibdev);
	KUNIT_ASSERT_NOT_NULL(test, t->dev);
	t->dev->test = t;
	t->dev->ibdev.node_type = RDMA_NODE_UNSPECIFIED;
	t->dev->ibdev.phys_port_cnt = 1;
	t->dev->ibdev.num_comp_vectors = 1;
	ib_set_device_ops(&t->dev->ibdev, &fake_ops);
	test->priv = t;
	return 0;
}

static void device_test_exit(struct kunit *test)
{
	struct device_test *t = test->priv;

	if (!t)
		return;
	if (t->registered)
		ib_unregister_device(&t->dev->ibdev);
	ib_dealloc_device(&t->dev->ibdev);
}

static int add(struct device_test *t, const struct uapi_definition *def)
{
	int ret;

	t->dev->ibdev.driver_def = def;
	ret = ib_register_device(&t->dev->ibdev, "compch_kunit%d", NULL);
	t->registered = !ret;
	return ret;
}

static void del(struct device_test *t)
{
	ib_unregister_device(&t->dev->ibdev);
	t->registered = false;
}

/* References that extended devices have on the module */
static int module_refs(void)
{
#ifdef MODULE
	return module_refcount(THIS_MODULE);
#else
	return atomic_long_read(&compch_live[COMPCH_LIVE_DEVICES]);
#endif
}

static bool has_attributes(struct device *dev)
{
	struct kernfs_node *node;

	node = kernfs_find_and_get(dev->kobj.sd, "compch");
	if (!node)
		return false;
	kernfs_put(node);
	return true;
}

static void expect_alone(struct kunit *test, int refs)
{
	KUNIT_EXPECT_EQ(test, module_refs(), refs);
	KUNIT_EXPECT_EQ(test, 0L,
			atomic_long_read(&compch_live[COMPCH_LIVE_DEVICES]));
	KUNIT_EXPECT_TRUE(test, list_empty(&compch_devices));
}

/* --- the tests ------------------------------------------------------------ */

struct extend_case {
	const char *name;
	const struct uapi_definition *def;
	bool extended;
};

static const struct extend_case extend_cases[] = {
	{ "no definitions", NULL, true },
	{ "definitions", driver_plain_defs, true },
	{ "other ids", driver_other_id_defs, true },
	{ "association id", driver_assoc_id_defs, false },
	{ "channel id", driver_channel_id_defs, false },
	{ "channel id, chained", driver_chained_id_defs, false },
};

static void extend_case_desc(const struct extend_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(extend, extend_cases, extend_case_desc);

/* Extended, unless its ids are taken, and afterwards as it was. */
static void device_extend_restore(struct kunit *test)
{
	const struct extend_case *c = test->param_value;
	struct device_test *t = test->priv;
	struct ib_device *ibdev = &t->dev->ibdev;
	int refs = module_refs();

	KUNIT_ASSERT_EQ(test, 0, add(t, c->def));
	KUNIT_EXPECT_EQ(test, has_attributes(&ibdev->dev), c->extended);
	KUNIT_EXPECT_EQ(test, module_refs(), refs + c->extended);
	KUNIT_EXPECT_EQ(test, (long)c->extended,
			atomic_long_read(&compch_live[COMPCH_LIVE_DEVICES]));

	/* What uverbs has built the tree from */
	KUNIT_EXPECT_EQ(test, t->seen[SEEN_CHANNEL], (unsigned int)c->extended);
	KUNIT_EXPECT_EQ(test, t->seen[SEEN_ASSOC], (unsigned int)c->extended);
	if (!c->def)
		KUNIT_EXPECT_EQ(test, t->seen[SEEN_DRIVER], 0U);
	else
		KUNIT_EXPECT_GT(test, t->seen[SEEN_DRIVER], 0U);
	if (!c->extended)
		KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, c->def);

	del(t);
	KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, c->def);
	expect_alone(test, refs);
}

/* The driver refuses in the end: as if nothing had been. */
static void device_registration_fails(struct kunit *test)
{
	struct device_test *t = test->priv;
	int refs = module_refs();

	t->dev->enable_ret = -ENODEV;
	KUNIT_EXPECT_EQ(test, -ENODEV, add(t, driver_plain_defs));
	KUNIT_EXPECT_PTR_EQ(test, t->dev->ibdev.driver_def,
			    &driver_plain_defs[0]);
	expect_alone(test, refs);
}

/* Somebody else extends it too, after us: what they chain must last. */
static void device_other_extender(struct kunit *test)
{
	struct device_test *t = test->priv;
	struct ib_device *ibdev = &t->dev->ibdev;
	struct uapi_definition *other;
	int refs = module_refs();

	other = kunit_kzalloc(test, 2 * sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_EQ(test, 0, add(t, driver_plain_defs));
	other[0] = (struct uapi_definition)UAPI_DEF_CHAIN(ibdev->driver_def);
	ibdev->driver_def = other;

	del(t);
	/* It is for them to take away what they have put there. */
	KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, other);
	KUNIT_EXPECT_TRUE(test, compch_def_has_ids(driver_chained_id_defs));
	KUNIT_EXPECT_FALSE(test, compch_def_has_ids(driver_plain_defs));
	expect_alone(test, refs);
}

static void compat_release(struct device *dev)
{
	/* The test frees it. */
}

/* A device that shows @ibdev in another network namespace, as ib_core's do */
static struct ib_core_device *compat_add(struct kunit *test,
					 struct ib_device *ibdev)
{
	struct ib_core_device *compat;

	compat = kunit_kzalloc(test, sizeof(*compat), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, compat);
	compat->owner = ibdev;
	compat->rdma_net = ibdev->coredev.rdma_net;
	compat->dev.class = ibdev->dev.class;
	compat->dev.release = compat_release;
	device_initialize(&compat->dev);
	KUNIT_ASSERT_EQ(test, 0, dev_set_name(&compat->dev, "%s_compat",
					      dev_name(&ibdev->dev)));
	KUNIT_ASSERT_EQ(test, 0, device_add(&compat->dev));
	return compat;
}

static void compat_del(struct ib_core_device *compat)
{
	device_del(&compat->dev);
	put_device(&compat->dev);
}

/* It shows the attributes, and is no device of its own. */
static void device_of_other_namespace(struct kunit *test)
{
	struct device_test *t = test->priv;
	struct ib_device *ibdev = &t->dev->ibdev;
	const struct uapi_definition *def;
	struct ib_core_device *compat;
	int refs = module_refs();

	KUNIT_ASSERT_EQ(test, 0, add(t, driver_plain_defs));
	def = ibdev->driver_def;
	compat = compat_add(test, ibdev);
	KUNIT_EXPECT_TRUE(test, has_attributes(&compat->dev));
	KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, def);
	KUNIT_EXPECT_EQ(test, module_refs(), refs + 1);

	compat_del(compat);
	KUNIT_EXPECT_TRUE(test, has_attributes(&ibdev->dev));
	KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, def);
	KUNIT_EXPECT_EQ(test, module_refs(), refs + 1);
	del(t);
	expect_alone(test, refs);
}

static void device_of_other_namespace_alone(struct kunit *test)
{
	struct device_test *t = test->priv;
	struct ib_device *ibdev = &t->dev->ibdev;
	struct ib_core_device *compat;
	int refs = module_refs();

	KUNIT_ASSERT_EQ(test, 0, add(t, driver_assoc_id_defs));
	compat = compat_add(test, ibdev);
	KUNIT_EXPECT_FALSE(test, has_attributes(&compat->dev));
	KUNIT_EXPECT_PTR_EQ(test, ibdev->driver_def, &driver_assoc_id_defs[0]);
	compat_del(compat);
	del(t);
	expect_alone(test, refs);
}

/* The attributes of both say the same. */
static void device_attributes(struct kunit *test)
{
	struct device_test *t = test->priv;
	struct ib_device *ibdev = &t->dev->ibdev;
	struct ib_core_device *compat;
	char *page;

	page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_EQ(test, 0, add(t, NULL));
	compat = compat_add(test, ibdev);

	abi_version_show(&ibdev->dev, &dev_attr_abi_version, page);
	KUNIT_EXPECT_STREQ(test, page, "1\n");
	driver_id_show(&ibdev->dev, &dev_attr_driver_id, page);
	KUNIT_EXPECT_STREQ(test, page, "18193\n");
	driver_id_show(&compat->dev, &dev_attr_driver_id, page);
	KUNIT_EXPECT_STREQ(test, page, "18193\n");

	compat_del(compat);
	del(t);
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE_PARAM(device_extend_restore, extend_gen_params),
	KUNIT_CASE(device_registration_fails),
	KUNIT_CASE(device_other_extender),
	KUNIT_CASE(device_of_other_namespace),
	KUNIT_CASE(device_of_other_namespace_alone),
	KUNIT_CASE(device_attributes),
	{}
};

static int device_suite_init(struct kunit_suite *suite)
{
	return compch_device_init();
}

static void device_suite_exit(struct kunit_suite *suite)
{
	compch_device_exit();
}

static struct kunit_suite device_suite = {
	.name = "compch_device",
	.suite_init = device_suite_init,
	.suite_exit = device_suite_exit,
	.init = device_test_init,
	.exit = device_test_exit,
	.test_cases = device_cases,
};

kunit_test_suite(device_suite);

MODULE_DESCRIPTION("KUnit tests of the extension of RDMA devices");
MODULE_LICENSE("Dual BSD/GPL");
