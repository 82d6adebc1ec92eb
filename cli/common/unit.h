/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers as people read them: 1.50ms, 4.00KiB. */

#ifndef UBP_CLI_COMMON_UNIT_H
#define UBP_CLI_COMMON_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#define UNIT_TEXT_MAX 64

enum unit { UNIT_NONE, UNIT_NS, UNIT_BYTES };

/* Into UNIT_TEXT_MAX bytes at @text. @is_signed: @number is to be seen as int64_t. */
void unit_text(char *text, uint64_t number, bool is_signed, enum unit unit);

#endif
