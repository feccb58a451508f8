// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the environment asks for: COMPCH, whether to use channels of the kernel
 * module; COMPCH_DESTROY_WARN_MS and COMPCH_AUTO_ACK, what to do about events
 * that are not acknowledged.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compch-private.h"

static pthread_once_t policy_once = PTHREAD_ONCE_INIT;
static enum compch_policy policy;
static unsigned int policy_warn_ms = 5000;
static bool policy_auto_ack;

/* A number of at most @max, in decimal digits alone; others are reported. */
static void policy_number(const char *name, unsigned long max,
			  unsigned int *number)
{
	const char *value = secure_getenv(name);
	unsigned long got;
	char *end;

	if (!value || !*value)
		return;
	errno = 0;
	got = strtoul(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno || got > max)
		compch_complain("%s=%.32s is not a number of at most %lu; using %u",
				name, value, max, *number);
	else
		*number = got;
}

static void policy_read_channels(void)
{
	static const struct {
		const char *name;
		enum compch_policy policy;
	} names[] = {
		{ "", COMPCH_POLICY_AUTO },
		{ "auto", COMPCH_POLICY_AUTO },
		{ "off", COMPCH_POLICY_OFF },
		{ "require", COMPCH_POLICY_REQUIRE },
	};
	const char *value = secure_getenv("COMPCH");
	size_t i;

	if (!value)
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(value, names[i].name)) {
			policy = names[i].policy;
			return;
		}
	}
	compch_complain("COMPCH=%.32s is not auto, off or require; using auto",
			value);
}

static void policy_read(void)
{
	unsigned int auto_ack = 0;
	int saved = errno;

	policy_read_channels();
	policy_number("COMPCH_DESTROY_WARN_MS", UINT_MAX, &policy_warn_ms);
	policy_number("COMPCH_AUTO_ACK", 1, &auto_ack);
	policy_auto_ack = auto_ack;
	errno = saved;
}

/**
 * compch_policy() - what COMPCH= in the environment asks for
 *
 * The environment is read once, when the first verb is called.  A program that
 * runs with more privileges than its caller ignores it.
 */
enum compch_policy compch_policy(void)
{
	pthread_once(&policy_once, policy_read);
	return policy;
}

/**
 * compch_policy_warn_ms() - COMPCH_DESTROY_WARN_MS
 *
 * Return: after how many milliseconds ibv_destroy_cq() says that it waits for
 * acknowledgements; 0: never.
 */
unsigned int compch_policy_warn_ms(void)
{
	pthread_once(&policy_once, policy_read);
	return policy_warn_ms;
}

/**
 * compch_policy_auto_ack() - COMPCH_AUTO_ACK
 *
 * Return: whether ibv_destroy_cq() acknowledges what is not acknowledged.
 */
bool compch_policy_auto_ack(void)
{
	pthread_once(&policy_once, policy_read);
	return policy_auto_ack;
}
