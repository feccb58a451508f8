// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An association is charged to the rdma cgroup as one HCA object: at the limit
 * ASSOC CREATE answers EAGAIN, and the CQ is as it was. A channel is not.
 */
#include "abi.h"

#include <sys/mount.h>
#include <sys/stat.h>

static char dir[] = "/tmp/compch-cgroup.XXXXXX";

static int at_limit(void)
{
	struct compch_assoc_destroy_resp resp;
	struct ctx ctx = ctx_new(0);
	int chan = must(channel_create(&ctx, 0));
	struct cq cq, more, third;

	/* Four of the five objects: two CQs and two associations */
	must(cq_create(&ctx, &cq, -1));
	must(cq_create(&ctx, &more, -1));
	must(assoc_create(&cq, chan));
	must(assoc_create(&more, chan));
	/* The channel counts for nothing, or this would fail. */
	must(cq_create(&ctx, &third, -1));
	eq(assoc_create(&third, chan), -EAGAIN);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 0, 0);
	eq(fire(&third, 1), 0);
	eq(poll_now(chan), 0);

	/* What is given back can be had again. */
	must(assoc_destroy(&cq, 0, &resp));
	must(assoc_create(&third, chan));
	eq(fire(&third, 1), 0);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
	eq(assoc_create(&cq, chan), -EAGAIN);
	return abi_done();
}

int main(int argc, char **argv)
{
	char path[128], file[160];
	int status;
	pid_t pid;

	abi_init(argc, argv, NULL);
	must(mkdtemp(dir) ? 0 : -errno);
	if (mount("cgroup2", dir, "cgroup2", 0, NULL)) {
		rmdir(dir);
		skip("cgroup2 cannot be mounted");
	}
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", dir);
	if (file_write(file, "+rdma")) {
		umount(dir);
		rmdir(dir);
		skip("no rdma cgroup");
	}
	snprintf(path, sizeof(path), "%s/compch", dir);
	must(mkdir(path, 0755) ? -errno : 0);
	snprintf(file, sizeof(file), "%s/rdma.max", path);
	must(file_write(file, "compch_test0 hca_handle=1 hca_object=5"));
	pid = child();
	if (!pid) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", path);
		must(file_write(file, "%d", getpid()));
		_exit(at_limit());
	}
	status = child_status(pid);
	eq(status, 0);
	/*
	 * The kernel keeps the limits of a cgroup that is removed, until the
	 * device is, and then looks at the cgroup (6.1 and 6.12 at least).
	 */
	snprintf(file, sizeof(file), "%s/rdma.max", path);
	must(file_write(file, "compch_test0 hca_handle=max hca_object=max"));
	eventually(rmdir(path) == 0);
	eq(umount(dir), 0);
	eq(rmdir(dir), 0);
	return abi_done();
}
