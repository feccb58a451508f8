// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * COMPCH= in the environment: whether to use channels of the kernel module.
 */
#include <stdlib.h>
#include <string.h>

#include "compch-private.h"

static pthread_once_t policy_once = PTHREAD_ONCE_INIT;
static enum compch_policy policy;

static void policy_read(void)
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
