/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The order of a histogram's entries: the kernel's, which is fixed even among equal ones. */

#ifndef UBP_TRIGGER_HIST_SORT_H
#define UBP_TRIGGER_HIST_SORT_H

#include "engine/trigger/hist.h"

/* All entries, to be freed with free(). NULL: there are none, or memory is short. */
struct hist_entry **hist_sorted(const struct hist *hist);

#endif
