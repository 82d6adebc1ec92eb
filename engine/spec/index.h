/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes by name and by place, so that tens of thousands can be defined. */

#ifndef UBP_SPEC_INDEX_H
#define UBP_SPEC_INDEX_H

#include <stddef.h>

#include "engine/base/map.h"
#include "engine/spec/spec.h"

#define SPEC_INDEX_LINKS 64

struct spec_index_links;

/* Zero-initialise; free with spec_index_clear(). Probes are not owned. */
struct spec_index {
	struct map links; /* by a hash of what is looked for */
	struct spec_index_links *made;
	size_t n_free; /* of the last ones that were made */
	size_t n;      /* probes of the table that are in it: the first ones */
};

/* Returns 0 or -ENOMEM; then the index must be cleared. */
int spec_index_add(struct spec_index *index, const struct spec_probe *probe);

/* A probe in the index has got its offset: it is found by that as well. */
int spec_index_resolved(struct spec_index *index, const struct spec_probe *probe);

void spec_index_clear(struct spec_index *index);

/* A probe of the same group and event, or NULL. */
const struct spec_probe *spec_index_event(const struct spec_index *index,
					  const struct spec_probe *probe);

/* One at the same place. */
const struct spec_probe *spec_index_place(const struct spec_index *index,
					  const struct spec_probe *probe);

/* One of the same event at the same place whose args have the same texts. */
const struct spec_probe *spec_index_twin(const struct spec_index *index,
					 const struct spec_probe *probe);

#endif
