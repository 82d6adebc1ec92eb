/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/record_mapped.h"

#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/os/maps.h"
#include "engine/recording/mapped_json.h"
#include "engine/recording/writer.h"
#include "engine/session/state.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/symbolise.h"

void record_mapped_note(struct record_mapped *mapped, uint32_t number)
{
	void **place;

	if (!number || number == mapped->last)
		return;
	mapped->last = number;
	place = map_place(&mapped->known, number);
	if (!place || *place ||
	    VEC_ROOM(mapped->untold, &mapped->cap_untold, mapped->n_untold) < 0)
		return;
	*place = mapped;
	mapped->untold[mapped->n_untold++] = number;
}

static json_t *make_mappings(struct ubp_session *s, pid_t pid, const struct maps *maps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		struct mapped_code code = {
			.start = m->start, .end = m->end, .foffset = m->foffset, .path = m->path
		};

		symboliser_identify(s->stacks.symboliser, pid, maps, m, &code);
		(void)json_array_append_new(list, mapped_code_to_json(&code));
	}
	return list;
}

int record_mapped_tell(struct ubp_session *s, struct record_mapped *mapped,
		       struct recording *to, struct ubp_err *err)
{
	json_t *list;

	if (!mapped->n_untold || !s->stacks.symboliser)
		return 0;
	list = json_array();
	for (size_t i = 0; i < mapped->n_untold; i++) {
		pid_t pid = 0;
		const struct maps *maps =
			stack_maps_set_get(s->stacks.maps, mapped->untold[i], &pid);

		/* Of a process that ended long ago. */
		if (maps)
			(void)json_array_append_new(
				list, json_pack("{s:I, s:i, s:o}", "maps",
						(json_int_t)mapped->untold[i], "pid", (int)pid,
						"mappings", make_mappings(s, pid, maps)));
	}
	mapped->n_untold = 0;
	return recording_add_json(to, RECORDING_MAPPED, list, err);
}

void record_mapped_forget(struct record_mapped *mapped)
{
	map_free(&mapped->known);
	free(mapped->untold);
	*mapped = (struct record_mapped){ 0 };
}
