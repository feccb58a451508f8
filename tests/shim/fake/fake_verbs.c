// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "fake.h"

#define MAX 64

struct fake fake = { .abi_version = "1\n", .driver_id = "17\n" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_device device[2];
static struct {
	ino_t ino;
	bool closed;
} channel[MAX];
static struct {
	uint32_t cq;
	ino_t channel;
	unsigned int reported;
} assoc[MAX];
static uint32_t next_cq = 100;

/* --- libibverbs -------------------------------------------------------------- */

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr);

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct verbs_context *vctx = calloc(1, sizeof(*vctx));

	vctx->sz = sizeof(*vctx);
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx->context.device = dev;
	vctx->context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	vctx->create_cq_ex = create_cq_ex;
	pthread_mutex_init(&vctx->context.mutex, NULL);
	fake.contexts++;
	return &vctx->context;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	close(cmd_fd);
	return ibv_open_device(&device[0]);
}

void fake_vanish(struct ibv_context *context)
{
	struct verbs_context *vctx = verbs_get_ctx(context);

	/* What there was before, so that the next one may be here again. */
	vctx->create_cq_ex = NULL;
	close(context->cmd_fd);
	free(vctx);
	fake.contexts--;
}

int ibv_close_device(struct ibv_context *context)
{
	/* It has been put back. */
	CHECK(verbs_get_ctx(context)->create_cq_ex == create_cq_ex);
	fake_vanish(context);
	return 0;
}

struct ibv_device *fake_device(int i)
{
	snprintf(device[i].name, sizeof(device[i].name), "fake%d", i);
	return &device[i];
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *ch;

	if (fake.fail_create_comp_channel) {
		errno = fake.fail_create_comp_channel;
		return NULL;
	}
	ch = calloc(1, sizeof(*ch));
	ch->context = context;
	ch->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	fake.stock_channels++;
	return ch;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
	if (ch->refcnt)
		return EBUSY;
	close(ch->fd);
	free(ch);
	fake.stock_channels--;
	return 0;
}

static void init_cq(struct ibv_cq *cq, struct ibv_context *context,
		    void *cq_context, struct ibv_comp_channel *ch)
{
	cq->context = context;
	cq->cq_context = cq_context;
	cq->channel = ch;
	cq->handle = next_cq++;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	if (ch)
		ch->refcnt++;
	fake.cq_channel = ch;
	fake.cqs++;
}

struct ibv_cq *create_cq_1_1(struct ibv_context *context, int cqe,
			     void *cq_context, struct ibv_comp_channel *ch,
			     int comp_vector);
struct ibv_cq *create_cq_1_1(struct ibv_context *context, int cqe,
			     void *cq_context, struct ibv_comp_channel *ch,
			     int comp_vector)
{
	struct ibv_cq *cq;

	(void)comp_vector;
	if (fake.fail_create_cq) {
		errno = fake.fail_create_cq;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	cq->cqe = cqe;
	init_cq(cq, context, cq_context, ch);
	return cq;
}
__asm__(".symver create_cq_1_1, ibv_create_cq@@IBVERBS_1.1");

/* As libibverbs has one: with other structures. */
void *create_cq_1_0(void *context, int cqe, void *cq_context, void *ch,
		    int comp_vector);
void *create_cq_1_0(void *context, int cqe, void *cq_context, void *ch,
		    int comp_vector)
{
	(void)context;
	(void)cqe;
	(void)cq_context;
	(void)ch;
	(void)comp_vector;
	fake.old_cqs++;
	return NULL;
}
__asm__(".symver create_cq_1_0, ibv_create_cq@IBVERBS_1.0");

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq;

	if (fake.fail_create_cq) {
		errno = fake.fail_create_cq;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	init_cq(ibv_cq_ex_to_cq(cq), context, attr->cq_context, attr->channel);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < MAX; i++) {
		if (assoc[i].cq == cq->handle)
			return EBUSY;
	}
	fake.acknowledged = cq->comp_events_completed;
	if (fake.fail_destroy_cq)
		return fake.fail_destroy_cq;
	if (cq->channel)
		cq->channel->refcnt--;
	free(cq);
	fake.cqs--;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += events;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* --- the kernel -------------------------------------------------------------- */

void fake_report(struct ibv_cq *cq, unsigned int events)
{
	int i;

	for (i = 0; i < MAX; i++) {
		if (assoc[i].cq == cq->handle)
			assoc[i].reported += events;
	}
}

void fake_forget(struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < MAX; i++) {
		if (assoc[i].cq == cq->handle) {
			assoc[i].cq = 0;
			fake.assocs--;
		}
	}
}

bool fake_is_clean(void)
{
	return !fake.contexts && !fake.stock_channels && !fake.cqs &&
	       !fake.assocs;
}

int fake_open(const char *path)
{
	const char *text = NULL;
	int fd;

	fake.opens++;
	if (!strcmp(path, "/sys/class/infiniband/fake0/compch/abi_version") ||
	    !strcmp(path, "/sys/class/infiniband/fake1/compch/abi_version"))
		text = fake.abi_version;
	if (!strcmp(path, "/sys/class/infiniband/fake0/compch/driver_id") ||
	    !strcmp(path, "/sys/class/infiniband/fake1/compch/driver_id"))
		text = fake.driver_id;
	if (!text) {
		errno = ENOENT;
		return -1;
	}
	fd = memfd_create("fake", MFD_CLOEXEC);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(!lseek(fd, 0, SEEK_SET));
	return fd;
}

static int find_channel(long long fd)
{
	struct stat st;
	int i;

	if (fstat(fd, &st))
		return -1;
	for (i = 0; i < MAX; i++) {
		if (channel[i].ino == st.st_ino)
			return i;
	}
	return -1;
}

static int channel_create(struct ib_uverbs_attr *attr)
{
	struct stat st;
	int i, fd;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_CREATE_FD);
	CHECK_EQ(attr[0].len, 0);
	for (i = 0; channel[i].ino; i++)
		;
	fd = memfd_create("channel", MFD_CLOEXEC);
	CHECK(!fstat(fd, &st));
	channel[i].ino = st.st_ino;
	channel[i].closed = false;
	attr[0].data_s64 = fd;
	fake.channels++;
	return 0;
}

static int channel_destroy(struct ib_uverbs_attr *attr)
{
	int i = find_channel(attr[0].data_s64), j;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_DESTROY_FD);
	CHECK_EQ(attr[0].len, 0);
	if (i < 0)
		return EBADF;
	if (channel[i].closed)
		return EIO;
	for (j = 0; j < MAX; j++) {
		if (assoc[j].cq && assoc[j].channel == channel[i].ino)
			return EBUSY;
	}
	channel[i].closed = true;
	channel[i].ino = 0;
	fake.channels--;
	return 0;
}

static int assoc_create(struct ib_uverbs_attr *attr)
{
	int i, ch;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_CREATE_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_CREATE_CQ);
	CHECK_EQ(attr[2].attr_id, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD);
	ch = find_channel(attr[2].data_s64);
	if (ch < 0)
		return EBADF;
	if (channel[ch].closed)
		return EIO;
	for (i = 1; assoc[i].cq; i++)
		CHECK(assoc[i].cq != attr[1].data);
	assoc[i].cq = attr[1].data;
	assoc[i].channel = channel[ch].ino;
	assoc[i].reported = 0;
	attr[0].data = i;
	fake.assocs++;
	return 0;
}

static int assoc_destroy(struct ib_uverbs_attr *attr, int attrs)
{
	struct compch_assoc_destroy_resp *resp;
	int i = attr[0].data;

	CHECK_EQ(attrs, 3);
	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_DESTROY_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_DESTROY_RESP);
	CHECK_EQ(attr[1].len, sizeof(*resp));
	CHECK_EQ(attr[2].attr_id, COMPCH_ATTR_ASSOC_DESTROY_FLAGS);
	CHECK_EQ(attr[2].data, COMPCH_ASSOC_DESTROY_IF_UNUSED);
	if (!assoc[i].cq)
		return ENOENT;
	if (fake.used)
		return EBUSY;
	resp = (void *)(uintptr_t)attr[1].data;
	/* As after 2^32 events more. */
	resp->events_reported = (1ull << 32) + assoc[i].reported;
	resp->events_discarded = 0;
	assoc[i].cq = 0;
	fake.assocs--;
	return 0;
}

int fake_ioctl(int fd, void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;
	enum fake_method method;
	int ret, i;

	(void)fd;
	CHECK_EQ(hdr->length, sizeof(*hdr) +
		 hdr->num_attrs * sizeof(hdr->attrs[0]));
	CHECK_EQ(hdr->driver_id, FAKE_DRIVER_ID);
	CHECK_EQ(hdr->reserved1, 0);
	CHECK_EQ(hdr->reserved2, 0);
	for (i = 0; i < hdr->num_attrs; i++) {
		CHECK_EQ(hdr->attrs[i].flags, UVERBS_ATTR_F_MANDATORY);
		CHECK_EQ(hdr->attrs[i].attr_data.reserved, 0);
	}
	switch (hdr->object_id << 16 | hdr->method_id) {
	case COMPCH_OBJECT_CHANNEL << 16 | COMPCH_METHOD_CHANNEL_CREATE:
		method = FAKE_CHANNEL_CREATE;
		break;
	case COMPCH_OBJECT_CHANNEL << 16 | COMPCH_METHOD_CHANNEL_DESTROY:
		method = FAKE_CHANNEL_DESTROY;
		break;
	case COMPCH_OBJECT_ASSOC << 16 | COMPCH_METHOD_ASSOC_CREATE:
		method = FAKE_ASSOC_CREATE;
		break;
	case COMPCH_OBJECT_ASSOC << 16 | COMPCH_METHOD_ASSOC_DESTROY:
		method = FAKE_ASSOC_DESTROY;
		break;
	default:
		CHECK(!"a known method");
		return -1;
	}
	if (fake.hook)
		fake.hook(method);

	pthread_mutex_lock(&lock);
	fake.calls[method]++;
	ret = fake.fail[method];
	if (ret)
		;
	else if (method == FAKE_CHANNEL_CREATE)
		ret = channel_create(hdr->attrs);
	else if (method == FAKE_CHANNEL_DESTROY)
		ret = channel_destroy(hdr->attrs);
	else if (method == FAKE_ASSOC_CREATE)
		ret = assoc_create(hdr->attrs);
	else
		ret = assoc_destroy(hdr->attrs, hdr->num_attrs);
	pthread_mutex_unlock(&lock);
	errno = ret;
	return ret ? -1 : 0;
}
