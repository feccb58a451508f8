// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch adopt - have the module extend a device that was there before it.
 *
 * uverbs builds what programs can call on a device when it is added to the
 * device.  It is added anew when the device comes back from another network
 * namespace, so it goes there and back; a driver must be able to take the device
 * away from its users for that.  With any other driver the device must be
 * registered anew, and which command does so, is printed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "compch.h"

static void usage(FILE *out)
{
	fputs("usage: compch adopt [--force] DEVICE\n"
	      "\n"
	      "Have the module ib_compch extend an RDMA device that was registered before it\n"
	      "was loaded: take the device to another network namespace and back, for which\n"
	      "one must be root. Where its driver does not allow that, print the command\n"
	      "that registers it anew, and fail.\n"
	      "\n"
	      "  -f, --force   even if somebody uses the device, who will lose it\n"
	      "  -h, --help    this text\n", out);
}

/* --- by whom it is used ----------------------------------------------------- */

/**
 * struct nodes - the files in /dev/infiniband/ that are of one RDMA device
 * @count: how many
 * @all: their numbers
 */
struct nodes {
	size_t count;
	dev_t *all;
};

/* Those of a class, as it has them itself: not all need be in this /dev. */
static void nodes_add(struct nodes *nodes, const char *class,
		      const char *device)
{
	char **names = sys_list("/sys/class/%s", class), **name, *ibdev, *text;
	unsigned int major, minor;

	for (name = names; *name; name++) {
		ibdev = sys_read("/sys/class/%s/%s/ibdev", class, *name);
		text = sys_read("/sys/class/%s/%s/dev", class, *name);
		if (ibdev && !strcmp(ibdev, device) && text &&
		    sscanf(text, "%u:%u", &major, &minor) == 2) {
			nodes->all = reallocarray(nodes->all, nodes->count + 1,
						  sizeof(*nodes->all));
			if (!nodes->all)
				exit(compch_no_memory());
			nodes->all[nodes->count++] = makedev(major, minor);
		}
		free(ibdev);
		free(text);
	}
	sys_list_free(names);
}

/* Has the process one of them open? */
static bool has_open(const char *pid, const struct nodes *nodes)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	struct stat st;
	size_t i;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) ||
		    !S_ISCHR(st.st_mode))
			continue;
		for (i = 0; i < nodes->count; i++)
			found |= st.st_rdev == nodes->all[i];
	}
	closedir(dir);
	return found;
}

/* Prints a line for each process that uses it; returns how many. */
static unsigned int processes(const struct device *device)
{
	char **pids, **pid, *comm;
	struct nodes nodes = {};
	unsigned int count = 0;

	nodes_add(&nodes, "infiniband_verbs", device->name);
	/* Managers of subnets and the like, by umadN and issmN */
	nodes_add(&nodes, "infiniband_mad", device->name);
	pids = sys_list("/proc");
	for (pid = pids; *pid; pid++) {
		if (strspn(*pid, "0123456789") != strlen(*pid) ||
		    !has_open(*pid, &nodes))
			continue;
		comm = sys_read("/proc/%s/comm", *pid);
		if (comm)
			text_clean(comm);
		compch_error("%s is used by process %s (%s)", device->name,
			     *pid, comm ? comm : "?");
		free(comm);
		count++;
	}
	sys_list_free(pids);
	free(nodes.all);
	return count;
}

static unsigned int kernel_users(struct netlink *netlink,
				 const struct device *device, uint32_t index)
{
	char users[512];

	/* Older kernels do not tell. */
	if (netlink_kernel_users(netlink, index, users, sizeof(users)) ||
	    !users[0])
		return 0;
	compch_error("%s is used in the kernel by %s", device->name, users);
	return 1;
}

/* --- which command does it --------------------------------------------------- */

/* The network device under a software RDMA device, or NULL */
static char *netdev_of(const char *device)
{
	char *netdev = sys_read("/sys/class/infiniband/%s/parent", device);

	if (!netdev)
		netdev = sys_read("/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
				  device);
	return netdev;
}

/* Has an auxiliary device this name because it is for RDMA? */
static bool is_for_rdma(const char *name)
{
	static const char *const kinds[] = { ".rdma.", ".roce.", ".iwarp." };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strstr(name, kinds[i]))
			return true;
	return false;
}

/* Below the device of the bus, that of a driver for RDMA alone, or NULL */
static char *auxiliary_of(const char *device)
{
	char **names = sys_list("/sys/class/infiniband/%s/device", device);
	char **name, *bus, *found = NULL;

	for (name = names; *name && !found; name++) {
		bus = sys_link_name("/sys/class/infiniband/%s/device/%s/subsystem",
				    device, *name);
		if (bus && !strcmp(bus, "auxiliary") && is_for_rdma(*name)) {
			found = strdup(*name);
			if (!found)
				exit(compch_no_memory());
		}
		free(bus);
	}
	sys_list_free(names);
	return found;
}

/* Prints the command, and nothing else, to standard output. */
static void advise(const struct device *device)
{
	char *auxiliary = auxiliary_of(device->name), *driver = NULL, *module;
	const char *soft = NULL;
	char *netdev;

	if (device->driver && !strcmp(device->driver, "rdma_rxe"))
		soft = "rxe";
	else if (device->driver && !strcmp(device->driver, "siw"))
		soft = "siw";
	netdev = soft ? netdev_of(device->name) : NULL;
	if (auxiliary)
		driver = sys_link_name("/sys/class/infiniband/%s/device/%s/driver",
				       device->name, auxiliary);
	module = sys_link_name("/sys/class/infiniband/%s/device/driver/module",
			       device->name);
	if (netdev)
		printf("rdma link delete %s && rdma link add %s type %s netdev %s\n",
		       device->name, device->name, soft, netdev);
	else if (driver)
		printf("echo %s >/sys/bus/auxiliary/drivers/%s/unbind && echo %s >/sys/bus/auxiliary/drivers/%s/bind\n",
		       auxiliary, driver, auxiliary, driver);
	else if (module)
		printf("modprobe -r %s && modprobe %s\n", module, module);
	else
		compch_error("%s: reload its driver, or start the machine anew with the module loaded at boot",
			     device->name);
	free(netdev);
	free(auxiliary);
	free(driver);
	free(module);
}

static int cannot(const struct device *device, const char *why)
{
	compch_error("%s: %s; this registers it anew:", device->name, why);
	advise(device);
	return compch_flush(EXIT_FAILURE);
}

/* --- there and back ----------------------------------------------------------- */

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static bool wait_extended(const char *name)
{
	struct device *device;
	bool extended = false;
	int i;

	for (i = 0; i < 200 && !extended; i++) {
		device = device_get(name);
		extended = device && device->extended == EXTENDED_YES;
		device_free(device);
		if (!extended)
			pause_briefly();
	}
	return extended;
}

/* Opens the namespace of this process. */
static int own_netns(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/*
 * Moves the device from the namespace of this process to another one.  It must
 * have been in this one when it asked for that.
 */
static int move_to(const struct device *device, int netns)
{
	struct netlink *netlink = netlink_open();
	uint32_t index;
	int ret;

	ret = netlink ? netlink_find(netlink, device->name, &index) : errno;
	if (!ret)
		ret = netlink_move(netlink, index, netns);
	netlink_close(netlink);
	return ret;
}

/*
 * To a namespace that nobody else knows, and back.  If the latter does not work,
 * the kernel does it, when that namespace ends with this process.
 */
static int round_trip(const struct device *device)
{
	int home = own_netns(), away = -1, ret = 0;

	if (home < 0 || unshare(CLONE_NEWNET))
		ret = errno;
	if (!ret) {
		away = own_netns();
		if (away < 0 || setns(home, CLONE_NEWNET))
			ret = errno;
	}
	if (!ret)
		ret = move_to(device, away);
	if (!ret) {
		if (setns(away, CLONE_NEWNET))
			ret = errno;
		if (!ret)
			ret = move_to(device, home);
		if (setns(home, CLONE_NEWNET) && !ret)
			ret = errno;
	}
	if (away >= 0)
		close(away);
	if (home >= 0)
		close(home);
	return ret;
}

static int share_again(struct netlink *netlink)
{
	int ret = EBUSY, i;

	/* The kernel takes its time to end the other namespace. */
	for (i = 0; i < 200 && ret == EBUSY; i++) {
		ret = netlink_set_shared(netlink, true);
		if (ret == EBUSY)
			pause_briefly();
	}
	return ret;
}

/* Not on standard output, where nothing but a command is. */
static int is_extended(const char *name, const char *since)
{
	fprintf(stderr, "compch: %s is extended %s\n", name, since);
	return EXIT_SUCCESS;
}

/*
 * While it is shared, no device moves.  No signal ends this half done: who is in a
 * hurry would leave all devices exclusive, or this one far away.
 *
 * @moved is set if the device has been asked to move.
 */
static int round_trip_exclusively(struct netlink *netlink,
				  const struct device *device, bool shared,
				  bool *moved)
{
	sigset_t all, old;
	int ret = 0, error;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	if (shared)
		ret = netlink_set_shared(netlink, false);
	*moved = !ret;
	if (*moved)
		ret = round_trip(device);
	if (*moved && shared) {
		error = share_again(netlink);
		if (error)
			compch_error("the devices are still exclusive: %s; 'rdma system set netns shared' undoes it",
				     strerror(error));
	}
	/* Now it may end. */
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static int adopt(struct netlink *netlink, const struct device *device)
{
	bool shared, moved;
	int ret;

	ret = netlink_get_shared(netlink, &shared);
	if (ret) {
		compch_error("rdma netlink: %s", strerror(ret));
		return EXIT_FAILURE;
	}
	ret = round_trip_exclusively(netlink, device, shared, &moved);
	if (!moved && ret == EBUSY)
		return cannot(device, "all network namespaces share the devices, and there are others");
	if (!moved) {
		compch_error("%s: cannot give it to one network namespace: %s",
			     device->name, strerror(ret));
		return EXIT_FAILURE;
	}
	if (ret == EOPNOTSUPP)
		return cannot(device, "its driver cannot move it to another network namespace");
	if (ret) {
		compch_error("%s: cannot move it to another network namespace and back: %s",
			     device->name, strerror(ret));
		return EXIT_FAILURE;
	}
	if (!wait_extended(device->name))
		return cannot(device, "it has been to another network namespace, in vain");
	return is_extended(device->name, "now");
}

static int adopt_device(const char *name, bool force)
{
	struct device *device = device_get(name);
	struct netlink *netlink = NULL;
	unsigned int users;
	uint32_t index;
	int ret = EXIT_FAILURE;

	if (!device) {
		compch_error("there is no RDMA device '%s'", name);
		return EXIT_FAILURE;
	}
	if (device->extended == EXTENDED_YES) {
		ret = is_extended(name, "already");
		goto out;
	}
	/* For any other reason it would come back as it was. */
	if (!device->adoptable) {
		compch_error("%s: %s: %s", name, device->why, device->advice);
		goto out;
	}
	if (*sys_root) {
		compch_error("adopt: a copy of the system has no devices");
		goto out;
	}
	if (geteuid()) {
		compch_error("adopt: only root can do this");
		goto out;
	}
	netlink = netlink_open();
	if (!netlink) {
		compch_error("rdma netlink: %s", strerror(errno));
		goto out;
	}
	ret = netlink_find(netlink, name, &index);
	if (ret) {
		compch_error("rdma netlink: %s: %s", name, strerror(ret));
		ret = EXIT_FAILURE;
		goto out;
	}
	users = processes(device) + kernel_users(netlink, device, index);
	if (users && !force) {
		compch_error("%s: --force would take it away from them", name);
		ret = EXIT_FAILURE;
		goto out;
	}
	ret = adopt(netlink, device);
out:
	netlink_close(netlink);
	device_free(device);
	return ret;
}

/**
 * compch_adopt_main() - "compch adopt"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_adopt_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	bool force = false;
	int option;

	opterr = 0;
	/* The option may come after the device. */
	while ((option = getopt_long(argc, argv, "fh", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			force = true;
			break;
		case 'h':
			usage(stdout);
			return compch_flush(EXIT_SUCCESS);
		default:
			compch_error("adopt: there is no option '%s'; see 'compch adopt --help'",
				     argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (optind != argc - 1) {
		compch_error("adopt: %s; see 'compch adopt --help'",
			     optind == argc ? "which device?" :
					      "one device at a time");
		return EXIT_USAGE;
	}
	return adopt_device(argv[optind], force);
}
