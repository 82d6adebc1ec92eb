/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/mapped_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/recording/text_json.h"

json_t *mapped_code_to_json(const struct mapped_code *code)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:o}", "start", (json_int_t)code->start,
				 "end", (json_int_t)code->end, "offset",
				 (json_int_t)code->foffset, "file", text_to_json(code->path));

	if (code->is_known)
		(void)json_object_set_new(json, "file_at",
					  json_integer((json_int_t)code->elf_vaddr));
	if (code->build_id[0])
		(void)json_object_set_new(json, "build_id", json_string(code->build_id));
	return json;
}

static uint64_t number(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

struct mapped_set {
	json_t *json;
	size_t n;
	struct mapped_code v[];
};

static bool code_of_json(const json_t *json, struct mapped_code *ret_code)
{
	const char *id = json_string_value(json_object_get(json, "build_id"));

	*ret_code = (struct mapped_code){
		.start = number(json, "start"),
		.end = number(json, "end"),
		.foffset = number(json, "offset"),
		.path = json_string_value(json_object_get(json, "file")),
		.is_known = json_is_integer(json_object_get(json, "file_at")),
		.elf_vaddr = number(json, "file_at"),
	};
	if (id)
		snprintf(ret_code->build_id, sizeof(ret_code->build_id), "%s", id);
	return ret_code->path && ret_code->start < ret_code->end;
}

static int compare_starts(const void *pa, const void *pb)
{
	const struct mapped_code *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

struct mapped_set *mapped_set_of_json(json_t *json)
{
	const json_t *list = json_object_get(json, "mappings"), *one;
	struct mapped_set *set =
		calloc(1, sizeof(*set) + json_array_size(list) * sizeof(set->v[0]));
	size_t i;

	if (!set)
		return NULL;
	set->json = json_incref(json);
	json_array_foreach(list, i, one)
	{
		if (code_of_json(one, &set->v[set->n]))
			set->n++;
	}
	qsort(set->v, set->n, sizeof(set->v[0]), compare_starts);
	return set;
}

void mapped_set_free(struct mapped_set *set)
{
	if (!set)
		return;
	json_decref(set->json);
	free(set);
}

const struct mapped_code *mapped_set_at(const struct mapped_set *set, uint64_t vaddr)
{
	size_t from = 0, to = set ? set->n : 0;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (set->v[middle].start <= vaddr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && vaddr < set->v[from - 1].end ? &set->v[from - 1] : NULL;
}
