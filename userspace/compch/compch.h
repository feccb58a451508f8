/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the commands of the tool share.
 */
#ifndef COMPCH_TOOL_H
#define COMPCH_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define COMPCH_LIBRARY	"libcompch.so.0"

/* Exit statuses; the last three are of "compch run" alone */
#define EXIT_USAGE		2
#define EXIT_OWN_FAILURE	125
#define EXIT_CANNOT_RUN		126
#define EXIT_NOT_FOUND		127

/* Options that stand before the command */
extern bool compch_json;
extern bool compch_pretty;

void compch_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
int compch_flush(int status);
bool compch_is_prefix(const char *word, const char *of);
bool compch_asks_help(int argc, char **argv);
int compch_no_memory(void);

int compch_run_main(int argc, char **argv);
int compch_dev_main(int argc, char **argv);
int compch_channel_main(int argc, char **argv);
int compch_cq_main(int argc, char **argv);
int compch_top_main(int argc, char **argv);
int compch_adopt_main(int argc, char **argv);
int compch_doctor_main(int argc, char **argv);

const char *compch_find_library(char *path, size_t size);

/* --- table.c: rows, as text or as JSON ------------------------------------ */

/**
 * struct column - a column of a table
 * @key: its name in JSON
 * @title: its heading, or NULL if it is not for people
 * @number: its values are to the right
 */
struct column {
	const char *key;
	const char *title;
	bool number;
};

enum cell_type {
	CELL_NONE,	/* not known */
	CELL_STRING,
	CELL_NUMBER,
	CELL_REAL,
	CELL_BOOL,
	CELL_LIST,	/* words, separated by commas */
};

struct table;

struct table *table_new(const struct column *columns, size_t count);
void table_free(struct table *table);
void table_row(struct table *table);
void table_string(struct table *table, const char *value);
void table_number(struct table *table, uint64_t value);
void table_real(struct table *table, double value);
void table_bool(struct table *table, bool value);
void table_list(struct table *table, const char *value);
void table_none(struct table *table);
void table_print(const struct table *table);
void table_print_part(const struct table *table, unsigned int rows,
		      unsigned int columns);
void table_print_level(const struct table *table, unsigned int level);
void json_newline(unsigned int level);
void text_clean(char *text);
void text_print(const char *text, unsigned int columns);

/* --- sys.c: files of the system ------------------------------------------- */

/* "" or where a copy of /sys, /proc and the like is */
extern const char *sys_root;

char *sys_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *sys_read(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool sys_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *sys_link_name(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
char **sys_list(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sys_list_free(char **names);
bool sys_is_name(const char *name);

/* --- device.c: RDMA devices ----------------------------------------------- */

enum extended {
	EXTENDED_NO,
	EXTENDED_YES,
	EXTENDED_UNKNOWN,
};

/**
 * struct device - an RDMA device
 * @name: its name
 * @uverbs: the name of its uverbs device, or NULL
 * @driver: that of its driver, or NULL
 * @abi: version of the module's interface, or 0
 * @extended: can it have channels of the module?
 * @why: if not, or if that is not known
 * @advice: and what to do then
 * @adoptable: not, and because it was there before the module
 */
struct device {
	char *name;
	char *uverbs;
	char *driver;
	unsigned int abi;
	enum extended extended;
	const char *why;
	const char *advice;
	bool adoptable;
};

struct device *device_get(const char *name);
void device_free(struct device *device);
char **device_list(void);

/* --- record.c: the lists of channels and CQs ------------------------------ */

#define RECORD_FIELDS	24

/**
 * struct record - a line "KEY=VALUE KEY=VALUE ..."
 * @line: its text, cut to pieces
 * @count: how many fields it has
 * @key: theirs
 * @value: theirs
 */
struct record {
	char *line;
	unsigned int count;
	const char *key[RECORD_FIELDS];
	const char *value[RECORD_FIELDS];
};

/**
 * struct records - a file of them
 * @count: how many
 * @all: all of them
 */
struct records {
	size_t count;
	struct record *all;
};

int records_read(struct records *records, const char *file);
void records_explain(const char *file, int error);
void records_free(struct records *records);
const char *record_get(const struct record *record, const char *key);
bool record_number(const struct record *record, const char *key,
		   uint64_t *value);
char *record_printable(const char *value);

/* --- netlink.c: the RDMA subsystem --------------------------------------- */

struct netlink;

struct netlink *netlink_open(void);
void netlink_close(struct netlink *netlink);
int netlink_get_shared(struct netlink *netlink, bool *shared);
int netlink_set_shared(struct netlink *netlink, bool shared);
int netlink_find(struct netlink *netlink, const char *device, uint32_t *index);
int netlink_move(struct netlink *netlink, uint32_t index, int netns);
int netlink_kernel_users(struct netlink *netlink, uint32_t index, char *users,
			 size_t size);

#endif /* COMPCH_TOOL_H */
