/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/entry_values.h"

#include <stdlib.h>

#include "engine/hit/record.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"

static unsigned count(const struct site *site)
{
	unsigned n = 0;

	for (size_t i = 0; i < site->n_probes; i++)
		n += site->probes[i]->at_hit.entry != NULL;
	return n;
}

struct return_kept *entry_values_keep(struct hit *hit, struct moment *m,
				      const struct site *site)
{
	unsigned n = count(site);
	struct return_kept *kept = n ? malloc(sizeof(*kept) + n * sizeof(kept->v[0])) : NULL;

	if (!kept)
		return NULL;
	kept->n = 0;
	for (size_t i = 0; i < site->n_probes; i++) {
		const struct uprobe *probe = site->probes[i];
		struct return_kept_one *one = &kept->v[kept->n];

		if (!probe->at_hit.entry)
			continue;
		one->since = probe->life.since;
		record_entry(hit, m, probe, site_probed(site, probe), &one->values);
		kept->n++;
	}
	return kept;
}

const struct entry_values *entry_values_of(const struct return_entry *entry,
					   const struct uprobe *probe)
{
	for (unsigned i = 0; entry->kept && i < entry->kept->n; i++)
		if (entry->kept->v[i].since == probe->life.since)
			return &entry->kept->v[i].values;
	return NULL;
}
