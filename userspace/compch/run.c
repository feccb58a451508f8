// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch run - run a program with the library before libibverbs.
 *
 * The dynamic linker does it all, by LD_PRELOAD; where it will not, for a
 * program that is statically linked, runs with more privileges than its caller,
 * or is of another architecture, "compch run" says so instead of running the
 * program on stock channels.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "compch.h"

static void usage(FILE *out)
{
	fputs("usage: compch run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	      "\n"
	      "Run PROGRAM with " COMPCH_LIBRARY ", on completion channels of the kernel\n"
	      "module where its device has them.\n"
	      "\n"
	      "  -r, --require    no stock channels: an error instead, with the reason\n"
	      "      --auto-ack   acknowledge what is not when a CQ is destroyed\n"
	      "  -h, --help       this text\n"
	      "\n"
	      "The exit status is that of PROGRAM; 125 if compch itself fails, 126 if\n"
	      "PROGRAM cannot be run, 127 if it is not found.\n", out);
}

/**
 * compch_find_library() - where the library is
 * @path: room for its path
 * @size: how much
 *
 * Return: beside this program, as in a build directory, or where it was
 * installed, or wherever the dynamic linker finds it
 */
const char *compch_find_library(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size);
	char *end;

	if (len > 0 && (size_t)len < size) {
		path[len] = '\0';
		end = strrchr(path, '/');
		if (end && end + sizeof("/" COMPCH_LIBRARY) <= path + size) {
			strcpy(end, "/" COMPCH_LIBRARY);
			if (!access(path, R_OK))
				return path;
		}
	}
	if (!access(COMPCH_LIBDIR "/" COMPCH_LIBRARY, R_OK))
		return COMPCH_LIBDIR "/" COMPCH_LIBRARY;
	return COMPCH_LIBRARY;
}

/* Prepends the library to LD_PRELOAD. */
static int preload(void)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], *value;
	const char *library;
	int ret;

	library = compch_find_library(path, sizeof(path));
	if (strpbrk(library, ": \t\n")) {
		compch_error("the dynamic linker cannot preload '%s'", library);
		return -1;
	}
	if (asprintf(&value, "%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0)
		value = NULL;
	ret = value ? setenv("LD_PRELOAD", value, 1) : -1;
	if (ret)
		compch_error("LD_PRELOAD: %s", strerror(errno));
	free(value);
	return ret;
}

/* The file that execvp() will run, or NULL with errno */
static char *find_program(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH"), *end;
	int error = ENOENT, len;
	struct stat st;

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return access(path, X_OK) ? NULL : path;
	}
	for (dir = dir ? dir : "/bin:/usr/bin"; *name; dir = end + 1) {
		end = strchrnul(dir, ':');
		len = snprintf(path, size, "%.*s%s%s", (int)(end - dir), dir,
			       end == dir ? "" : "/", name);
		if (len >= 0 && (size_t)len < size && !stat(path, &st) &&
		    S_ISREG(st.st_mode)) {
			if (!access(path, X_OK))
				return path;
			error = EACCES;
		}
		if (!*end)
			break;
	}
	errno = error;
	return NULL;
}

/* What this program begins with; the library was built with it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Is it an ELF program that cannot load a library of ours? */
static bool is_foreign(const ElfW(Ehdr) *header)
{
	/* In the other class, the machine is at the same place. */
	return header->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
	       header->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
	       header->e_machine != __ehdr_start.e_machine;
}

/* Is it one without a dynamic linker? */
static bool is_static(int fd, const ElfW(Ehdr) *header)
{
	ElfW(Phdr) segment;
	int i;

	if (header->e_phentsize != sizeof(segment))
		return false;
	for (i = 0; i < header->e_phnum; i++) {
		if (pread(fd, &segment, sizeof(segment),
			  header->e_phoff + i * sizeof(segment)) !=
		    sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

/* Why an ELF program will not load the library, or NULL */
static const char *no_library(int fd)
{
	ElfW(Ehdr) header = {};

	/* One of the other class may be shorter than that. */
	if (pread(fd, &header, sizeof(header), 0) < EI_NIDENT ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (is_foreign(&header))
		return "it is for another machine than the library, or of another word size";
	if (is_static(fd, &header))
		return "it is statically linked";
	return NULL;
}

/* Why the dynamic linker will not preload anything, or NULL */
static const char *no_preload(const char *path)
{
	const char *why;
	struct stat st;
	int fd;

	/* It may be executable and not readable. */
	if (stat(path, &st))
		return NULL;
	if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getegid()) ||
	    (geteuid() && getxattr(path, "security.capability", NULL, 0) > 0))
		return "it runs with privileges of its own";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	why = no_library(fd);
	close(fd);
	return why;
}

static int set(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return 0;
	compch_error("%s: %s", name, strerror(errno));
	return -1;
}

static int cannot_run(const char *program, int error)
{
	compch_error("cannot run '%s': %s", program, strerror(error));
	return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND :
						     EXIT_CANNOT_RUN;
}

/**
 * compch_run_main() - "compch run"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status, if the program is not run
 */
int compch_run_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "require", no_argument, NULL, 'r' },
		{ "auto-ack", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	char file[PATH_MAX], *path;
	const char *why;
	int option;

	opterr = 0;
	/* PROGRAM's options are its own. */
	while ((option = getopt_long(argc, argv, "+rh", options, NULL)) != -1) {
		switch (option) {
		case 'r':
			if (set("COMPCH", "require"))
				return EXIT_OWN_FAILURE;
			break;
		case 'a':
			if (set("COMPCH_AUTO_ACK", "1"))
				return EXIT_OWN_FAILURE;
			break;
		case 'h':
			usage(stdout);
			return compch_flush(EXIT_SUCCESS);
		default:
			compch_error("run: there is no option '%s'; see 'compch run --help'",
				     argv[optind - 1]);
			return EXIT_OWN_FAILURE;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_OWN_FAILURE;
	}
	argv += optind;

	path = find_program(argv[0], file, sizeof(file));
	if (!path)
		return cannot_run(argv[0], errno);
	why = no_preload(path);
	if (why) {
		compch_error("cannot give '%s' other channels: %s", argv[0],
			     why);
		return EXIT_OWN_FAILURE;
	}
	if (preload())
		return EXIT_OWN_FAILURE;
	execvp(argv[0], argv);
	return cannot_run(argv[0], errno);
}
