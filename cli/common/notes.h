/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What may be of use to know while a trace runs, told once on standard error: how many processes are traced, where all are; and why there may be no hit, when
 * there was none for some time.
 */

#ifndef UBP_CLI_COMMON_NOTES_H
#define UBP_CLI_COMMON_NOTES_H

#include <stdbool.h>
#include <stdint.h>

/* Whether, and after which time without a hit. Zeroed: where standard error is a terminal, after NOTES_NS. */
enum notes_when { NOTES_AUTO, NOTES_ALWAYS, NOTES_NEVER };
#define NOTES_NS (5 * 1000000000ULL)
struct notes_options {
	enum notes_when when;
	uint64_t after_ns; /* 0: NOTES_NS */
};

/* --notes: as .set of struct cli_option. */
int notes_set(void *into, const char *arg);

#endif
