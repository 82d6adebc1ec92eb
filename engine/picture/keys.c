/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/probe_kind.h"
#include "engine/base/vec.h"
#include "engine/spec/spec.h"

uint32_t keys_name(struct names *names, const char *text)
{
	char buf[ESCAPE_BYTE_MAX * (SPEC_NAME_MAX + 1)];
	size_t len = strnlen(text, SPEC_NAME_MAX);

	return names_find(names, buf, (size_t)(escape_put(buf, text, len) - buf));
}

static uint64_t place_of(const struct spec_probe *probe)
{
	if (probe->is_made || !probe->path)
		return hash_text(hash_text(1, probe->group), probe->event);
	return hash_number(hash_text(2, probe->path), probe->offset);
}

int keys_begin(struct picture_keys *keys)
{
	if (VEC_ROOM(keys->v, &keys->cap, 0) < 0)
		return -ENOMEM;
	keys->v[0] = (struct picture_key){ .name = NAMES_OTHER };
	keys->n = 1;
	return 0;
}

uint16_t keys_find(struct picture_keys *keys, struct names *names,
		   const struct spec_probe *probe)
{
	uint64_t place = place_of(probe);
	uintptr_t at = (uintptr_t)map_get(&keys->by_place, place);
	bool is_entry = probe->kind != PROBE_RETURN;
	struct picture_key *key;

	if (!at) {
		at = keys->n;
		if (at >= PICTURE_KEYS_MAX || VEC_ROOM(keys->v, &keys->cap, at) < 0 ||
		    map_put(&keys->by_place, place, (void *)at) < 0)
			return 0;
		keys->v[keys->n++] =
			(struct picture_key){ .name = keys_name(names, probe->event),
					      .has_entry = is_entry };
	}
	key = &keys->v[at];
	if (is_entry && !key->has_entry) {
		key->name = keys_name(names, probe->event);
		key->has_entry = true;
	}
	return (uint16_t)at;
}

void keys_free(struct picture_keys *keys)
{
	free(keys->v);
	map_free(&keys->by_place);
	*keys = (struct picture_keys){ 0 };
}
