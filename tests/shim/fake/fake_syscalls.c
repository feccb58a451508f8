// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "fake.h"

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (!strncmp(path, "/sys/class/infiniband/", 22))
		return fake_open(path);
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == RDMA_VERBS_IOCTL)
		return fake_ioctl(fd, arg);
	return syscall(SYS_ioctl, fd, request, arg);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t ret;

	if (fake_read(fd, buffer, size, false, &ret))
		return ret;
	return syscall(SYS_read, fd, buffer, size);
}

ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset,
		int flags)
{
	ssize_t ret;

	CHECK_EQ(count, 1);
	CHECK_EQ(offset, -1);
	CHECK_EQ(flags, RWF_NOWAIT);
	if (fake_read(fd, iov->iov_base, iov->iov_len, true, &ret))
		return ret;
	errno = EBADF;
	return -1;
}
