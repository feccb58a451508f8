// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h. */
#include <dirent.h>
#include <unistd.h>

#include "fake.h"

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
