// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch channel, compch cq - what the module lists, of all processes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/compch-abi.h>

#include "compch.h"

static const struct column channel_columns[] = {
	{ "channel", "CHANNEL", true },
	{ "device", "DEVICE" },
	{ "state", "STATE" },
	{ "flags", "FLAGS" },
	{ "cqs", "CQS", true },
	{ "pending", "PENDING", true },
	{ "reported", "REPORTED", true },
	{ "merged", "MERGED", true },
	{ "discarded", "DISCARDED", true },
	{ "wakeups", "WAKEUPS", true },
	{ "longest", "LONGEST", true },
	{ "cancels", NULL, true },
	{ "idle_ms", "IDLE-MS", true },
	{ "pid", "PID", true },
	{ "comm", "COMMAND" },
};

static const struct column cq_columns[] = {
	{ "device", "DEVICE" },
	{ "cqn", "CQN", true },
	{ "channel", "CHANNEL", true },
	{ "pending", "PENDING", true },
	{ "reported", "REPORTED", true },
	{ "merged", "MERGED", true },
	{ "longest", "LONGEST", true },
	{ "idle_ms", "IDLE-MS", true },
	{ "cookie", NULL },
	{ "pid", "PID", true },
	{ "comm", "COMMAND" },
};

/**
 * struct list - a list of the module's
 * @command: what shows it
 * @file: where it is
 * @what: what it is of
 * @columns: what is shown of it
 * @count: how many of those
 * @order: by which fields it is sorted
 * @filters: by which fields a person can choose
 */
struct list {
	const char *command;
	const char *file;
	const char *what;
	const struct column *columns;
	size_t count;
	const char *order[2];
	const char *filters[4];
};

static const struct list channels = {
	.command = "channel",
	.file = "channels",
	.what = "Channels",
	.columns = channel_columns,
	.count = ARRAY_SIZE(channel_columns),
	.order = { "channel" },
	.filters = { "pid", "device", "channel" },
};

static const struct list cqs = {
	.command = "cq",
	.file = "cqs",
	.what = "CQs on channels",
	.columns = cq_columns,
	.count = ARRAY_SIZE(cq_columns),
	.order = { "device", "cqn" },
	.filters = { "pid", "device", "channel", "cqn" },
};

/* What a person has chosen: the value for each of the filters, or NULL */
typedef const char *choice[4];

static void usage(FILE *out, const struct list *list)
{
	size_t i;

	fprintf(out, "usage: compch [-j [-p]] %s [show]", list->command);
	for (i = 0; i < ARRAY_SIZE(list->filters) && list->filters[i]; i++)
		fprintf(out, " [%s %s]", list->filters[i],
			strcmp(list->filters[i], "device") ? "N" : "NAME");
	fprintf(out, "\n"
		"\n"
		"%s of all processes, for root. compch(8) says what the columns are.\n"
		"Events are \"reported\" when a program has read them; how many it has not\n"
		"acknowledged, the program alone knows: see compch_query_cq(3).\n",
		list->what);
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* A filter by its name, or by the beginning of it if no other begins so, or -1 */
static int find_filter(const struct list *list, const char *word)
{
	int count = 0, found = -1, i;

	while (count < (int)ARRAY_SIZE(list->filters) && list->filters[count])
		count++;
	for (i = 0; i < count; i++)
		if (!strcmp(word, list->filters[i]))
			return i;
	for (i = 0; i < count; i++) {
		if (!compch_is_prefix(word, list->filters[i]))
			continue;
		if (found >= 0) {
			compch_error("%s: '%s' may be %s or %s", list->command,
				     word, list->filters[found],
				     list->filters[i]);
			return -1;
		}
		found = i;
	}
	if (found < 0)
		compch_error("%s: there is no '%s'; see 'compch %s --help'",
			     list->command, word, list->command);
	return found;
}

/* Returns EXIT_SUCCESS, or another exit status */
static int choose(const struct list *list, int argc, char **argv, choice chosen)
{
	int i;

	for (; argc > 0; argc -= 2, argv += 2) {
		i = find_filter(list, argv[0]);
		if (i < 0)
			return EXIT_USAGE;
		if (argc < 2) {
			compch_error("%s: which %s?", list->command,
				     list->filters[i]);
			return EXIT_USAGE;
		}
		if (strcmp(list->filters[i], "device") && !is_number(argv[1])) {
			compch_error("%s: '%s' is no number", list->command,
				     argv[1]);
			return EXIT_USAGE;
		}
		chosen[i] = argv[1];
	}
	return EXIT_SUCCESS;
}

static bool is_chosen(const struct list *list, const struct record *record,
		      choice chosen)
{
	uint64_t value;
	const char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list->filters); i++) {
		if (!chosen[i])
			continue;
		text = record_get(record, list->filters[i]);
		if (!text)
			return false;
		if (!strcmp(list->filters[i], "device")) {
			if (strcmp(text, chosen[i]))
				return false;
		} else if (!record_number(record, list->filters[i], &value) ||
			   value != strtoull(chosen[i], NULL, 10)) {
			return false;
		}
	}
	return true;
}

static const struct list *sorted;

static int compare(const void *a, const void *b)
{
	uint64_t x, y;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(sorted->order) && sorted->order[i]; i++) {
		if (record_number(a, sorted->order[i], &x) &&
		    record_number(b, sorted->order[i], &y)) {
			if (x != y)
				return x < y ? -1 : 1;
			continue;
		}
		ret = strverscmp(record_get(a, sorted->order[i]) ?: "",
				 record_get(b, sorted->order[i]) ?: "");
		if (ret)
			return ret;
	}
	return 0;
}

static void add_flags(struct table *table, const char *text)
{
	unsigned long flags;
	char list[64];

	if (!text) {
		table_none(table);
		return;
	}
	flags = strtoul(text, NULL, 16);
	list[0] = '\0';
	if (flags & COMPCH_CHANNEL_COALESCE)
		strcpy(list, "coalesce");
	flags &= ~COMPCH_CHANNEL_COALESCE;
	if (flags)
		snprintf(list + strlen(list), sizeof(list) - strlen(list),
			 "%s0x%lx", list[0] ? "," : "", flags);
	table_list(table, list);
}

static void add_text(struct table *table, const char *text)
{
	char *copy = record_printable(text);

	table_string(table, copy);
	free(copy);
}

static void add(struct table *table, const struct list *list,
		const struct record *record)
{
	const struct column *column;
	uint64_t value;

	table_row(table);
	for (column = list->columns; column < list->columns + list->count;
	     column++) {
		if (!strcmp(column->key, "flags"))
			add_flags(table, record_get(record, column->key));
		else if (!column->number)
			add_text(table, record_get(record, column->key));
		else if (record_number(record, column->key, &value))
			table_number(table, value);
		else
			table_none(table);
	}
}

static int list_main(const struct list *list, int argc, char **argv)
{
	struct records records;
	choice chosen = {};
	struct table *table;
	size_t i;
	int ret;

	if (compch_asks_help(argc, argv)) {
		usage(stdout, list);
		return compch_flush(EXIT_SUCCESS);
	}
	argc--;
	argv++;
	if (argc && compch_is_prefix(argv[0], "show")) {
		argc--;
		argv++;
	}
	ret = choose(list, argc, argv, chosen);
	if (ret)
		return ret;

	ret = records_read(&records, list->file);
	if (ret) {
		records_explain(list->file, ret);
		return EXIT_FAILURE;
	}
	sorted = list;
	if (records.count)
		qsort(records.all, records.count, sizeof(records.all[0]),
		      compare);
	table = table_new(list->columns, list->count);
	for (i = 0; i < records.count; i++)
		if (is_chosen(list, &records.all[i], chosen))
			add(table, list, &records.all[i]);
	table_print(table);
	table_free(table);
	records_free(&records);
	return compch_flush(EXIT_SUCCESS);
}

/**
 * compch_channel_main() - "compch channel"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_channel_main(int argc, char **argv)
{
	return list_main(&channels, argc, argv);
}

/**
 * compch_cq_main() - "compch cq"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_cq_main(int argc, char **argv)
{
	return list_main(&cqs, argc, argv);
}
