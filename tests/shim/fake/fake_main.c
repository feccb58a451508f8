// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
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

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

int main(void)
{
	int fds = count_fds();

	alarm(60);
	test();
	CHECK(fake_is_clean());
	CHECK_EQ(count_fds(), fds);
	return 0;
}
