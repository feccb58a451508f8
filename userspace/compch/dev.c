// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch dev - RDMA devices, and what the module has there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compch.h"

static const struct column columns[] = {
	{ "device", "DEVICE" },
	{ "uverbs", "UVERBS" },
	{ "driver", "DRIVER" },
	{ "extended", "EXTENDED" },
	{ "abi_version", NULL },
	{ "channels", "CHANNELS", true },
	{ "cqs", "CQS", true },
	{ "events", "EVENTS", true },
	{ "reason", "WHY NOT" },
	{ "advice", NULL },
};

static void usage(FILE *out)
{
	fputs("usage: compch [-j [-p]] dev [show [DEVICE]]\n"
	      "\n"
	      "Every RDMA device: does the module ib_compch extend it, and if not, why?\n"
	      "Channels that were made on it, its CQs on channels, and events of these:\n"
	      "for root only.\n", out);
}

/* How many records are of this device, and how many events these have had? */
static uint64_t count(const struct records *records, const char *device,
		      uint64_t *events)
{
	static const char *const kinds[] = { "pending", "reported", "merged" };
	uint64_t found = 0, value;
	const char *name;
	size_t i, kind;

	*events = 0;
	for (i = 0; i < records->count; i++) {
		name = record_get(&records->all[i], "device");
		if (!name || strcmp(name, device))
			continue;
		found++;
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
			if (record_number(&records->all[i], kinds[kind],
					  &value))
				*events += value;
	}
	return found;
}

static void row(struct table *table, const struct device *device,
		const struct records *channels, const struct records *cqs)
{
	uint64_t events;

	table_row(table);
	table_string(table, device->name);
	table_string(table, device->uverbs);
	table_string(table, device->driver);
	if (device->extended == EXTENDED_UNKNOWN)
		table_none(table);
	else
		table_bool(table, device->extended == EXTENDED_YES);
	if (device->abi)
		table_number(table, device->abi);
	else
		table_none(table);
	if (channels)
		table_number(table, count(channels, device->name, &events));
	else
		table_none(table);
	if (cqs) {
		table_number(table, count(cqs, device->name, &events));
		table_number(table, events);
	} else {
		table_none(table);
		table_none(table);
	}
	table_string(table, device->why);
	table_string(table, device->advice);
}

/**
 * compch_dev_main() - "compch dev"
 * @argc: of the command
 * @argv: of the command, from its name on
 *
 * Return: an exit status
 */
int compch_dev_main(int argc, char **argv)
{
	struct records channels, cqs;
	bool have_channels, have_cqs;
	int status = EXIT_SUCCESS;
	struct table *table;
	struct device *device;
	char **names, **name;
	const char *only;

	if (compch_asks_help(argc, argv)) {
		usage(stdout);
		return compch_flush(EXIT_SUCCESS);
	}
	if (argc > 1 && compch_is_prefix(argv[1], "show")) {
		argc--;
		argv++;
	} else if (argc > 1) {
		compch_error("dev: there is no '%s'; see 'compch dev --help'",
			     argv[1]);
		return EXIT_USAGE;
	}
	only = argc > 1 ? argv[1] : NULL;
	if (argc > 2) {
		compch_error("dev: '%s' is one too many; see 'compch dev --help'",
			     argv[2]);
		return EXIT_USAGE;
	}

	table = table_new(columns, ARRAY_SIZE(columns));
	have_channels = !records_read(&channels, "channels");
	have_cqs = !records_read(&cqs, "cqs");
	names = device_list();
	for (name = names; *name; name++) {
		if (only && strcmp(*name, only))
			continue;
		device = device_get(*name);
		if (device)
			row(table, device, have_channels ? &channels : NULL,
			    have_cqs ? &cqs : NULL);
		device_free(device);
		if (only)
			break;
	}
	if (only && !*name) {
		compch_error("there is no RDMA device '%s'", only);
		status = EXIT_FAILURE;
	} else {
		table_print(table);
	}
	sys_list_free(names);
	table_free(table);
	records_free(&channels);
	records_free(&cqs);
	return compch_flush(status);
}
