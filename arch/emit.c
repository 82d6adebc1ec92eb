/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A detour has some 600 bytes, which fit, 30 labels, 20 fixups, and few of what is kept with it. */
#define FIRST_BYTES 1024
#define FIRST       32

void emit_fail(struct emit *e, int error)
{
	if (!e->error)
		e->error = error;
}

bool emit_grow(struct emit *e, void **array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? 2 * *cap : size == 1 ? FIRST_BYTES : FIRST;
	void *bigger;

	if (n < *cap)
		return true;
	while (want <= n)
		want *= 2;
	bigger = e->error ? NULL : realloc(*array, want * size);
	if (!bigger) {
		emit_fail(e, -ENOMEM);
		return false;
	}
	*array = bigger;
	*cap = want;
	return true;
}

void emit_init(struct emit *e, unsigned bits, uint64_t vaddr)
{
	memset(e, 0, sizeof(*e));
	e->bits = bits;
	e->vaddr = vaddr;
}

void emit_free(struct emit *e)
{
	free(e->code);
	free(e->labels);
	free(e->fixups);
	memset(e, 0, sizeof(*e));
}

int emit_finish(struct emit *e, emit_fix_fn *fix)
{
	for (size_t i = 0; i < e->n_fixups && !e->error; i++) {
		const struct emit_fixup *f = &e->fixups[i];

		if (!emit_is_set(e, f->label) || !fix(e, f, e->labels[f->label].at))
			e->error = -ERANGE;
	}
	return e->error;
}

int emit_take(struct emit *e, emit_fix_fn *fix, uint8_t *code, size_t max, size_t *ret_len)
{
	int rc = emit_finish(e, fix);

	if (rc == 0 && e->len > max)
		rc = -ENOSPC;
	if (rc == 0) {
		memcpy(code, e->code, e->len);
		*ret_len = e->len;
	}
	emit_free(e);
	return rc;
}

/* --- bytes ------------------------------------------------------------------------ */

void emit_fill(struct emit *e, size_t size, uint8_t byte)
{
	size_t n = (size - e->len % size) % size;
	uint8_t *at = n && !e->error ? emit_room(e, n) : NULL;

	if (!at)
		return;
	memset(at, byte, n);
	e->len += n;
}

/* --- labels ------------------------------------------------------------------------- */

label_t emit_label(struct emit *e)
{
	if (!emit_grow(e, (void **)&e->labels, e->n_labels, &e->cap_labels,
		       sizeof(e->labels[0])))
		return 0;
	e->labels[e->n_labels] = (struct emit_label){ 0 };
	return (label_t)e->n_labels++;
}

void emit_set(struct emit *e, label_t label)
{
	if (label < e->n_labels)
		e->labels[label] = (struct emit_label){ .at = e->len, .is_set = true };
}

label_t emit_here(struct emit *e)
{
	label_t label = emit_label(e);

	emit_set(e, label);
	return label;
}

bool emit_is_set(const struct emit *e, label_t label)
{
	return label < e->n_labels && e->labels[label].is_set;
}

uint32_t emit_at(const struct emit *e, label_t label)
{
	return emit_is_set(e, label) ? (uint32_t)e->labels[label].at : 0;
}

void emit_fixup(struct emit *e, label_t label, unsigned kind)
{
	if (emit_grow(e, (void **)&e->fixups, e->n_fixups, &e->cap_fixups,
		      sizeof(e->fixups[0])))
		e->fixups[e->n_fixups++] = (struct emit_fixup){ .at = (uint32_t)e->len,
								.label = label,
								.kind = kind };
}

/* --- marks -------------------------------------------------------------------------- */

void emit_mark(struct emit *e, unsigned kind)
{
	if (e->n_marks < EMIT_MARKS && e->len >= 4)
		e->marks[e->n_marks] = (struct emit_mark){ (uint32_t)e->len - 4, kind };
	e->n_marks += e->n_marks <= EMIT_MARKS;
}

void emit_unlike(struct emit *e)
{
	e->n_marks = EMIT_MARKS + 1;
}
