// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Where the tracepoints are made. */

#define CREATE_TRACE_POINTS
#include "trace.h"
