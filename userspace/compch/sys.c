// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Files of the system, or of a copy of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compch.h"

const char *sys_root = "";

static char *path_of(const char *format, va_list args)
{
	char *relative, *path;

	if (vasprintf(&relative, format, args) < 0 ||
	    asprintf(&path, "%s%s", sys_root, relative) < 0)
		exit(compch_no_memory());
	free(relative);
	return path;
}

/**
 * sys_path() - where a file of the system is
 * @format: as for printf(): its absolute path
 *
 * Return: to be freed
 */
char *sys_path(const char *format, ...)
{
	va_list args;
	char *path;

	va_start(args, format);
	path = path_of(format, args);
	va_end(args);
	return path;
}

/**
 * sys_read() - read a file
 * @format: its path
 *
 * Return: all that is in it, without a newline at the end, to be freed; or NULL
 * with errno
 */
char *sys_read(const char *format, ...)
{
	size_t len = 0, room = 0;
	char *path, *text = NULL;
	va_list args;
	ssize_t ret;
	int fd, error;

	va_start(args, format);
	path = path_of(format, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = errno;
	free(path);
	if (fd < 0) {
		errno = error;
		return NULL;
	}
	do {
		if (len + 1 >= room) {
			room = room ? 4 * room : 4096;
			text = realloc(text, room);
			if (!text)
				exit(compch_no_memory());
		}
		ret = read(fd, text + len, room - 1 - len);
		if (ret > 0)
			len += ret;
	} while (ret > 0 || (ret < 0 && errno == EINTR));
	error = errno;
	close(fd);
	if (ret < 0) {
		free(text);
		errno = error;
		return NULL;
	}
	if (len && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return text;
}

/**
 * sys_exists() - is there a file?
 * @format: its path
 */
bool sys_exists(const char *format, ...)
{
	va_list args;
	char *path;
	bool is;

	va_start(args, format);
	path = path_of(format, args);
	va_end(args);
	is = !access(path, F_OK);
	free(path);
	return is;
}

/**
 * sys_link_name() - the last part of where a symbolic link points
 * @format: its path
 *
 * Return: to be freed, or NULL if there is no such link
 */
char *sys_link_name(const char *format, ...)
{
	char *path, target[PATH_MAX], *name;
	va_list args;
	ssize_t len;

	va_start(args, format);
	path = path_of(format, args);
	va_end(args);
	len = readlink(path, target, sizeof(target) - 1);
	free(path);
	if (len <= 0)
		return NULL;
	target[len] = '\0';
	name = strrchr(target, '/');
	name = strdup(name ? name + 1 : target);
	if (!name)
		exit(compch_no_memory());
	return name;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/**
 * sys_list() - what is in a directory
 * @format: its path
 *
 * Return: names in order, NULL after the last, to be freed by sys_list_free();
 * none if there is no directory
 */
char **sys_list(const char *format, ...)
{
	struct dirent **entries;
	char *path, **names;
	va_list args;
	int count, i;

	va_start(args, format);
	path = path_of(format, args);
	va_end(args);
	count = scandir(path, &entries, not_hidden, versionsort);
	free(path);
	if (count < 0)
		count = 0;
	names = calloc(count + 1, sizeof(*names));
	if (!names)
		exit(compch_no_memory());
	for (i = 0; i < count; i++) {
		names[i] = strdup(entries[i]->d_name);
		if (!names[i])
			exit(compch_no_memory());
		free(entries[i]);
	}
	if (count)
		free(entries);
	return names;
}

/**
 * sys_list_free() - free what sys_list() has returned
 * @names: that
 */
void sys_list_free(char **names)
{
	char **name;

	for (name = names; *name; name++)
		free(*name);
	free(names);
}

/**
 * sys_is_name() - could it be the name of a file in a directory?
 * @name: something that a person has typed
 */
bool sys_is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}
