/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the user is told while something is added. */

#ifndef UBP_DEFINE_TELL_H
#define UBP_DEFINE_TELL_H

struct definitions;

/* By .opt.warn, if there is one. */
__attribute__((format(printf, 2, 3))) void definitions_warn(const struct definitions *defs,
							    const char *fmt, ...);

#endif
