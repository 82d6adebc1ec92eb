/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Back to the first instruction: a site behind a lead gives way. */

#ifndef UBP_PLANT_FIRST_H
#define UBP_PLANT_FIRST_H

#include <stdbool.h>

struct held;
struct plant;
struct site;

/*
 * @site is behind a lead: have its probes a breakpoint at that instead. The held thread, of its
 * space, may be gone afterwards. False: all is as it was, but a jump is a breakpoint, perhaps.
 */
bool site_to_first(struct plant *plant, const struct held *held, struct site *site);

#endif
