/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The size of a page: there are no targets with others (README.md, Limits). */

#ifndef UBP_BASE_PAGE_H
#define UBP_BASE_PAGE_H

#define PAGE 4096ULL

#endif
