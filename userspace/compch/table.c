// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rows of values, printed as text in columns or as an array of JSON objects.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compch.h"

/**
 * struct cell - a value
 * @type: of what kind
 * @text: as a person reads it
 * @number: its value, if it has one
 */
struct cell {
	enum cell_type type;
	char *text;
	uint64_t number;
};

/**
 * struct table - rows of cells
 * @columns: what they are
 * @count: how many
 * @cells: all of them, row by row
 * @used: how many there are
 * @room: how many fit
 */
struct table {
	const struct column *columns;
	size_t count;
	struct cell *cells;
	size_t used;
	size_t room;
};

/**
 * table_new() - make a table without a row
 * @columns: its columns, which stay the caller's
 * @count: how many
 *
 * Return: the table; there is no going on without memory
 */
struct table *table_new(const struct column *columns, size_t count)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		exit(compch_no_memory());
	table->columns = columns;
	table->count = count;
	return table;
}

/**
 * table_free() - free a table
 * @table: the table
 */
void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->used; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table);
}

/**
 * table_row() - begin a row, whose cells come next, one for each column
 * @table: the table
 */
void table_row(struct table *table)
{
	/* The one before is complete. */
	if (table->used % table->count)
		abort();
}

static void table_add(struct table *table, enum cell_type type, char *text,
		      uint64_t number)
{
	struct cell *cell;

	if (table->used == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cells = reallocarray(table->cells, table->room,
					    sizeof(*table->cells));
	}
	if (!table->cells || !text)
		exit(compch_no_memory());
	cell = &table->cells[table->used++];
	cell->type = type;
	cell->text = text;
	cell->number = number;
}

/**
 * table_string() - the next cell is text
 * @table: the table
 * @value: the text, or NULL if there is none
 */
void table_string(struct table *table, const char *value)
{
	if (value)
		table_add(table, CELL_STRING, strdup(value), 0);
	else
		table_none(table);
}

/**
 * table_list() - the next cell is a list of words
 * @table: the table
 * @value: the words, with commas in between; none in ""
 */
void table_list(struct table *table, const char *value)
{
	table_add(table, CELL_LIST, strdup(value), 0);
}

/**
 * table_number() - the next cell is a number
 * @table: the table
 * @value: the number
 */
void table_number(struct table *table, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	table_add(table, CELL_NUMBER, strdup(text), value);
}

/**
 * table_real() - the next cell is a number with one digit after the point
 * @table: the table
 * @value: the number
 */
void table_real(struct table *table, double value)
{
	char *text;

	if (asprintf(&text, "%.1f", value) < 0)
		text = NULL;
	table_add(table, CELL_REAL, text, 0);
}

/**
 * table_bool() - the next cell is yes or no
 * @table: the table
 * @value: which
 */
void table_bool(struct table *table, bool value)
{
	table_add(table, CELL_BOOL, strdup(value ? "yes" : "no"), value);
}

/**
 * table_none() - the value of the next cell is not known
 * @table: the table
 */
void table_none(struct table *table)
{
	table_add(table, CELL_NONE, strdup("-"), 0);
}

/* --- characters ------------------------------------------------------------ */

/* Bytes of the UTF-8 character that the text begins with, or 0 */
static size_t utf8_length(const unsigned char *text)
{
	size_t len, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xc2 && text[0] < 0xe0)
		len = 2;
	else if (text[0] >= 0xe0 && text[0] < 0xf0)
		len = 3;
	else if (text[0] >= 0xf0 && text[0] < 0xf5)
		len = 4;
	else
		return 0;
	for (i = 1; i < len; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than needed, half of a pair, or too large */
	if ((text[0] == 0xe0 && text[1] < 0xa0) ||
	    (text[0] == 0xed && text[1] >= 0xa0) ||
	    (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] >= 0x90))
		return 0;
	return len;
}

/* Does it move the cursor, or worse?  Some of these have two bytes. */
static bool is_control(const unsigned char *text, size_t len)
{
	if (len == 1)
		return *text < 0x20 || *text == 0x7f;
	return len == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

/**
 * text_clean() - replace what would do something on a terminal
 * @text: anything; it does not become longer
 *
 * So is what is not UTF-8, for a terminal may take it for another character set.
 */
void text_clean(char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t len;

	while (*from) {
		len = utf8_length(from);
		if (!len || is_control(from, len)) {
			*text++ = '?';
			from += len ? len : 1;
			continue;
		}
		memmove(text, from, len);
		text += len;
		from += len;
	}
	*text = '\0';
}

/* --- text ------------------------------------------------------------------ */

static const char *cell_text(const struct cell *cell)
{
	return cell->text[0] ? cell->text : "-";
}

static void text_cell(FILE *out, const char *text, int width, bool right,
		      bool last)
{
	if (right)
		fprintf(out, "%*s", width, text);
	else
		fprintf(out, "%-*s", last ? 0 : width, text);
	fputs(last ? "\n" : "  ", out);
}

static void table_text(const struct table *table, FILE *out,
		       unsigned int max_rows)
{
	size_t rows = table->used / table->count, row, i, last = 0;
	int *width = calloc(table->count, sizeof(*width));
	int len;

	if (!width)
		exit(compch_no_memory());
	if (max_rows && rows > max_rows)
		rows = max_rows;
	for (i = 0; i < table->count; i++) {
		if (!table->columns[i].title)
			continue;
		last = i;
		width[i] = strlen(table->columns[i].title);
		for (row = 0; row < rows; row++) {
			len = strlen(cell_text(&table->cells[row * table->count +
							     i]));
			if (len > width[i])
				width[i] = len;
		}
	}
	for (i = 0; rows && i <= last; i++)
		if (table->columns[i].title)
			text_cell(out, table->columns[i].title, width[i],
				  table->columns[i].number, i == last);
	for (row = 0; row < rows; row++)
		for (i = 0; i <= last; i++)
			if (table->columns[i].title)
				text_cell(out,
					  cell_text(&table->cells[row *
								  table->count +
								  i]),
					  width[i], table->columns[i].number,
					  i == last);
	free(width);
}

/**
 * text_print() - print lines, or their beginnings
 * @text: whole lines
 * @columns: how long they may be; 0 for as long as they are
 *
 * A character is taken to be as wide as it has bytes: it is never less.
 */
void text_print(const char *text, unsigned int columns)
{
	const char *end;
	size_t len;

	for (; *text; text = end + 1) {
		end = strchr(text, '\n');
		len = end - text;
		if (columns && len > columns) {
			len = columns;
			while (len && (text[len] & 0xc0) == 0x80)
				len--;
		}
		fwrite(text, 1, len, stdout);
		putchar('\n');
	}
}

/* --- JSON ------------------------------------------------------------------ */

static void json_string(const char *string, size_t size)
{
	const unsigned char *text = (const unsigned char *)string;
	const unsigned char *end = text + size;
	size_t len;

	putchar('"');
	while (text < end) {
		len = utf8_length(text);
		if (!len) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (is_control(text, len)) {
			/* That of a C1 character is its second byte. */
			printf("\\u%04x", text[len - 1]);
		} else {
			if (*text == '"' || *text == '\\')
				putchar('\\');
			fwrite(text, 1, len, stdout);
		}
		text += len;
	}
	putchar('"');
}

/* Words with commas in between */
static void json_list(const char *words)
{
	const char *end;

	putchar('[');
	for (; *words; words = *end ? end + 1 : end) {
		end = strchrnul(words, ',');
		json_string(words, end - words);
		if (*end)
			putchar(',');
	}
	putchar(']');
}

static void json_value(const struct cell *cell)
{
	switch (cell->type) {
	case CELL_NONE:
		fputs("null", stdout);
		break;
	case CELL_STRING:
		json_string(cell->text, strlen(cell->text));
		break;
	case CELL_NUMBER:
	case CELL_REAL:
		fputs(cell->text, stdout);
		break;
	case CELL_BOOL:
		fputs(cell->number ? "true" : "false", stdout);
		break;
	case CELL_LIST:
		json_list(cell->text);
		break;
	}
}

/**
 * json_newline() - a new line, if the output is to be pretty
 * @level: how far it begins to the right
 */
void json_newline(unsigned int level)
{
	if (compch_pretty)
		printf("\n%*s", 4 * (int)level, "");
}

/**
 * table_print_level() - print a table as JSON, without a newline at the end
 * @table: the table
 * @level: arrays and objects around it
 */
void table_print_level(const struct table *table, unsigned int level)
{
	size_t i, column;

	putchar('[');
	for (i = 0; i < table->used; i++) {
		column = i % table->count;
		if (!column) {
			if (i)
				putchar(',');
			json_newline(level + 1);
			putchar('{');
		} else {
			putchar(',');
		}
		json_newline(level + 2);
		json_string(table->columns[column].key,
			    strlen(table->columns[column].key));
		fputs(compch_pretty ? ": " : ":", stdout);
		json_value(&table->cells[i]);
		if (column == table->count - 1) {
			json_newline(level + 1);
			putchar('}');
		}
	}
	if (table->used)
		json_newline(level);
	putchar(']');
}

/**
 * table_print() - print a table, as text or JSON
 * @table: the table
 */
void table_print(const struct table *table)
{
	if (!compch_json) {
		table_text(table, stdout, 0);
		return;
	}
	table_print_level(table, 0);
	putchar('\n');
}

/**
 * table_print_part() - print what there is room for of a table, as text
 * @table: the table
 * @rows: how many; 0 for all
 * @columns: as for text_print()
 */
void table_print_part(const struct table *table, unsigned int rows,
		      unsigned int columns)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		exit(compch_no_memory());
	table_text(table, out, rows);
	if (fclose(out))
		exit(compch_no_memory());
	text_print(text, columns);
	free(text);
}
