// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The files "channels" and "cqs" in /sys/kernel/debug/compch/, which
 * Documentation/ABI/testing/debugfs-compch describes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compch.h"

#define DEBUGFS	"/sys/kernel/debug"

/* Cuts a line to pieces.  What is no field is left out. */
static void record_parse(struct record *record, char *line)
{
	char *word, *equals;

	record->line = line;
	record->count = 0;
	while ((word = strsep(&line, " "))) {
		equals = strchr(word, '=');
		if (!equals || record->count == RECORD_FIELDS)
			continue;
		*equals = '\0';
		record->key[record->count] = word;
		record->value[record->count++] = equals + 1;
	}
}

/**
 * records_read() - read one of the files
 * @records: to be freed by records_free(); has none on failure
 * @file: its name
 *
 * Return: 0 or an errno, for records_explain()
 */
int records_read(struct records *records, const char *file)
{
	size_t room = 0;
	char *text, *rest, *line;

	memset(records, 0, sizeof(*records));
	text = sys_read(DEBUGFS "/compch/%s", file);
	if (!text)
		return errno;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (records->count == room) {
			room = room ? 2 * room : 64;
			records->all = reallocarray(records->all, room,
						    sizeof(*records->all));
			if (!records->all)
				exit(compch_no_memory());
		}
		line = strdup(line);
		if (!line)
			exit(compch_no_memory());
		record_parse(&records->all[records->count++], line);
	}
	free(text);
	return 0;
}

/**
 * records_explain() - print why a file could not be read, and what to do
 * @file: its name
 * @error: what records_read() has returned
 */
void records_explain(const char *file, int error)
{
	if (error == EACCES || error == EPERM)
		compch_error(DEBUGFS "/compch/%s is for root", file);
	else if (error != ENOENT)
		compch_error(DEBUGFS "/compch/%s: %s", file, strerror(error));
	else if (!sys_exists("/sys/module/ib_compch"))
		compch_error("the module ib_compch is not loaded");
	else if (!sys_exists(DEBUGFS "/compch"))
		compch_error("debugfs is not mounted: mount -t debugfs debugfs "
			     DEBUGFS);
	else
		compch_error("the module ib_compch is older than this tool: it has no list of %s",
			     file);
}

/**
 * records_free() - free what records_read() has read
 * @records: that
 */
void records_free(struct records *records)
{
	size_t i;

	for (i = 0; i < records->count; i++)
		free(records->all[i].line);
	free(records->all);
	memset(records, 0, sizeof(*records));
}

/**
 * record_get() - the value of a field
 * @record: the record
 * @key: its name
 *
 * Return: the value, or NULL if there is none, or if it is "-"
 */
const char *record_get(const struct record *record, const char *key)
{
	unsigned int i;

	for (i = 0; i < record->count; i++)
		if (!strcmp(record->key[i], key))
			return strcmp(record->value[i], "-") ?
			       record->value[i] : NULL;
	return NULL;
}

/**
 * record_number() - the value of a field that is a number
 * @record: the record
 * @key: its name
 * @value: set to the value
 *
 * Return: whether there is one
 */
bool record_number(const struct record *record, const char *key,
		   uint64_t *value)
{
	const char *text = record_get(record, key);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) &&
		    is_octal(text[2]) && is_octal(text[3])) {
			*to++ = (text[1] - '0') * 64 + (text[2] - '0') * 8 +
				text[3] - '0';
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/**
 * record_printable() - a value as it is to be shown
 * @value: as record_get() has returned it
 *
 * A program gets it without the module's escapes for blanks and the like, a
 * terminal with them, and without anything that would do something there.
 *
 * Return: to be freed, or NULL if there is no value
 */
char *record_printable(const char *value)
{
	char *copy;

	if (!value)
		return NULL;
	copy = strdup(value);
	if (!copy)
		exit(compch_no_memory());
	if (compch_json)
		unescape(copy);
	else
		text_clean(copy);
	return copy;
}
