/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Part of the public interface: what takes long, and is to end early when its caller says so. */

#ifndef UBP_UNTIL_H
#define UBP_UNTIL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Whenever .fd is readable, .is_over is asked, on the caller's thread: when it says so, what takes long is given up.
 */
struct ubp_until {
	int fd; /* -1: never */
	bool (*is_over)(void *ctx);
	void *ctx;
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
