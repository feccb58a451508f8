// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch top - the busiest CQs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "compch.h"

static const struct column columns[] = {
	{ "events_per_second", "EVENTS/S", true },
	{ "device", "DEVICE" },
	{ "cqn", "CQN", true },
	{ "channel", "CHANNEL", true },
	{ "pending", "PENDING", true },
	{ "reported", "REPORTED", true },
	{ "longest", "LONGEST", true },
	{ "idle_ms", "IDLE-MS", true },
	{ "pid", "PID", true },
	{ "comm", "COMMAND" },
};

/**
 * struct busy - a CQ, and what it has done
 * @record: what is known of it
 * @cookie: what tells it from one that had its number before
 * @cqn: its number
 * @events: events until now
 * @rate: events a second, lately
 */
struct busy {
	const struct record *record;
	uint64_t cookie;
	uint64_t cqn;
	uint64_t events;
	double rate;
};

/**
 * struct sample - all CQs at one moment
 * @records: what they are made of
 * @when: the moment, in seconds
 * @busy: the CQs, by device and number
 */
struct sample {
	struct records records;
	double when;
	struct busy *busy;
};

static void usage(FILE *out)
{
	fputs("usage: compch [-j [-p]] top [OPTION]...\n"
	      "\n"
	      "The CQs on channels, the busiest first, for root.\n"
	      "\n"
	      "  -d, --delay SECONDS     time between two looks (default: 2)\n"
	      "  -n, --iterations COUNT  end after so many; needed for JSON\n"
	      "  -b, --batch             print one table after the other, as if the output\n"
	      "                          were no terminal\n"
	      "  -h, --help              this text\n", out);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int by_number(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;
	int ret = strcmp(record_get(x->record, "device") ?: "",
			 record_get(y->record, "device") ?: "");

	if (ret)
		return ret;
	return (x->cqn > y->cqn) - (x->cqn < y->cqn);
}

static int by_rate(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate > y->rate ? -1 : 1;
	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return by_number(a, b);
}

static uint64_t number(const struct record *record, const char *key)
{
	uint64_t value;

	return record_number(record, key, &value) ? value : 0;
}

static void sample_free(struct sample *sample)
{
	records_free(&sample->records);
	free(sample->busy);
	sample->busy = NULL;
}

static int sample_take(struct sample *sample)
{
	int ret = records_read(&sample->records, "cqs");
	const struct record *record;
	size_t i;

	if (ret) {
		records_explain("cqs", ret);
		return ret;
	}
	sample->when = now();
	sample->busy = calloc(sample->records.count + 1,
			      sizeof(*sample->busy));
	if (!sample->busy)
		exit(compch_no_memory());
	for (i = 0; i < sample->records.count; i++) {
		record = &sample->records.all[i];
		sample->busy[i].record = record;
		sample->busy[i].cqn = number(record, "cqn");
		sample->busy[i].cookie = number(record, "cookie");
		sample->busy[i].events = number(record, "pending") +
					 number(record, "reported") +
					 number(record, "merged");
	}
	qsort(sample->busy, sample->records.count, sizeof(*sample->busy),
	      by_number);
	return 0;
}

/* Events a second of each since the sample before, and of all together */
static double sample_rates(struct sample *sample, const struct sample *before)
{
	double seconds = sample->when - before->when, sum = 0;
	struct busy *busy, *old;
	uint64_t events;
	size_t i;

	for (i = 0; i < sample->records.count; i++) {
		busy = &sample->busy[i];
		old = bsearch(busy, before->busy, before->records.count,
			      sizeof(*old), by_number);
		events = busy->events;
		/* If it is still the same */
		if (old && old->cookie == busy->cookie &&
		    old->events <= events)
			events -= old->events;
		busy->rate = seconds > 0 ? events / seconds : 0;
		sum += busy->rate;
	}
	return sum;
}

static void add_number(struct table *table, const struct record *record,
		       const char *key)
{
	uint64_t value;

	if (record_number(record, key, &value))
		table_number(table, value);
	else
		table_none(table);
}

static struct table *sample_table(const struct sample *sample)
{
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct busy *sorted;
	char *comm;
	size_t i, column;

	sorted = calloc(sample->records.count + 1, sizeof(*sorted));
	if (!sorted)
		exit(compch_no_memory());
	memcpy(sorted, sample->busy, sample->records.count * sizeof(*sorted));
	qsort(sorted, sample->records.count, sizeof(*sorted), by_rate);
	for (i = 0; i < sample->records.count; i++) {
		table_row(table);
		table_real(table, sorted[i].rate);
		table_string(table, record_get(sorted[i].record, "device"));
		for (column = 2; column < ARRAY_SIZE(columns) - 1; column++)
			add_number(table, sorted[i].record,
				   columns[column].key);
		comm = record_printable(record_get(sorted[i].record, "comm"));
		table_string(table, comm);
		free(comm);
	}
	free(sorted);
	return table;
}

/* 0 is not known, or too few to care */
static void terminal_size(unsigned int *rows, unsigned int *width)
{
	struct winsize size;

	*rows = 0;
	*width = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	if (size.ws_row >= 5)
		*rows = size.ws_row;
	*width = size.ws_col;
}

static void print(const struct sample *sample, double sum, bool batch,
		  bool first)
{
	struct table *table = sample_table(sample);
	unsigned int rows = 0, width = 0;
	char *heading;

	if (compch_json) {
		if (!first)
			putchar(',');
		json_newline(1);
		table_print_level(table, 1);
	} else {
		if (!batch) {
			terminal_size(&rows, &width);
			/* Home, and clear what is there. */
			fputs("\033[H\033[J", stdout);
		}
		if (asprintf(&heading, "%zu CQs on channels, %.1f events/s\n",
			     sample->records.count, sum) < 0)
			exit(compch_no_memory());
		text_print(heading, width);
		free(heading);
		/* Two lines of headings, and one for the cursor */
		table_print_part(table, rows ? rows - 3 : 0, width);
		if (batch)
			putchar('\n');
	}
	table_free(table);
}

static void rest(double seconds)
{
	struct timespec ts = { .tv_sec = seconds };

	ts.tv_nsec = (seconds - ts.tv_sec) * 1e9;
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int watch(double delay, unsigned long iterations, bool batch)
{
	struct sample before, sample;
	int status = EXIT_SUCCESS;
	unsigned long i;
	double sum;

	if (sample_take(&before))
		return EXIT_FAILURE;
	if (compch_json)
		putchar('[');
	for (i = 0; !status && (!iterations || i < iterations); i++) {
		rest(delay);
		if (sample_take(&sample)) {
			status = EXIT_FAILURE;
			break;
		}
		sum = sample_rates(&sample, &before);
		print(&sample, sum, batch, !i);
		sample_free(&before);
		before = sample;
		status = compch_flush(EXIT_SUCCESS);
	}
	sample_free(&before);
	/* It cannot be written, and that has been said. */
	if (status == EXIT_OWN_FAILURE)
		return status;
	if (compch_json) {
		json_newline(0);
		puts("]");
	}
	return compch_flush(status);
}

/**
 * compch_top_main() - "compch top"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_top_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ "iterations", required_argument, NULL, 'n' },
		{ "batch", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	bool batch = !isatty(STDOUT_FILENO);
	unsigned long iterations = 0;
	double delay = 2;
	int option;
	char *end;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+d:n:bh", options,
				     NULL)) != -1) {
		switch (option) {
		case 'd':
			errno = 0;
			delay = strtod(optarg, &end);
			/* So that NaN is none of these */
			if (errno || *end || end == optarg ||
			    !(delay > 0 && delay <= 86400)) {
				compch_error("top: '%s' is not a time between two looks",
					     optarg);
				return EXIT_USAGE;
			}
			break;
		case 'n':
			errno = 0;
			iterations = strtoul(optarg, &end, 10);
			if (errno || *end || !iterations || *optarg < '0' ||
			    *optarg > '9') {
				compch_error("top: '%s' is not how often to look",
					     optarg);
				return EXIT_USAGE;
			}
			break;
		case 'b':
			batch = true;
			break;
		case 'h':
			usage(stdout);
			return compch_flush(EXIT_SUCCESS);
		default:
			compch_error("top: '%s' is no option, or lacks its value; see 'compch top --help'",
				     argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		compch_error("top: there is no '%s'; see 'compch top --help'",
			     argv[optind]);
		return EXIT_USAGE;
	}
	if (compch_json && !iterations) {
		compch_error("top: JSON needs an end: give -n");
		return EXIT_USAGE;
	}
	return watch(delay, iterations, batch);
}
