/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Descriptors that are kept for work that must not fail for want of one later. */

#ifndef UBP_BASE_SPARE_H
#define UBP_BASE_SPARE_H

#include <stdbool.h>

enum { SPARE_N = 8 };

/* All zero: none is kept. */
struct spare {
	bool is_kept;
	int fds[SPARE_N];
};

/* Open all of them, if they are not kept yet. False: so many are not left; none is kept. errno. */
bool spare_keep(struct spare *spare);
/* Close them: the work is to be done. */
void spare_use(struct spare *spare);

#endif
