/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What return probes keep of the entry, from there to the return: entry(EXPR). */

#ifndef UBP_HIT_ENTRY_VALUES_H
#define UBP_HIT_ENTRY_VALUES_H

#include "engine/hit/moment.h"
#include "engine/hit/state.h"
#include "engine/space/return_instance.h"

struct site;
struct uprobe;

/*
 * The function at @site is entered, with the registers of @m: what its return probes keep, to be freed with free(). NULL: they
 * keep nothing; or memory is short, and their returns know nothing of the entry.
 */
struct return_kept *entry_values_keep(struct hit *hit, struct moment *m,
				      const struct site *site);

/* What @probe has kept of @entry, or NULL. */
const struct entry_values *entry_values_of(const struct return_entry *entry,
					   const struct uprobe *probe);

#endif
