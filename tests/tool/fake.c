// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * For "compch adopt" without a device: what it asks the kernel, answered from
 * here.  Preloaded, and told by the environment:
 *
 *   FAKE_ROOT     where its /sys, /proc and /dev/infiniband are
 *   FAKE_DEVICE   the device that the RDMA subsystem knows
 *   FAKE_MOVE     the errno of moving that, if it cannot be
 *   FAKE_SIGNAL   what this process gets when namespaces share no devices any more
 *   FAKE_LOG      a file to which each change is written
 *
 * The device was there before the module, until it has moved twice.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static bool shared = true;
static int moves;

static void note(const char *what)
{
	const char *path = getenv("FAKE_LOG");
	FILE *log = path ? fopen(path, "a") : NULL;

	if (!log)
		return;
	fprintf(log, "%s\n", what);
	fclose(log);
}

/* --- files -------------------------------------------------------------------- */

static const char *place(const char *path, char room[PATH_MAX])
{
	const char *root = getenv("FAKE_ROOT");

	if (!root || (strncmp(path, "/sys/", 5) && strncmp(path, "/proc", 5) &&
		      strncmp(path, "/dev/infiniband/", 16)) ||
	    !strncmp(path, "/proc/self/", 11))
		return path;
	snprintf(room, PATH_MAX, "%s%s", root, path);
	return room;
}

int open(const char *path, int flags, ...)
{
	char room[PATH_MAX];
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return REAL(open)(place(path, room), flags, mode);
}

int access(const char *path, int mode)
{
	char room[PATH_MAX];

	return REAL(access)(place(path, room), mode);
}

ssize_t readlink(const char *path, char *buf, size_t size)
{
	char room[PATH_MAX];

	return REAL(readlink)(place(path, room), buf, size);
}

DIR *opendir(const char *path)
{
	char room[PATH_MAX];

	return REAL(opendir)(place(path, room));
}

int scandir(const char *path, struct dirent ***names,
	    int (*filter)(const struct dirent *entry),
	    int (*compare)(const struct dirent **a, const struct dirent **b))
{
	char room[PATH_MAX];

	return REAL(scandir)(place(path, room), names, filter, compare);
}

/* --- the system --------------------------------------------------------------- */

uid_t geteuid(void)
{
	return 0;
}

int unshare(int flags)
{
	(void)flags;
	return 0;
}

int setns(int fd, int type)
{
	(void)fd;
	(void)type;
	return 0;
}

int ioctl(int fd, unsigned long command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (command != RDMA_VERBS_IOCTL)
		return REAL(ioctl)(fd, command, arg);
	errno = moves < 2 ? EPROTONOSUPPORT : EINVAL;
	return -1;
}

/* --- the RDMA subsystem's netlink --------------------------------------------- */

static char answer[4096];
static size_t length;

static struct nlmsghdr *begin(const struct nlmsghdr *to, unsigned int type)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(answer + length);

	header->nlmsg_type = type;
	header->nlmsg_seq = to->nlmsg_seq;
	return header;
}

static void end(const struct nlmsghdr *header)
{
	length += MNL_ALIGN(header->nlmsg_len);
}

static void end_list(const struct nlmsghdr *to)
{
	struct nlmsghdr *header = begin(to, NLMSG_DONE);

	header->nlmsg_flags = NLM_F_MULTI;
	mnl_nlmsg_put_extra_header(header, sizeof(int));
	end(header);
}

static void acknowledge(const struct nlmsghdr *to, int error)
{
	struct nlmsghdr *header = begin(to, NLMSG_ERROR);
	struct nlmsgerr *ack = mnl_nlmsg_put_extra_header(header, sizeof(*ack));

	ack->error = -error;
	ack->msg = *to;
	end(header);
}

static void share(const struct nlmsghdr *request)
{
	const char *signal = getenv("FAKE_SIGNAL");
	struct nlattr *attr;

	mnl_attr_for_each(attr, request, 0)
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_SYS_ATTR_NETNS_MODE)
			shared = mnl_attr_get_u8(attr);
	note(shared ? "shared" : "exclusive");
	if (!shared && signal)
		raise(atoi(signal));
	acknowledge(request, 0);
}

static void move(const struct nlmsghdr *request)
{
	const char *text = getenv("FAKE_MOVE");
	int error = text ? atoi(text) : shared ? EOPNOTSUPP : 0;

	note("move");
	if (!error)
		moves++;
	acknowledge(request, error);
}

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
	(void)bus;
	(void)flags;
	return (struct mnl_socket *)answer;
}

int mnl_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid)
{
	(void)socket;
	(void)groups;
	(void)pid;
	return 0;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *socket)
{
	(void)socket;
	return 1;
}

int mnl_socket_close(struct mnl_socket *socket)
{
	(void)socket;
	return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *socket, const void *request,
			  size_t size)
{
	const struct nlmsghdr *to = request;
	struct nlmsghdr *header;

	(void)socket;
	length = 0;
	switch (RDMA_NL_GET_OP(to->nlmsg_type)) {
	case RDMA_NLDEV_CMD_SYS_GET:
		header = begin(to, to->nlmsg_type);
		mnl_attr_put_u8(header, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, shared);
		end(header);
		break;
	case RDMA_NLDEV_CMD_SYS_SET:
		share(to);
		break;
	case RDMA_NLDEV_CMD_SET:
		move(to);
		break;
	case RDMA_NLDEV_CMD_GET:
		header = begin(to, to->nlmsg_type);
		header->nlmsg_flags = NLM_F_MULTI;
		mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, 7);
		mnl_attr_put_strz(header, RDMA_NLDEV_ATTR_DEV_NAME,
				  getenv("FAKE_DEVICE") ?: "");
		end(header);
		end_list(to);
		break;
	default:
		end_list(to);
	}
	return size;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *socket, void *buf,
			    size_t size)
{
	(void)socket;
	if (length > size)
		return -1;
	memcpy(buf, answer, length);
	return length;
}
