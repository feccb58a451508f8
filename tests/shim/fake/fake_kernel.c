// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "fake.h"

#define MAX 512
#define MAX_EVENTS 8192

struct fake fake = { .abi_version = "1\n", .driver_id = "17\n" };

/* Guards all that follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Known by the inode of its file: what is closed stays here until reused. */
struct channel {
	ino_t ino;
	int fd;
	int cmd_fd;
	bool stock, closed;
	uint32_t flags;
	unsigned int cancels;
	uint64_t reported;
};

struct cq {
	uint32_t handle;	/* 0: there is none */
	struct ibv_cq *cookie;
	int cmd_fd;
	int users;
	struct channel *stock;
	uint64_t stock_reported;
	bool armed, solicited;
	int completions;
	uint64_t wr_id;
};

struct assoc {
	struct cq *cq;		/* NULL: there is none */
	struct channel *channel;
	uint64_t reported, merged;
};

struct event {
	struct cq *cq;
	struct channel *channel;
};

static struct channel channels[MAX];
static struct cq cqs[MAX];
static struct assoc assocs[MAX];	/* from 1 on */
static struct event events[MAX_EVENTS];
static int event_count;
static uint32_t next_cq = 100;
static bool removed;

/* Of any number, an open file or not; so not by what ThreadSanitizer watches. */
static ino_t inode_of(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_INO, &st) ? 0 : st.stx_ino;
}

static struct channel *find_channel(int fd)
{
	ino_t ino = inode_of(fd);
	int i;

	for (i = 0; ino && i < MAX; i++) {
		if (channels[i].ino == ino)
			return &channels[i];
	}
	return NULL;
}

static struct cq *find_cq(uint32_t handle)
{
	int i;

	for (i = 0; i < MAX; i++) {
		if (cqs[i].handle == handle)
			return &cqs[i];
	}
	return NULL;
}

static struct assoc *assoc_of(const struct cq *cq)
{
	int i;

	for (i = 1; i < MAX; i++) {
		if (assocs[i].cq == cq)
			return &assocs[i];
	}
	return NULL;
}

/* The channel can be read from so many times more, or less. */
static void channel_ready(struct channel *ch, int times)
{
	char byte = 0;

	/* The file may be closed, and the number another one's. */
	if (inode_of(ch->fd) != ch->ino)
		return;
	for (; times > 0; times--)
		CHECK_EQ(write(ch->fd, &byte, 1), 1);
	for (; times < 0; times++) {
		CHECK_EQ(syscall(SYS_read, ch->fd, &byte, 1), 1);
	}
}

static struct channel *channel_new(bool stock, int cmd_fd, uint32_t flags)
{
	struct channel *ch;
	char path[32];
	int ends[2], fd, i;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	close(ends[0]);
	close(ends[1]);
	ch = find_channel(fd);
	for (i = 0; !ch && i < MAX; i++) {
		if (!channels[i].ino ||
		    (channels[i].closed &&
		     inode_of(channels[i].fd) != channels[i].ino))
			ch = &channels[i];
	}
	CHECK(ch != NULL);
	*ch = (struct channel){
		.ino = inode_of(fd),
		.fd = fd,
		.cmd_fd = cmd_fd,
		.stock = stock,
		.flags = flags,
	};
	return ch;
}

static int channel_assocs(const struct channel *ch)
{
	int i, n = 0;

	for (i = 1; i < MAX; i++)
		n += assocs[i].cq && assocs[i].channel == ch;
	return n;
}

static void channel_close(struct channel *ch)
{
	if (ch->closed || !ch->ino)
		return;
	ch->closed = true;
	channel_ready(ch, 1);
	if (!ch->stock)
		FAKE_COUNT(channels, -1);
}

/* Takes away the events of a CQ on a channel, at most so many. */
static int take_events(const struct channel *ch, const struct cq *cq, int max,
		       struct cq **taken)
{
	int i, n = 0, kept = 0;

	for (i = 0; i < event_count; i++) {
		if (n < max && events[i].channel == ch &&
		    (!cq || events[i].cq == cq)) {
			if (taken)
				taken[n] = events[i].cq;
			n++;
		} else {
			events[kept++] = events[i];
		}
	}
	event_count = kept;
	return n;
}

static int count_events(const struct channel *ch, const struct cq *cq)
{
	int i, n = 0;

	for (i = 0; i < event_count; i++)
		n += (!ch || events[i].channel == ch) &&
		     (!cq || events[i].cq == cq);
	return n;
}

static void raise_event(struct cq *cq)
{
	struct assoc *assoc = assoc_of(cq);
	struct channel *ch = assoc ? assoc->channel : cq->stock;

	if (!ch || ch->closed)
		return;
	if ((ch->flags & COMPCH_CHANNEL_COALESCE) && count_events(ch, cq)) {
		assoc->merged++;
		return;
	}
	CHECK(event_count < MAX_EVENTS);
	events[event_count++] = (struct event){ .cq = cq, .channel = ch };
	channel_ready(ch, 1);
}

void fake_event(struct ibv_cq *cq)
{
	pthread_mutex_lock(&lock);
	raise_event(find_cq(cq->handle));
	pthread_mutex_unlock(&lock);
}

void fake_complete(struct ibv_cq *ibv_cq, bool solicited)
{
	struct cq *cq;

	pthread_mutex_lock(&lock);
	cq = find_cq(ibv_cq->handle);
	cq->completions++;
	if (cq->armed && (solicited || !cq->solicited)) {
		cq->armed = false;
		raise_event(cq);
	}
	pthread_mutex_unlock(&lock);
}

void fake_use(struct ibv_cq *cq, int users)
{
	pthread_mutex_lock(&lock);
	find_cq(cq->handle)->users += users;
	pthread_mutex_unlock(&lock);
}

void fake_report(struct ibv_cq *cq, unsigned int reported)
{
	struct assoc *assoc;

	pthread_mutex_lock(&lock);
	assoc = assoc_of(find_cq(cq->handle));
	if (assoc)
		assoc->reported += reported;
	pthread_mutex_unlock(&lock);
}

/* Returns the events that are discarded. */
static int end_assoc(struct assoc *assoc)
{
	int n = take_events(assoc->channel, assoc->cq, MAX_EVENTS, NULL);

	if (!assoc->channel->closed)
		channel_ready(assoc->channel, -n);
	assoc->cq = NULL;
	FAKE_COUNT(assocs, -1);
	return n;
}

void fake_forget(struct ibv_cq *ibv_cq)
{
	struct assoc *assoc;
	struct cq *cq;

	pthread_mutex_lock(&lock);
	cq = find_cq(ibv_cq->handle);
	assoc = cq ? assoc_of(cq) : NULL;
	if (assoc)
		end_assoc(assoc);
	pthread_mutex_unlock(&lock);
}

void fake_remove(void)
{
	int i;

	pthread_mutex_lock(&lock);
	removed = true;
	for (i = 1; i < MAX; i++) {
		if (assocs[i].cq)
			end_assoc(&assocs[i]);
	}
	for (i = 0; i < MAX; i++)
		channel_close(&channels[i]);
	pthread_mutex_unlock(&lock);
}

bool fake_is_ours(int fd)
{
	struct channel *ch;
	bool ours;

	pthread_mutex_lock(&lock);
	ch = find_channel(fd);
	ours = ch && !ch->stock;
	pthread_mutex_unlock(&lock);
	return ours;
}

bool fake_is_clean(void)
{
	return !FAKE_READ(contexts) && !FAKE_READ(stock_channels) &&
	       !FAKE_READ(cqs) && !FAKE_READ(assocs);
}

/* --- what libibverbs asks for ------------------------------------------------ */

int fake_kernel_stock_channel(void)
{
	int fd;

	pthread_mutex_lock(&lock);
	fd = channel_new(true, -1, 0)->fd;
	pthread_mutex_unlock(&lock);
	return fd;
}

uint32_t fake_kernel_create_cq(struct ibv_cq *ibv_cq, int channel_fd)
{
	uint32_t handle;
	struct cq *cq;

	pthread_mutex_lock(&lock);
	cq = find_cq(0);
	CHECK(cq != NULL);
	handle = next_cq++;
	*cq = (struct cq){
		.handle = handle,
		.cookie = ibv_cq,
		.cmd_fd = ibv_cq->context->cmd_fd,
		.stock = channel_fd < 0 ? NULL : find_channel(channel_fd),
	};
	pthread_mutex_unlock(&lock);
	return handle;
}

int fake_kernel_destroy_cq(struct ibv_cq *ibv_cq, unsigned int *reported)
{
	struct cq *cq;
	int ret = 0;

	pthread_mutex_lock(&lock);
	cq = find_cq(ibv_cq->handle);
	if (!cq || assoc_of(cq) || cq->users || fake.used) {
		ret = EBUSY;
	} else {
		*reported = cq->stock_reported;
		if (cq->stock)
			channel_ready(cq->stock, -take_events(cq->stock, cq,
							      MAX_EVENTS, NULL));
		cq->handle = 0;
	}
	if (removed)
		ret = EIO;
	pthread_mutex_unlock(&lock);
	return ret;
}

int fake_kernel_poll_cq(struct ibv_cq *ibv_cq, int max, struct ibv_wc *wc)
{
	struct cq *cq;
	int n;

	pthread_mutex_lock(&lock);
	cq = find_cq(ibv_cq->handle);
	for (n = 0; n < max && cq->completions; n++, cq->completions--)
		wc[n] = (struct ibv_wc){ .wr_id = cq->wr_id++ };
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_kernel_arm_cq(struct ibv_cq *ibv_cq, bool solicited)
{
	struct cq *cq;

	pthread_mutex_lock(&lock);
	cq = find_cq(ibv_cq->handle);
	cq->solicited = solicited && (!cq->armed || cq->solicited);
	cq->armed = true;
	pthread_mutex_unlock(&lock);
}

void fake_kernel_close(int cmd_fd)
{
	struct assoc *assoc;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < MAX; i++) {
		if (!cqs[i].handle || cqs[i].cmd_fd != cmd_fd)
			continue;
		assoc = assoc_of(&cqs[i]);
		if (assoc)
			end_assoc(assoc);
		cqs[i].handle = 0;
	}
	for (i = 0; i < MAX; i++) {
		if (!channels[i].stock && channels[i].cmd_fd == cmd_fd)
			channel_close(&channels[i]);
	}
	pthread_mutex_unlock(&lock);
}

/* --- system calls ------------------------------------------------------------ */

int fake_open(const char *path)
{
	const char *text = NULL;
	int fd;

	FAKE_COUNT(opens, 1);
	if (fake.no_sysfs) {
		errno = ENOENT;
		return -1;
	}
	if (!strcmp(path, "/sys/class/infiniband/fake0") ||
	    !strcmp(path, "/sys/class/infiniband/fake1"))
		text = "";
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

/* Sets errno and returns -1, or returns what read() does; -2: is to wait. */
static ssize_t read_channel(struct channel *ch, int fd,
			    struct ib_uverbs_comp_event_desc *descs, int max,
			    bool nowait)
{
	struct cq *taken[MAX_EVENTS];
	int i, n;

	if (fake.fail_read) {
		errno = fake.fail_read;
		return -1;
	}
	if (ch->stock && nowait) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (ch->cancels && !ch->closed) {
		ch->cancels--;
		channel_ready(ch, -1);
		errno = ECANCELED;
		return -1;
	}
	if (ch->stock || max > MAX_EVENTS)
		max = ch->stock ? 1 : MAX_EVENTS;
	n = take_events(ch, NULL, max, taken);
	if (n) {
		channel_ready(ch, -n);
		for (i = 0; i < n; i++) {
			descs[i].cq_handle = (uintptr_t)taken[i]->cookie;
			if (ch->stock)
				taken[i]->stock_reported++;
			else
				assoc_of(taken[i])->reported++;
		}
		ch->reported += n;
		return n * sizeof(descs[0]);
	}
	if (ch->closed) {
		errno = EIO;
		return -1;
	}
	if (nowait || fcntl(fd, F_GETFL) & O_NONBLOCK) {
		errno = EAGAIN;
		return -1;
	}
	return -2;
}

bool fake_read(int fd, void *buffer, size_t size, bool nowait, ssize_t *ret)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct channel *ch;

	for (;;) {
		pthread_mutex_lock(&lock);
		ch = find_channel(fd);
		if (ch) {
			FAKE_COUNT(reads, 1);
			*ret = read_channel(ch, fd, buffer, size / 8, nowait);
		}
		pthread_mutex_unlock(&lock);
		if (!ch)
			return false;
		if (*ret != -2)
			return true;
		*ret = poll(&pfd, 1, -1);
		if (*ret < 0)
			return true;
	}
}

/* --- the methods ------------------------------------------------------------- */

static int channel_create(int fd, struct ib_uverbs_attr *attr, int attrs)
{
	uint32_t flags = 0;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_CREATE_FD);
	CHECK_EQ(attr[0].len, 0);
	/* As a 32-bit kernel */
	if (attrs > 1 &&
	    attr[attrs - 1].attr_id == COMPCH_ATTR_CHANNEL_CREATE_RING)
		return EOPNOTSUPP;
	if (attrs > 1) {
		CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_CHANNEL_CREATE_FLAGS);
		CHECK(attr[1].len == 4 || attr[1].len == 8);
		flags = attr[1].data;
		if (flags & ~(uint32_t)COMPCH_CHANNEL_COALESCE)
			return EINVAL;
	}
	attr[0].data_s64 = channel_new(false, fd, flags)->fd;
	FAKE_COUNT(channels, 1);
	return 0;
}

static int channel_destroy(struct ib_uverbs_attr *attr)
{
	struct channel *ch = find_channel(attr[0].data_s64);

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_DESTROY_FD);
	CHECK_EQ(attr[0].len, 0);
	if (!ch || ch->stock)
		return EBADF;
	if (ch->closed)
		return EIO;
	if (channel_assocs(ch))
		return EBUSY;
	channel_close(ch);
	return 0;
}

static int channel_cancel(struct ib_uverbs_attr *attr)
{
	struct channel *ch = find_channel(attr[0].data_s64);

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_CANCEL_FD);
	CHECK_EQ(attr[0].len, 0);
	if (!ch || ch->stock)
		return EBADF;
	if (ch->closed)
		return EIO;
	ch->cancels++;
	channel_ready(ch, 1);
	return 0;
}

static int channel_query(struct ib_uverbs_attr *attr)
{
	struct channel *ch = find_channel(attr[0].data_s64);
	struct compch_channel_info *info;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_CHANNEL_QUERY_FD);
	CHECK_EQ(attr[0].len, 0);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_CHANNEL_QUERY_RESP);
	CHECK_EQ(attr[1].len, sizeof(*info));
	if (!ch || ch->stock)
		return EBADF;
	info = (void *)(uintptr_t)attr[1].data;
	*info = (struct compch_channel_info){
		.flags = ch->flags,
		.state = ch->closed ? COMPCH_CHANNEL_CLOSED :
				      COMPCH_CHANNEL_OPEN,
		.associations = channel_assocs(ch),
		.cancels = ch->cancels,
		.pending = count_events(ch, NULL),
		.reported = ch->reported,
	};
	return 0;
}

static int assoc_create(struct ib_uverbs_attr *attr)
{
	struct channel *ch;
	struct cq *cq;
	int i;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_CREATE_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_CREATE_CQ);
	CHECK_EQ(attr[2].attr_id, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD);
	ch = find_channel(attr[2].data_s64);
	if (!ch || ch->stock)
		return EBADF;
	if (ch->closed)
		return EIO;
	cq = find_cq(attr[1].data);
	if (!cq)
		return ENOENT;
	if (assoc_of(cq))
		return EBUSY;
	for (i = 1; i < MAX && assocs[i].cq; i++)
		;
	CHECK(i < MAX);
	assocs[i] = (struct assoc){ .cq = cq, .channel = ch };
	attr[0].data = i;
	FAKE_COUNT(assocs, 1);
	return 0;
}

static struct assoc *find_assoc(uint64_t handle)
{
	return handle < MAX && assocs[handle].cq ? &assocs[handle] : NULL;
}

static int assoc_move(struct ib_uverbs_attr *attr)
{
	struct assoc *assoc = find_assoc(attr[0].data);
	struct channel *ch;
	int i, n = 0;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_MOVE_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD);
	CHECK_EQ(attr[1].len, 0);
	if (!assoc)
		return ENOENT;
	ch = find_channel(attr[1].data_s64);
	if (!ch || ch->stock)
		return EBADF;
	if (ch->closed)
		return EIO;
	for (i = 0; i < event_count; i++) {
		if (events[i].cq != assoc->cq)
			continue;
		if (events[i].channel != assoc->channel)
			continue; /* of the stock one */
		events[i].channel = ch;
		n++;
	}
	if (!assoc->channel->closed)
		channel_ready(assoc->channel, -n);
	assoc->channel = ch;
	channel_ready(ch, n);
	return 0;
}

static int assoc_destroy(struct ib_uverbs_attr *attr, int attrs)
{
	struct compch_assoc_destroy_resp *resp;
	struct assoc *assoc = find_assoc(attr[0].data);

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_DESTROY_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_DESTROY_RESP);
	CHECK_EQ(attr[1].len, sizeof(*resp));
	if (attrs > 2) {
		CHECK_EQ(attr[2].attr_id, COMPCH_ATTR_ASSOC_DESTROY_FLAGS);
		CHECK_EQ(attr[2].data, COMPCH_ASSOC_DESTROY_IF_UNUSED);
	}
	if (!assoc)
		return ENOENT;
	if (attrs > 2 && (fake.used || assoc->cq->users))
		return EBUSY;
	resp = (void *)(uintptr_t)attr[1].data;
	resp->events_reported = assoc->reported;
	/* At the end: as after 2^32 events more. */
	if (attrs > 2)
		resp->events_reported += 1ull << 32;
	resp->events_discarded = end_assoc(assoc);
	return 0;
}

static int assoc_query(struct ib_uverbs_attr *attr)
{
	struct assoc *assoc = find_assoc(attr[0].data);
	struct compch_assoc_info *info;

	CHECK_EQ(attr[0].attr_id, COMPCH_ATTR_ASSOC_QUERY_HANDLE);
	CHECK_EQ(attr[1].attr_id, COMPCH_ATTR_ASSOC_QUERY_RESP);
	CHECK_EQ(attr[1].len, sizeof(*info));
	if (!assoc)
		return ENOENT;
	info = (void *)(uintptr_t)attr[1].data;
	*info = (struct compch_assoc_info){
		.cookie = (uintptr_t)assoc->cq->cookie,
		.pending = count_events(assoc->channel, assoc->cq),
		.reported = assoc->reported,
		.merged = assoc->merged,
	};
	return 0;
}

static enum fake_method method_of(const struct ib_uverbs_ioctl_hdr *hdr)
{
	static const struct {
		uint16_t object, method;
	} methods[] = {
#define METHOD(object, method)						\
	[FAKE_##object##_##method] = {					\
		COMPCH_OBJECT_##object, COMPCH_METHOD_##object##_##method }
		METHOD(CHANNEL, CREATE),
		METHOD(CHANNEL, DESTROY),
		METHOD(CHANNEL, CANCEL),
		METHOD(CHANNEL, QUERY),
		METHOD(ASSOC, CREATE),
		METHOD(ASSOC, MOVE),
		METHOD(ASSOC, DESTROY),
		METHOD(ASSOC, QUERY),
	};
	int i;

	for (i = 0; i < FAKE_METHODS; i++) {
		if (hdr->object_id == methods[i].object &&
		    hdr->method_id == methods[i].method)
			return i;
	}
	CHECK(!"a known method");
	return 0;
}

static int call_method(int fd, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attr = hdr->attrs;

	switch (method_of(hdr)) {
	case FAKE_CHANNEL_CREATE:
		return channel_create(fd, attr, hdr->num_attrs);
	case FAKE_CHANNEL_DESTROY:
		return channel_destroy(attr);
	case FAKE_CHANNEL_CANCEL:
		return channel_cancel(attr);
	case FAKE_CHANNEL_QUERY:
		return channel_query(attr);
	case FAKE_ASSOC_CREATE:
		return assoc_create(attr);
	case FAKE_ASSOC_MOVE:
		return assoc_move(attr);
	case FAKE_ASSOC_DESTROY:
		return assoc_destroy(attr, hdr->num_attrs);
	case FAKE_ASSOC_QUERY:
		return assoc_query(attr);
	case FAKE_METHODS:
		break;
	}
	return ENOTTY;
}

int fake_ioctl(int fd, void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;
	enum fake_method method = method_of(hdr);
	int ret, i;

	CHECK_EQ(hdr->length, sizeof(*hdr) +
		 hdr->num_attrs * sizeof(hdr->attrs[0]));
	/* To be guessed, where /sys does not tell. */
	if (fake.no_sysfs && hdr->driver_id != FAKE_DRIVER_ID) {
		FAKE_COUNT(wrong_driver_ids, 1);
		errno = EINVAL;
		return -1;
	}
	CHECK_EQ(hdr->driver_id, FAKE_DRIVER_ID);
	CHECK_EQ(hdr->reserved1, 0);
	CHECK_EQ(hdr->reserved2, 0);
	for (i = 0; i < hdr->num_attrs; i++) {
		CHECK_EQ(hdr->attrs[i].flags, UVERBS_ATTR_F_MANDATORY);
		CHECK_EQ(hdr->attrs[i].attr_data.reserved, 0);
	}
	if (fake.hook)
		fake.hook(method);

	pthread_mutex_lock(&lock);
	fake.calls[method]++;
	ret = removed ? EIO : fake.fail[method];
	if (!ret)
		ret = call_method(fd, hdr);
	pthread_mutex_unlock(&lock);
	errno = ret;
	return ret ? -1 : 0;
}
