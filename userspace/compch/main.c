// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch - the command-line tool: finds the command and calls it.
 */
#include <errno.h>
#include <getopt.h>
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
	{ "dev", "RDMA devices, and whether the module extends them",
	  compch_dev_main },
	{ "channel", "channels of all processes", compch_channel_main },
	{ "cq", "CQs on channels", compch_cq_main },
	{ "top", "the busiest CQs", compch_top_main },
	{ "adopt", "extend a device that was there before the module",
	  compch_adopt_main },
	{ "doctor", "what is wrong, and what to do", compch_doctor_main },
	{ "run", "run a program on the module's channels", compch_run_main },
};

bool compch_json;
bool compch_pretty;

static void usage(FILE *out)
{
	size_t i;

	fputs("usage: compch [OPTION]... COMMAND [ARGUMENT]...\n"
	      "\n"
	      "  -j, --json       JSON, where there is something to list\n"
	      "  -p, --pretty     the same, with indentation\n"
	      "  -R, --root DIR   look at the copy of /sys, /proc and /dev in DIR\n"
	      "  -V, --version    print the version\n"
	      "  -h, --help       this text\n"
	      "\n", out);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n"
	      "Commands can be abbreviated. \"compch COMMAND --help\" says more; see\n"
	      "compch(8).\n", out);
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
 * compch_no_memory() - say that there is no memory
 *
 * Return: an exit status
 */
int compch_no_memory(void)
{
	compch_error("%s", strerror(ENOMEM));
	return EXIT_OWN_FAILURE;
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

/**
 * compch_is_prefix() - is it a word, or the beginning of it?
 * @word: what a person has typed
 * @of: the word
 */
bool compch_is_prefix(const char *word, const char *of)
{
	return *word && !strncmp(word, of, strlen(word));
}

/**
 * compch_asks_help() - is one of the words of a command --help?
 * @argc: of the command, which has no options but that
 * @argv: of the command, from its name on
 */
bool compch_asks_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return argc > 1 && !strcmp(argv[1], "help");
}

/* A command by its name, or by the beginning of it if no other begins so */
static const struct command *find(const char *name)
{
	const struct command *found = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!compch_is_prefix(name, commands[i].name))
			continue;
		if (found) {
			compch_error("'%s' may be %s or %s", name, found->name,
				     commands[i].name);
			return NULL;
		}
		found = &commands[i];
	}
	if (!found)
		compch_error("there is no command '%s'; see 'compch --help'",
			     name);
	return found;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "root", required_argument, NULL, 'R' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	const struct command *command;
	int option;

	opterr = 0;
	/* What comes after the command is its own. */
	while ((option = getopt_long(argc, argv, "+jpR:Vh", options,
				     NULL)) != -1) {
		switch (option) {
		case 'p':
			compch_pretty = true;
			/* fallthrough */
		case 'j':
			compch_json = true;
			break;
		case 'R':
			sys_root = optarg;
			break;
		case 'V':
			puts("compch " COMPCH_VERSION);
			return compch_flush(EXIT_SUCCESS);
		case 'h':
			usage(stdout);
			return compch_flush(EXIT_SUCCESS);
		default:
			compch_error("'%s' is no option, or lacks its value; see 'compch --help'",
				     argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[optind], "help")) {
		usage(stdout);
		return compch_flush(EXIT_SUCCESS);
	}
	command = find(argv[optind]);
	if (!command)
		return EXIT_USAGE;
	argc -= optind;
	argv += optind;
	/* They have options of their own. */
	optind = 0;
	return command->main(argc, argv);
}
