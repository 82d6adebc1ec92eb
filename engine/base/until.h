/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What takes long, and is to end early when its caller says so. */

#ifndef UBP_BASE_UNTIL_H
#define UBP_BASE_UNTIL_H

#include <stdbool.h>

/*
 * Whenever .fd is readable, .is_over is asked, on the caller's thread: when it says so, what takes long is given up.
 */
struct ubp_until {
	int fd; /* -1: never */
	bool (*is_over)(void *ctx);
	void *ctx;
};

#endif
