/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the commands of the tool share.
 */
#ifndef COMPCH_TOOL_H
#define COMPCH_TOOL_H

/* Exit statuses that are not those of a program that was run */
#define EXIT_USAGE		2
#define EXIT_OWN_FAILURE	125
#define EXIT_CANNOT_RUN		126
#define EXIT_NOT_FOUND		127

void compch_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
int compch_flush(int status);

int compch_run_main(int argc, char **argv);

#endif /* COMPCH_TOOL_H */
