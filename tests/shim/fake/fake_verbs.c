// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>

#include "fake.h"

static struct ibv_device device[2];

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr);

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(3, sizeof(*list));

	list[0] = fake_device(0);
	list[1] = fake_device(1);
	if (num)
		*num = 2;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

/* The provider's */

static void provider_cq_event(struct ibv_cq *cq)
{
	(void)cq;
	FAKE_COUNT(cq_events, 1);
}

static int provider_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	if (fake.fail_poll)
		return fake.fail_poll;
	return fake_kernel_poll_cq(cq, max, wc);
}

static int provider_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	/* Some providers do that by a system call. */
	pthread_testcancel();
	if (fake.fail_arm)
		return fake.fail_arm;
	fake_kernel_arm_cq(cq, solicited_only);
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct verbs_context *vctx = calloc(1, sizeof(*vctx));

	vctx->sz = sizeof(*vctx);
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx->context.device = dev;
	vctx->context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	vctx->context.ops.poll_cq = provider_poll_cq;
	vctx->context.ops.req_notify_cq = provider_req_notify_cq;
	vctx->context.ops._compat_cq_event =
		(void *(*)(void))(void *)provider_cq_event;
	vctx->create_cq_ex = create_cq_ex;
	pthread_mutex_init(&vctx->context.mutex, NULL);
	FAKE_COUNT(contexts, 1);
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
	fake_kernel_close(context->cmd_fd);
	close(context->cmd_fd);
	free(vctx);
	FAKE_COUNT(contexts, -1);
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
	ch->fd = fake_kernel_stock_channel();
	FAKE_COUNT(stock_channels, 1);
	return ch;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
	struct ibv_context *context = ch->context;
	int ret = EBUSY;

	pthread_mutex_lock(&context->mutex);
	if (!ch->refcnt) {
		close(ch->fd);
		free(ch);
		FAKE_COUNT(stock_channels, -1);
		ret = 0;
	}
	pthread_mutex_unlock(&context->mutex);
	return ret;
}

static void channel_count(struct ibv_comp_channel *ch, int cqs)
{
	if (!ch)
		return;
	pthread_mutex_lock(&ch->context->mutex);
	ch->refcnt += cqs;
	pthread_mutex_unlock(&ch->context->mutex);
}

static void init_cq(struct ibv_cq *cq, struct ibv_context *context,
		    void *cq_context, struct ibv_comp_channel *ch)
{
	cq->context = context;
	cq->cq_context = cq_context;
	cq->channel = ch;
	cq->handle = fake_kernel_create_cq(cq, ch ? ch->fd : -1);
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	channel_count(ch, 1);
	__atomic_store_n(&fake.cq_channel, ch, __ATOMIC_RELAXED);
	FAKE_COUNT(cqs, 1);
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
	FAKE_COUNT(old_cqs, 1);
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

struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr)
{
	return create_cq_ex(context, attr);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	unsigned int reported;
	int ret;

	pthread_mutex_lock(&cq->mutex);
	__atomic_store_n(&fake.acknowledged, cq->comp_events_completed,
			 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cq->mutex);
	ret = fake.fail_destroy_cq;
	if (!ret)
		ret = fake_kernel_destroy_cq(cq, &reported);
	if (ret)
		return ret;
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != reported)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
	channel_count(cq->channel, -1);
	pthread_mutex_destroy(&cq->mutex);
	pthread_cond_destroy(&cq->cond);
	free(cq);
	FAKE_COUNT(cqs, -1);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq,
		     void **cq_context)
{
	struct ib_uverbs_comp_event_desc desc;

	if (read(ch->fd, &desc, sizeof(desc)) != sizeof(desc))
		return -1;
	*cq = (void *)(uintptr_t)desc.cq_handle;
	*cq_context = (*cq)->cq_context;
	((void (*)(struct ibv_cq *cq))(void *)
	 (*cq)->context->ops._compat_cq_event)(*cq);
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += events;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status ? "failed" : "success";
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	fake_use(qp->send_cq, -1);
	fake_use(qp->recv_cq, -1);
	free(qp);
	return 0;
}
