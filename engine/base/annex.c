/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/annex.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/vec.h"

static struct annex *find(const struct annexes *annexes, const struct annex_kind *kind)
{
	for (size_t i = 0; i < annexes->n; i++)
		if (annexes->v[i].kind == kind)
			return &annexes->v[i];
	return NULL;
}

void *annex_get(const struct annexes *annexes, const struct annex_kind *kind)
{
	const struct annex *annex = find(annexes, kind);

	return annex ? annex->kept : NULL;
}

int annex_put(struct annexes *annexes, const struct annex_kind *kind, void *kept)
{
	struct annex *annex = find(annexes, kind);

	if (annex) {
		kind->free(annex->kept);
		annex->kept = kept;
		return 0;
	}
	if (VEC_FIT(annexes->v, annexes->n + 1) < 0)
		return -ENOMEM;
	annexes->v[annexes->n++] = (struct annex){ kind, kept };
	return 0;
}

void *annex_make(struct annexes *annexes, const struct annex_kind *kind, size_t len)
{
	void *kept = annex_get(annexes, kind);

	if (kept)
		return kept;
	kept = calloc(1, len);
	if (kept && annex_put(annexes, kind, kept) < 0) {
		free(kept);
		kept = NULL;
	}
	return kept;
}

void annexes_free(struct annexes *annexes)
{
	while (annexes->n) {
		const struct annex *annex = &annexes->v[--annexes->n];

		annex->kind->free(annex->kept);
	}
	free(annexes->v);
	*annexes = (struct annexes){ 0 };
}
