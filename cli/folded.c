/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/folded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

struct folded_stack {
	struct folded_stack *next; /* of the same hash */
	uint64_t n;
	size_t len;
	char text[];
};

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return hash;
}

void folded_add(struct folded *folded, const char *stack, size_t len)
{
	uint64_t hash = hash_of(stack, len);
	struct folded_stack *first = map_get(&folded->by_hash, hash), *s = first;

	while (s && (s->len != len || memcmp(s->text, stack, len) != 0))
		s = s->next;
	if (s) {
		s->n++;
		return;
	}
	s = malloc(sizeof(*s) + len + 1);
	if (!s || map_put(&folded->by_hash, hash, s) < 0) {
		free(s);
		folded->failed = true;
		return;
	}
	*s = (struct folded_stack){ .next = first, .n = 1, .len = len };
	memcpy(s->text, stack, len);
	s->text[len] = '\0';
	folded->n++;
}

static int compare(const void *a, const void *b)
{
	return strcmp((*(const struct folded_stack *const *)a)->text,
		      (*(const struct folded_stack *const *)b)->text);
}

void folded_print(struct folded *folded, struct output *out)
{
	const struct folded_stack **all = calloc(folded->n + 1, sizeof(struct folded_stack *));
	size_t n = 0, pos = 0;
	void *value;

	if (!all) {
		folded->failed = true;
		return;
	}
	while (map_next(&folded->by_hash, &pos, NULL, &value))
		for (const struct folded_stack *s = value; s; s = s->next)
			all[n++] = s;
	qsort(all, n, sizeof(all[0]), compare);
	for (size_t i = 0; i < n; i++)
		output_printf(out, "%s %" PRIu64 "\n", all[i]->text, all[i]->n);
	free(all);
}

void folded_free(struct folded *folded)
{
	size_t pos = 0;
	void *value;

	while (map_next(&folded->by_hash, &pos, NULL, &value))
		for (struct folded_stack *s = value, *next; s; s = next) {
			next = s->next;
			free(s);
		}
	map_free(&folded->by_hash);
	*folded = (struct folded){ 0 };
}
