// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch - the command-line tool: finds the command and calls it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compch.h"

static const struct command {
	const char *name;
	const char *what;
	int (*main)(int argc, char **argv);
} commands[] = {
	{ "run", "run a program on the module's channels", compch_run_main },
};

static void usage(FILE *out)
{
	size_t i;

	fputs("usage: compch COMMAND [ARGUMENT]...\n"
	      "       compch --help | --version\n"
	      "\n", out);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n\"compch COMMAND --help\" says more; see compch(8).\n", out);
}

/**
 * compch_error() - print one line on standard error
 * @format: as for printf(), without the newline
 */
void compch_error(const char *format, ...)
{
	va_list args;

	fputs("compch: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/**
 * compch_flush() - end with what has been printed
 * @status: the exit status, if that can be written
 */
int compch_flush(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		compch_error("standard output: %s", strerror(errno));
		return EXIT_OWN_FAILURE;
	}
	return status;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return compch_flush(EXIT_SUCCESS);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("compch " COMPCH_VERSION);
		return compch_flush(EXIT_SUCCESS);
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].main(argc - 1, argv + 1);
	}
	compch_error("there is no command '%s'; see 'compch --help'", argv[1]);
	return EXIT_USAGE;
}
