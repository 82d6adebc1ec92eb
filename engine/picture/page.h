/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The page around the data: bundled from page/ when the program is made. */

#ifndef UBP_PICTURE_PAGE_H
#define UBP_PICTURE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* What stands before and behind the data. Both are empty where there was no npm. */
extern const char picture_page_head[], picture_page_tail[];
size_t picture_page_head_len(void);
size_t picture_page_tail_len(void);

#endif
