// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "abi.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#define TESTDEV	"/sys/kernel/debug/compch_testdev/"
#define COUNTERS "/sys/kernel/debug/compch/counters"

bool ours = true;

static int failures;
static char case_name[256];
static time_t deadline_at;
static unsigned int deadline_seconds = 60;
static const char *program = "?";
static bool check_live;

/* What is mapped, which may say anything of its size by now */
static struct {
	void *at;
	size_t size;
} mapped[8];
static long long live_before[2];
static const char *const live[] = { "channels", "associations" };

/* --- checks ---------------------------------------------------------------- */

static void failed(const char *file, int line)
{
	__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
	printf("%s:%d: %s%s", file, line, case_name, case_name[0] ? ": " : "");
}

static const char *name_of(long long value, char *buf, size_t size)
{
	const char *name = NULL;

	if (value < 0 && value > -4096)
		name = strerrorname_np(-value);
	if (name)
		snprintf(buf, size, "-%s", name);
	else
		snprintf(buf, size, "%lld (0x%llx)", value, value);
	return buf;
}

bool check_ok(const char *file, int line, const char *what, bool cond)
{
	if (cond)
		return true;
	failed(file, line);
	printf("not true: %s\n", what);
	fflush(stdout);
	return false;
}

bool check_eq(const char *file, int line, const char *what,
	      long long got, long long want)
{
	char a[64], b[64];

	if (got == want)
		return true;
	failed(file, line);
	printf("%s: expected %s, got %s\n", what,
	       name_of(want, a, sizeof(a)), name_of(got, b, sizeof(b)));
	fflush(stdout);
	return false;
}

long long check_must(const char *file, int line, const char *what,
		     long long got)
{
	char buf[64];

	if (got >= 0)
		return got;
	failed(file, line);
	printf("%s: got %s, cannot go on\n", what,
	       name_of(got, buf, sizeof(buf)));
	fflush(stdout);
	_exit(1);
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

bool check_time(const char *file, int line, const char *what)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	/* Earlier than the alarm, to tell what it was that did not come. */
	if (now() + 2 >= deadline_at) {
		failed(file, line);
		printf("never came true: %s\n", what);
		fflush(stdout);
		_exit(1);
	}
	nanosleep(&pause, NULL);
	return true;
}

void check_case(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(case_name, sizeof(case_name), fmt, args);
	va_end(args);
}

/* --- the program ----------------------------------------------------------- */

static void on_alarm(int sig)
{
	static const char text[] = "the deadline has passed\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void deadline(unsigned int seconds)
{
	deadline_seconds = seconds;
	deadline_at = now() + seconds;
	alarm(seconds);
}

void skip(const char *why, ...)
{
	va_list args;

	printf("SKIP: ");
	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(77);
}

long long counter(const char *name)
{
	long long value;

	if (file_value(COUNTERS, name, &value, 10))
		return -1;
	return value;
}

int abi_init(int argc, char **argv, const char *modes)
{
	struct sigaction act = { .sa_handler = on_alarm };
	char list[256], *word, *next;
	int mode = -1;
	int i;

	program = strrchr(argv[0], '/');
	program = program ? program + 1 : argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGALRM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	deadline(deadline_seconds);

	if (!modes) {
		if (argc != 1) {
			fprintf(stderr, "usage: %s\n", program);
			_exit(2);
		}
	} else {
		snprintf(list, sizeof(list), "%s", modes);
		for (i = 0, next = list; (word = strsep(&next, " ")); i++)
			if (argc == 2 && !strcmp(argv[1], word)) {
				mode = i;
				ours = strncmp(word, "stock", 5) != 0;
			}
		if (mode < 0) {
			fprintf(stderr, "usage: %s <one of: %s>\n", program,
				modes);
			_exit(2);
		}
	}

	if (access(TESTDEV "fire", W_OK))
		skip("compch_testdev is not loaded");
	if (ours && access("/sys/class/infiniband/compch_test0/compch", F_OK))
		skip("ib_compch is not loaded, or was loaded too late");
	if (counter(live[0]) >= 0) {
		check_live = true;
		for (i = 0; i < (int)ARRAY_SIZE(live); i++)
			live_before[i] = counter(live[i]);
	}
	return mode;
}

static bool is_back(int i)
{
	return counter(live[i]) == live_before[i];
}

int abi_done(void)
{
	int fd, i;

	case_name[0] = '\0';
	for (i = 0; i < (int)ARRAY_SIZE(mapped); i++) {
		if (mapped[i].at)
			munmap(mapped[i].at, mapped[i].size);
	}
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	/* Memory is freed after a grace period, and by other threads. */
	for (i = 0; check_live && i < (int)ARRAY_SIZE(live); i++) {
		check_case("live %s", live[i]);
		eventually(is_back(i));
	}
	if (failures)
		printf("%s: %d checks failed\n", program, failures);
	fflush(stdout);
	return failures ? 1 : 0;
}

pid_t child(void)
{
	pid_t parent = getpid();
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid < 0 ? -errno : 0);
	if (!pid) {
		alarm(deadline_seconds);
		failures = 0;
		/* What there is besides its own it cannot tell. */
		check_live = false;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int child_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1000;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* --- files of the system --------------------------------------------------- */

int file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t ret;

	if (fd < 0)
		return -errno;
	do {
		ret = read(fd, buf + len, size - 1 - len);
		if (ret > 0)
			len += ret;
	} while (ret > 0);
	ret = ret < 0 ? -errno : (ssize_t)len;
	close(fd);
	buf[len] = '\0';
	return ret;
}

int file_write(const char *path, const char *fmt, ...)
{
	char buf[256];
	va_list args;
	ssize_t ret;
	int fd, len;

	va_start(args, fmt);
	len = vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, buf, len);
	ret = ret < 0 ? -errno : ret == len ? 0 : -EIO;
	close(fd);
	return ret;
}

int file_value(const char *path, const char *key, long long *value, int base)
{
	char buf[16384], *line, *next = buf, *end;
	size_t len = strlen(key);
	int ret = file_read(path, buf, sizeof(buf));

	if (ret < 0)
		return ret;
	while ((line = strsep(&next, "\n"))) {
		if (strncmp(line, key, len) || !isblank(line[len]))
			continue;
		*value = strtoll(line + len, &end, base);
		return 0;
	}
	return -ENOENT;
}

int fd_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -errno;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void set_nonblock(int fd, bool nonblock)
{
	int flags = fcntl(fd, F_GETFL);

	must(flags);
	flags = nonblock ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	must(fcntl(fd, F_SETFL, flags));
}

int poll_now(int fd)
{
	struct pollfd pfd = {
		.fd = fd,
		.events = POLLIN | POLLPRI | POLLOUT | POLLRDNORM |
			  POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLMSG |
			  POLLRDHUP,
	};
	int ret = poll(&pfd, 1, 0);

	return ret < 0 ? -errno : pfd.revents;
}

int rd(int fd, void *buf, size_t len)
{
	ssize_t ret = read(fd, buf, len);

	return ret < 0 ? -errno : ret;
}

int rd_nowait(int fd, void *buf, size_t len)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	ssize_t ret = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);

	return ret < 0 ? -errno : ret;
}

/* --- contexts -------------------------------------------------------------- */

/* The device node of compch_test%d */
static int find_uverbs(int dev, char *path, size_t size)
{
	char want[64], file[300], name[64];
	struct dirent *entry;
	DIR *dir = opendir("/sys/class/infiniband_verbs");

	if (!dir)
		return -errno;
	snprintf(want, sizeof(want), "compch_test%d\n", dev);
	while ((entry = readdir(dir))) {
		snprintf(file, sizeof(file),
			 "/sys/class/infiniband_verbs/%s/ibdev", entry->d_name);
		if (file_read(file, name, sizeof(name)) < 0 ||
		    strcmp(name, want))
			continue;
		snprintf(path, size, "/dev/infiniband/%s", entry->d_name);
		closedir(dir);
		return 0;
	}
	closedir(dir);
	return -ENODEV;
}

int ctx_open(struct ctx *ctx, int dev)
{
	char path[300];
	int ret = find_uverbs(dev, path, sizeof(path));

	if (ret)
		return ret;
	ctx->dev = dev;
	ctx->fd = open(path, O_RDWR | O_CLOEXEC);
	return ctx->fd < 0 ? -errno : 0;
}

int ctx_get_context(struct ctx *ctx)
{
	uint32_t vectors;
	struct cmd cmd;

	cmd_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	cmd_out(&cmd, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors,
		sizeof(vectors));
	return cmd_run(ctx, &cmd);
}

struct ctx ctx_new(int dev)
{
	struct ctx ctx;

	must(ctx_open(&ctx, dev));
	must(ctx_get_context(&ctx));
	return ctx;
}

void ctx_close(struct ctx *ctx)
{
	must(close(ctx->fd));
	ctx->fd = -1;
}

/* --- ioctl ----------------------------------------------------------------- */

void cmd_init(struct cmd *cmd, unsigned int object, unsigned int method)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->hdr.object_id = object;
	cmd->hdr.method_id = method;
	cmd->hdr.driver_id = TESTDEV_DRIVER_ID;
	cmd->hdr.length = sizeof(cmd->hdr);
}

struct ib_uverbs_attr *cmd_attr(struct cmd *cmd, unsigned int id,
				unsigned int len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &cmd->attrs[cmd->hdr.num_attrs++];

	cmd->hdr.length += sizeof(*attr);
	attr->attr_id = id;
	attr->len = len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
	return attr;
}

struct ib_uverbs_attr *cmd_in(struct cmd *cmd, unsigned int id,
			      const void *data, unsigned int len)
{
	uint64_t word = 0;

	/* That much is passed in the attribute itself. */
	if (len <= sizeof(word))
		memcpy(&word, data, len);
	else
		word = (uintptr_t)data;
	return cmd_attr(cmd, id, len, word);
}

struct ib_uverbs_attr *cmd_out(struct cmd *cmd, unsigned int id, void *data,
			       unsigned int len)
{
	return cmd_attr(cmd, id, len, (uintptr_t)data);
}

struct ib_uverbs_attr *cmd_find(struct cmd *cmd, unsigned int id)
{
	int i;

	for (i = 0; i < cmd->hdr.num_attrs; i++)
		if (cmd->attrs[i].attr_id == id)
			return &cmd->attrs[i];
	return NULL;
}

int cmd_run(const struct ctx *ctx, struct cmd *cmd)
{
	return ioctl(ctx->fd, RDMA_VERBS_IOCTL, cmd) < 0 ? -errno : 0;
}

int cmd_write(const struct ctx *ctx, unsigned int command, const void *in,
	      unsigned int in_len, void *out, unsigned int out_len)
{
	uint64_t id = command;
	struct cmd cmd;

	cmd_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	cmd_in(&cmd, UVERBS_ATTR_WRITE_CMD, &id, sizeof(id));
	cmd_in(&cmd, UVERBS_ATTR_CORE_IN, in, in_len);
	if (out)
		cmd_out(&cmd, UVERBS_ATTR_CORE_OUT, out, out_len);
	return cmd_run(ctx, &cmd);
}

/* --- stock objects --------------------------------------------------------- */

int stock_channel(const struct ctx *ctx)
{
	struct ib_uverbs_create_comp_channel_resp resp = {};
	struct ib_uverbs_create_comp_channel in = {};
	int ret;

	ret = cmd_write(ctx, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in,
			sizeof(in), &resp, sizeof(resp));
	return ret ? ret : (int)resp.fd;
}

int pd_alloc(const struct ctx *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ib_uverbs_alloc_pd in = {};
	int ret;

	ret = cmd_write(ctx, IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in),
			&resp, sizeof(resp));
	return ret ? ret : (int)resp.pd_handle;
}

int pd_dealloc(const struct ctx *ctx, uint32_t handle)
{
	struct ib_uverbs_dealloc_pd in = { .pd_handle = handle };

	return cmd_write(ctx, IB_USER_VERBS_CMD_DEALLOC_PD, &in, sizeof(in),
			 NULL, 0);
}

int wq_create(const struct ctx *ctx, uint32_t pd, uint32_t cq)
{
	uint32_t max_wr = 1, max_sge = 1, flags = 0, wq_num;
	uint64_t user_handle = 0, type = 0;
	struct ib_uverbs_attr *handle;
	struct cmd cmd;
	int ret;

	cmd_init(&cmd, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	handle = cmd_attr(&cmd, UVERBS_ATTR_CREATE_WQ_HANDLE, 0, 0);
	cmd_attr(&cmd, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, 0, pd);
	cmd_attr(&cmd, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, 0, cq);
	cmd_in(&cmd, UVERBS_ATTR_CREATE_WQ_TYPE, &type, sizeof(type));
	cmd_in(&cmd, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, &user_handle,
	       sizeof(user_handle));
	cmd_in(&cmd, UVERBS_ATTR_CREATE_WQ_MAX_WR, &max_wr, sizeof(max_wr));
	cmd_in(&cmd, UVERBS_ATTR_CREATE_WQ_MAX_SGE, &max_sge, sizeof(max_sge));
	cmd_in(&cmd, UVERBS_ATTR_CREATE_WQ_FLAGS, &flags, sizeof(flags));
	cmd_out(&cmd, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &max_wr,
		sizeof(max_wr));
	cmd_out(&cmd, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &max_sge,
		sizeof(max_sge));
	/* Optional by its definition, but not by what the handler does. */
	cmd_out(&cmd, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wq_num,
		sizeof(wq_num));
	ret = cmd_run(ctx, &cmd);
	return ret ? ret : (int)handle->data;
}

int wq_destroy(const struct ctx *ctx, uint32_t handle)
{
	uint32_t reported;
	struct cmd cmd;

	cmd_init(&cmd, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY);
	cmd_attr(&cmd, UVERBS_ATTR_DESTROY_WQ_HANDLE, 0, handle);
	cmd_out(&cmd, UVERBS_ATTR_DESTROY_WQ_RESP, &reported,
		sizeof(reported));
	return cmd_run(ctx, &cmd);
}

int cq_create(struct ctx *ctx, struct cq *cq, int stock_fd)
{
	static uint32_t count;
	struct ib_uverbs_attr *handle;
	uint32_t cqe = 16, vector = 0;
	struct cmd cmd;
	int ret;

	memset(cq, 0, sizeof(*cq));
	cq->ctx = ctx;
	cq->tag = ((uint64_t)getpid() << 32) +
		  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	cq->user_handle = cq->tag ^ 0xa5a5a5a500000000;

	cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	handle = cmd_attr(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	cmd_in(&cmd, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	cmd_in(&cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &cq->user_handle,
	       sizeof(cq->user_handle));
	if (stock_fd >= 0)
		cmd_attr(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0,
			 stock_fd);
	cmd_in(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector,
	       sizeof(vector));
	cmd_out(&cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
	cmd_in(&cmd, UVERBS_ATTR_UHW_IN, &cq->tag, sizeof(cq->tag));
	ret = cmd_run(ctx, &cmd);
	cq->handle = handle->data;
	return ret;
}

int cq_destroy(struct cq *cq)
{
	struct ib_uverbs_destroy_cq_resp resp = {};
	struct cmd cmd;
	int ret;

	cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	cmd_attr(&cmd, UVERBS_ATTR_DESTROY_CQ_HANDLE, 0, cq->handle);
	cmd_out(&cmd, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
	ret = cmd_run(cq->ctx, &cmd);
	return ret ? ret : (int)resp.comp_events_reported;
}

/* --- our objects ----------------------------------------------------------- */

/* CQs that rings have room for which nobody has asked for */
#define RING_CQS	64

int channel_create(const struct ctx *ctx, uint64_t flags)
{
	const char *rings = getenv("COMPCH_ABI_RING");
	static unsigned int count;
	bool with;

	with = rings && (strcmp(rings, "some") ||
			 __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2);
	return channel_create_ring(ctx, flags, with ? RING_CQS : 0);
}

int channel_create_ring(const struct ctx *ctx, uint64_t flags, uint32_t cqs)
{
	struct ib_uverbs_attr *fd;
	struct cmd cmd;
	int ret;

	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_CREATE);
	fd = cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_CREATE_FD, 0, 0);
	if (flags)
		cmd_in(&cmd, COMPCH_ATTR_CHANNEL_CREATE_FLAGS, &flags,
		       sizeof(flags));
	if (cqs)
		cmd_in(&cmd, COMPCH_ATTR_CHANNEL_CREATE_RING, &cqs,
		       sizeof(cqs));
	ret = cmd_run(ctx, &cmd);
	return ret ? ret : (int)fd->data_s64;
}

void ring_map(const struct ctx *ctx, int fd, struct compch_ring_user *ring)
{
	struct compch_channel_info info;
	void *at;
	int i = 0;

	while (mapped[i].at)
		must(++i < (int)ARRAY_SIZE(mapped) ? 0 : -ENOSPC);
	must(channel_query(ctx, fd, &info));
	at = mmap(NULL, info.ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	must(at == MAP_FAILED ? -errno : 0);
	mapped[i].at = at;
	mapped[i].size = info.ring_size;
	compch_ring_user_init(ring, at);
}

int ring_unmap(const struct compch_ring_user *ring)
{
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(mapped); i++) {
		if (mapped[i].at == ring->head) {
			mapped[i].at = NULL;
			return munmap(ring->head, mapped[i].size) ? -errno : 0;
		}
	}
	return -ENOENT;
}

int channel_wake(const struct ctx *ctx, int fd)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_WAKE);
	cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_WAKE_FD, 0, (int64_t)fd);
	return cmd_run(ctx, &cmd);
}

int channel_destroy(const struct ctx *ctx, int fd)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_DESTROY);
	cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_DESTROY_FD, 0, (int64_t)fd);
	return cmd_run(ctx, &cmd);
}

int channel_cancel(const struct ctx *ctx, int fd)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_CANCEL);
	cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_CANCEL_FD, 0, (int64_t)fd);
	return cmd_run(ctx, &cmd);
}

int channel_query(const struct ctx *ctx, int fd,
		  struct compch_channel_info *info)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_QUERY);
	cmd_attr(&cmd, COMPCH_ATTR_CHANNEL_QUERY_FD, 0, (int64_t)fd);
	cmd_out(&cmd, COMPCH_ATTR_CHANNEL_QUERY_RESP, info, sizeof(*info));
	return cmd_run(ctx, &cmd);
}

static int assoc_create_attr(struct cq *cq, int fd, const uint64_t *cookie)
{
	struct ib_uverbs_attr *handle;
	struct cmd cmd;
	int ret;

	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_CREATE);
	handle = cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0, 0);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_CQ, 0, cq->handle);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, 0, (int64_t)fd);
	if (cookie)
		cmd_in(&cmd, COMPCH_ATTR_ASSOC_CREATE_COOKIE, cookie,
		       sizeof(*cookie));
	ret = cmd_run(cq->ctx, &cmd);
	if (!ret)
		cq->assoc = handle->data;
	return ret;
}

long long channel_id(int fd)
{
	char path[64];
	long long id;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	must(file_value(path, "compch-id:", &id, 10));
	return id;
}

int assoc_create(struct cq *cq, int fd)
{
	return assoc_create_attr(cq, fd, NULL);
}

int assoc_create_cookie(struct cq *cq, int fd, uint64_t cookie)
{
	return assoc_create_attr(cq, fd, &cookie);
}

int assoc_move(const struct cq *cq, int fd)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_MOVE);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_MOVE_HANDLE, 0, cq->assoc);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, 0, (int64_t)fd);
	return cmd_run(cq->ctx, &cmd);
}

int assoc_destroy(const struct cq *cq, uint64_t flags,
		  struct compch_assoc_destroy_resp *resp)
{
	struct compch_assoc_destroy_resp unused;
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_DESTROY);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_DESTROY_HANDLE, 0, cq->assoc);
	cmd_out(&cmd, COMPCH_ATTR_ASSOC_DESTROY_RESP, resp ? resp : &unused,
		sizeof(*resp));
	if (flags)
		cmd_in(&cmd, COMPCH_ATTR_ASSOC_DESTROY_FLAGS, &flags,
		       sizeof(flags));
	return cmd_run(cq->ctx, &cmd);
}

int assoc_query(const struct cq *cq, struct compch_assoc_info *info)
{
	struct cmd cmd;

	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_QUERY);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_QUERY_HANDLE, 0, cq->assoc);
	cmd_out(&cmd, COMPCH_ATTR_ASSOC_QUERY_RESP, info, sizeof(*info));
	return cmd_run(cq->ctx, &cmd);
}

void check_channel(const char *file, int line, const struct ctx *ctx, int fd,
		   unsigned int state, unsigned int assocs,
		   unsigned int cancels, uint64_t pending, uint64_t reported)
{
	struct compch_channel_info info;

	memset(&info, 0x5a, sizeof(info));
	if (!check_eq(file, line, "channel_query()",
		      channel_query(ctx, fd, &info), 0))
		return;
	check_eq(file, line, "channel state", info.state, state);
	check_eq(file, line, "channel associations", info.associations, assocs);
	check_eq(file, line, "channel cancels", info.cancels, cancels);
	check_eq(file, line, "channel pending", info.pending, pending);
	check_eq(file, line, "channel reported", info.reported, reported);
}

void check_assoc(const char *file, int line, const struct cq *cq,
		 uint64_t pending, uint64_t reported, uint64_t merged)
{
	struct compch_assoc_info info;

	memset(&info, 0x5a, sizeof(info));
	if (!check_eq(file, line, "assoc_query()", assoc_query(cq, &info), 0))
		return;
	check_eq(file, line, "assoc pending", info.pending, pending);
	check_eq(file, line, "assoc reported", info.reported, reported);
	check_eq(file, line, "assoc merged", info.merged, merged);
}

/* --- either ---------------------------------------------------------------- */

int chan_new(const struct ctx *ctx)
{
	return must(ours ? channel_create(ctx, 0) : stock_channel(ctx));
}

void cq_on(struct ctx *ctx, struct cq *cq, int chan)
{
	must(cq_create(ctx, cq, ours ? -1 : chan));
	if (ours)
		must(assoc_create(cq, chan));
}

long long cq_off(struct cq *cq)
{
	struct compch_assoc_destroy_resp resp;

	if (!ours)
		return must(cq_destroy(cq));
	must(assoc_destroy(cq, 0, &resp));
	/* None of them came by way of the stock channel. */
	eq(must(cq_destroy(cq)), 0);
	return resp.events_reported;
}

/* --- events ---------------------------------------------------------------- */

int fire_in(const struct cq *cq, unsigned int count, const char *context,
	    int cpu)
{
	if (cpu < 0)
		return file_write(TESTDEV "fire", "%" PRIu64 " %u %s any",
				  cq->tag, count, context);
	return file_write(TESTDEV "fire", "%" PRIu64 " %u %s %d", cq->tag,
			  count, context, cpu);
}

int fire(const struct cq *cq, unsigned int count)
{
	return fire_in(cq, count, "process", -1);
}

int fire_start(const struct cq *cq, unsigned int count, const char *context,
	       int cpu)
{
	if (cpu < 0)
		return file_write(TESTDEV "fire",
				  "start %" PRIu64 " %u %s any", cq->tag,
				  count, context);
	return file_write(TESTDEV "fire", "start %" PRIu64 " %u %s %d",
			  cq->tag, count, context, cpu);
}

int fire_stop(const struct cq *cq)
{
	return file_write(TESTDEV "fire", "stop %" PRIu64, cq->tag);
}

int fire_load(const struct cq *cq)
{
	return file_write(TESTDEV "fire", "load %" PRIu64, cq->tag);
}

int fire_late(const struct cq *cq, unsigned int count, const char *context)
{
	return file_write(TESTDEV "fire", "late %" PRIu64 " %u %s any",
			  cq->tag, count, context);
}

long long fired(const struct cq *cq)
{
	long long value;
	char key[64];
	int ret;

	snprintf(key, sizeof(key), "%" PRIu64 " fired", cq->tag);
	ret = file_value(TESTDEV "cqs", key, &value, 10);
	return ret ? ret : value;
}

int drain(int fd, struct cq *const *cqs, int n, long long *counts)
{
	struct ib_uverbs_comp_event_desc events[64];
	int total = 0;
	int ret, i, j;

	while (poll_now(fd) & POLLIN) {
		ret = rd(fd, events, sizeof(events));
		if (ret == -EAGAIN)
			break;
		if (ret < 0)
			return ret;
		if (!ret || ret % DESC_SIZE)
			return -EPROTO;
		for (i = 0; i < ret / (int)DESC_SIZE; i++) {
			for (j = 0; j < n; j++)
				if (events[i].cq_handle == cqs[j]->user_handle)
					break;
			if (j == n)
				return -EBADMSG;
			counts[j]++;
			total++;
		}
	}
	return total;
}

/* --- threads --------------------------------------------------------------- */

pid_t own_tid(void)
{
	return syscall(SYS_gettid);
}

static void *reader_main(void *arg)
{
	struct reader *reader = arg;

	__atomic_store_n(&reader->tid, own_tid(), __ATOMIC_RELEASE);
	reader->ret = rd(reader->fd, reader->buf, reader->len);
	__atomic_store_n(&reader->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool reader_sleeps(struct reader *reader)
{
	pid_t tid = __atomic_load_n(&reader->tid, __ATOMIC_ACQUIRE);

	return tid && task_blocked(getpid(), tid, SYS_read);
}

void reader_start_at(struct reader *reader, int fd, void *buf, size_t len)
{
	memset(reader, 0, sizeof(*reader));
	reader->fd = fd;
	reader->buf = buf;
	reader->len = len;
	must(-pthread_create(&reader->thread, NULL, reader_main, reader));
	eventually(reader_done(reader) || reader_sleeps(reader));
}

void reader_start(struct reader *reader, int fd, size_t len)
{
	reader_start_at(reader, fd, reader->events, len);
}

bool reader_done(struct reader *reader)
{
	return __atomic_load_n(&reader->done, __ATOMIC_ACQUIRE);
}

int reader_end(struct reader *reader)
{
	eventually(reader_done(reader));
	must(-pthread_join(reader->thread, NULL));
	return reader->ret;
}

/*
 * User Mode Linux does not tell the system call.  None of our threads sleeps
 * before the one that it is there for.
 */
static bool task_sleeps_in_any(pid_t pid, pid_t tid)
{
	char path[64], buf[512], *state;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (file_read(path, buf, sizeof(buf)) <= 0)
		return false;
	/* The command's name, in parentheses, may contain anything. */
	state = strrchr(buf, ')');
	/* A device's removal waits uninterruptibly. */
	return state && (!strncmp(state, ") S ", 4) ||
			 !strncmp(state, ") D ", 4));
}

bool task_blocked(pid_t pid, pid_t tid, long syscall)
{
	char path[64], buf[256], *end;

	/* "running", or the number of the system call that it sleeps in. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	if (access(path, F_OK))
		return task_sleeps_in_any(pid, tid);
	if (file_read(path, buf, sizeof(buf)) <= 0)
		return false;
	return strtol(buf, &end, 10) == syscall && end != buf && *end == ' ';
}

long long task_sleeps(pid_t tid)
{
	long long value;
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	ret = file_value(path, "voluntary_ctxt_switches:", &value, 10);
	return ret ? ret : value;
}

int cpus_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}
