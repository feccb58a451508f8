// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Messages for people.  A library in somebody else's program has little to
 * say: only what COMPCH= asked for and cannot be had.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "compch-private.h"

/**
 * compch_complain() - print one line on standard error
 * @format: as for printf(), without the newline
 *
 * One write(), so that lines of several threads do not mix.  Preserves errno.
 */
void compch_complain(const char *format, ...)
{
	int saved = errno;
	char line[512];
	va_list args;
	size_t len;
	int state;

	len = snprintf(line, sizeof(line), "libcompch: ");
	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	while (line[len])
		len++;
	line[len++] = '\n';
	state = compch_cancel_off();
	if (write(STDERR_FILENO, line, len) < 0) {
		/* There is nobody to tell. */
	}
	compch_cancel_on(state);
	errno = saved;
}
