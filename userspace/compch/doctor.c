// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch doctor - what is wrong, and what to do about it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compch.h"

static const struct column columns[] = {
	{ "check", "CHECK" },
	{ "status", "STATUS" },
	{ "finding", "FINDING" },
	{ "advice", NULL },
};

enum status { FINE, WARNING, WRONG };

static const char *const statuses[] = {
	[FINE] = "ok",
	[WARNING] = "warning",
	[WRONG] = "wrong",
};

/* Kernels before this one have never been tried. */
#define KERNEL_MAJOR	6
#define KERNEL_MINOR	1

/* What a program should be able to lock, for its buffers */
#define MEMLOCK_MIN	(64ull << 20)
#define NOFILE_MIN	256ull

static struct table *table;
static bool wrong;

static void usage(FILE *out)
{
	fputs("usage: compch [-j [-p]] doctor\n"
	      "\n"
	      "Look at the kernel, the module, the devices, permissions, limits and the\n"
	      "library, and say in one line each what is wrong and what to do about it.\n"
	      "Fails if something is wrong; warnings are none of that.\n", out);
}

/* @advice is NULL if nothing needs to be done. */
__attribute__((format(printf, 4, 5)))
static void say(const char *check, enum status status, const char *advice,
		const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		exit(compch_no_memory());
	va_end(args);
	if (status == WRONG)
		wrong = true;
	table_row(table);
	table_string(table, check);
	table_string(table, statuses[status]);
	table_string(table, text);
	table_string(table, advice);
	if (!compch_json)
		printf("%-8s %s: %s%s%s\n", statuses[status], check, text,
		       advice ? "; " : "", advice ? advice : "");
	free(text);
}

/* --- the kernel and the module ----------------------------------------------- */

static char *check_kernel(void)
{
	char *release = sys_read("/proc/sys/kernel/osrelease");
	unsigned int major, minor;

	if (!release || sscanf(release, "%u.%u", &major, &minor) != 2) {
		say("kernel", WARNING, "mount /proc", "its release is not known");
		return release;
	}
	if (major > KERNEL_MAJOR ||
	    (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		say("kernel", FINE, NULL, "%s", release);
	else
		say("kernel", WRONG, "boot Linux 6.1 or newer", "%s is too old",
		    release);
	return release;
}

/* Is it there to be loaded? */
static bool is_installed(const char *release)
{
	char *text;
	bool found;

	text = release ? sys_read("/lib/modules/%s/modules.dep", release) : NULL;
	found = text && strstr(text, "/ib_compch.ko");
	free(text);
	return found;
}

static bool check_module(const char *release)
{
	char *version = sys_read("/sys/module/ib_compch/version");

	if (version && strcmp(version, COMPCH_VERSION))
		say("module", WARNING,
		    "install both from one version, and load the module anew",
		    "ib_compch is version %s, and this tool " COMPCH_VERSION,
		    version);
	else if (version || sys_exists("/sys/module/ib_compch"))
		say("module", FINE, NULL, "ib_compch%s%s is loaded",
		    version ? " " : "", version ? version : "");
	else if (is_installed(release))
		say("module", WRONG, "modprobe ib_compch",
		    "ib_compch is not loaded");
	else
		say("module", WRONG,
		    "install the package compch-dkms, or run 'make install' in the sources",
		    "ib_compch is not installed for this kernel");
	free(version);
	return sys_exists("/sys/module/ib_compch");
}

/* Where configuration is; a file hides those of its name in what comes after. */
static const char *const config_dirs[] = {
	"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib",
};

static bool is_hidden(size_t dir, const char *folder, const char *name)
{
	size_t i;

	for (i = 0; i < dir; i++)
		if (sys_exists("%s/%s/%s", config_dirs[i], folder, name))
			return true;
	return false;
}

/* Does a line of a configuration say so?  Only *.conf is read. */
static bool config_says(const char *folder, bool (*says)(char *line))
{
	char **names, **name, *text, *rest, *line, *end;
	bool found = false;
	size_t dir;

	for (dir = 0; dir < ARRAY_SIZE(config_dirs); dir++) {
		names = sys_list("%s/%s", config_dirs[dir], folder);
		for (name = names; *name && !found; name++) {
			end = strrchr(*name, '.');
			if (!end || strcmp(end, ".conf") ||
			    is_hidden(dir, folder, *name))
				continue;
			text = sys_read("%s/%s/%s", config_dirs[dir], folder,
					*name);
			rest = text;
			while (rest && !found && (line = strsep(&rest, "\n")))
				found = says(line);
			free(text);
		}
		sys_list_free(names);
	}
	return found;
}

static char *next_word(char **line)
{
	char *word;

	do
		word = strsep(line, " \t\r");
	while (word && !*word);
	return word;
}

/* Is it there, and the module's name?  "-" is as good as "_". */
static bool is_module(const char *word, const char *module)
{
	if (!word)
		return false;
	for (; *word && *module; word++, module++)
		if (*word != *module && (*word != '-' || *module != '_'))
			return false;
	return *word == *module;
}

/* modules-load.d(5) */
static bool loads_module(char *line)
{
	return is_module(next_word(&line), "ib_compch") && !next_word(&line);
}

/* modprobe.d(5) */
static bool follows_core(char *line)
{
	const char *word = next_word(&line);
	bool post = false;

	if (!word || strcmp(word, "softdep") ||
	    !is_module(next_word(&line), "ib_core"))
		return false;
	while ((word = next_word(&line))) {
		if (!strcmp(word, "pre:") || !strcmp(word, "post:"))
			post = word[1] == 'o';
		else if (post && is_module(word, "ib_compch"))
			return true;
	}
	return false;
}

static void check_boot(void)
{
	static const char advice[] =
		"see \"Use it on an RDMA host\" in README.md";
	bool loaded = config_says("modules-load.d", loads_module);
	bool follows = config_says("modprobe.d", follows_core);

	if (loaded && follows)
		say("boot", FINE, NULL,
		    "the module is loaded at boot, before drivers of devices");
	else if (loaded)
		say("boot", WARNING, advice,
		    "the module is loaded at boot, but modprobe.d does not make it come before drivers of devices");
	else if (follows)
		say("boot", WARNING, advice,
		    "the module comes before drivers of devices, but modules-load.d does not load it if something else has loaded ib_core");
	else
		say("boot", WARNING, advice,
		    "the module is not loaded at boot, so devices will be there before it");
}

/* --- devices ------------------------------------------------------------------ */

static void check_devices(bool module)
{
	char **names = device_list(), **name;
	struct device *device;

	if (!*names)
		say("device", WARNING,
		    "load a driver, or make one: rdma link add rxe0 type rxe netdev NETDEV",
		    "there is no RDMA device");
	for (name = names; *name; name++) {
		device = device_get(*name);
		if (!device)
			continue;
		if (device->extended == EXTENDED_YES)
			say("device", FINE, NULL, "%s is extended", *name);
		else if (module)
			say("device", device->extended == EXTENDED_NO ?
			    WRONG : WARNING, device->advice, "%s: %s", *name,
			    device->why);
		device_free(device);
	}
	sys_list_free(names);
}

static void check_nodes(void)
{
	char **names = sys_list("/sys/class/infiniband_verbs"), **name, *path;

	for (name = names; *name; name++) {
		if (!sys_exists("/sys/class/infiniband_verbs/%s/ibdev", *name))
			continue;
		path = sys_path("/dev/infiniband/%s", *name);
		if (!access(path, R_OK | W_OK))
			say("permission", FINE, NULL,
			    "/dev/infiniband/%s can be opened", *name);
		else if (errno == ENOENT)
			say("permission", WRONG,
			    "in a container, pass it on; else see whether udev runs",
			    "/dev/infiniband/%s is missing", *name);
		else
			say("permission", WRONG,
			    "have it made readable and writable, as rdma-core's udev rules do",
			    "/dev/infiniband/%s: %s", *name, strerror(errno));
		free(path);
	}
	sys_list_free(names);
}

static void check_debugfs(void)
{
	struct records records;
	int ret;

	ret = records_read(&records, "channels");
	records_free(&records);
	if (!ret)
		say("list", FINE, NULL, "channels and CQs can be listed");
	else if (ret == EACCES || ret == EPERM)
		say("list", WARNING, "be root to see those of all processes",
		    "channels and CQs are listed for root only");
	else
		say("list", WARNING,
		    "mount -t debugfs debugfs /sys/kernel/debug",
		    "channels and CQs cannot be listed");
}

/* --- limits ------------------------------------------------------------------- */

/* The soft limit of this process, in the words of proc(5) */
static bool limit_of(const char *name, unsigned long long *value)
{
	char *text = sys_read("/proc/self/limits"), *rest = text, *line, *end;
	size_t len = strlen(name);
	bool found = false;

	while (rest && !found && (line = strsep(&rest, "\n"))) {
		if (strncmp(line, name, len) || line[len] != ' ')
			continue;
		line += len + strspn(line + len, " ");
		found = true;
		if (!strncmp(line, "unlimited", 9)) {
			*value = ULLONG_MAX;
		} else {
			*value = strtoull(line, &end, 10);
			found = end != line;
		}
	}
	free(text);
	return found;
}

static void check_limits(void)
{
	unsigned long long value;

	if (!limit_of("Max locked memory", &value))
		say("memory", WARNING, "mount /proc", "the limit is not known");
	else if (value == ULLONG_MAX)
		say("memory", FINE, NULL,
		    "a process may lock as much as it likes");
	else if (value >= MEMLOCK_MIN)
		say("memory", FINE, NULL, "a process may lock %llu MiB",
		    value >> 20);
	else
		say("memory", WARNING,
		    "raise it: ulimit -l, LimitMEMLOCK=, or /etc/security/limits.conf",
		    "a process may lock %llu kB, which is little for RDMA",
		    value >> 10);
	if (limit_of("Max open files", &value) && value < NOFILE_MIN)
		say("memory", WARNING, "raise it: ulimit -n, or LimitNOFILE=",
		    "a process may have %llu files open, and a channel is one",
		    value);
}

/* --- the library ---------------------------------------------------------------- */

static void check_library(void)
{
	char path[PATH_MAX];
	const char *library = compch_find_library(path, sizeof(path));
	void *handle;

	/* Not what a copy of another system has */
	if (*sys_root)
		return;
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		say("library", WRONG, "install the package libcompch0",
		    "%s", dlerror());
		return;
	}
	if (dlsym(handle, "compch_create_channel"))
		say("library", FINE, NULL, "%s", library);
	else
		say("library", WRONG, "install the package libcompch0",
		    "%s is another library", library);
	dlclose(handle);
}

/**
 * compch_doctor_main() - "compch doctor"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_doctor_main(int argc, char **argv)
{
	char *release;
	bool module;

	if (compch_asks_help(argc, argv)) {
		usage(stdout);
		return compch_flush(EXIT_SUCCESS);
	}
	if (argc > 1) {
		compch_error("doctor: there is no '%s'; see 'compch doctor --help'",
			     argv[1]);
		return EXIT_USAGE;
	}
	table = table_new(columns, ARRAY_SIZE(columns));
	release = check_kernel();
	module = check_module(release);
	check_boot();
	check_devices(module);
	check_nodes();
	if (module)
		check_debugfs();
	check_limits();
	check_library();
	if (compch_json)
		table_print(table);
	table_free(table);
	free(release);
	return compch_flush(wrong ? EXIT_FAILURE : EXIT_SUCCESS);
}
