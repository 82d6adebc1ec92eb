/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/heap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/texts.h"
#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/session/apart_counts.h"
#include "engine/session/inside.h"
#include "engine/session/sample.h"
#include "engine/sink/folded.h"
#include "engine/sink/json.h"
#include "engine/spec/spec.h"
#include "engine/tally/blocks.h"
#include "engine/tally/sample.h"
#include "engine/tally/tally.h"
#include "engine/tally/text.h"
#include "engine/ubp_heap.h"

/* One probe, by its number. */
struct heap_probe {
	enum { HEAP_NOTHING, HEAP_ALLOCATES, HEAP_FREES } does;
	bool has_size;
	struct tally_field address, size;
};

struct session_heap {
	struct blocks *blocks;
	struct texts stacks;
	struct sink_buf stack; /* the one that is counted next */
	struct heap_probe *probes;
	size_t n_probes;
	bool is_short;
};

void session_heap_free(struct ubp_session *s)
{
	struct session_heap *h = s->out.heap;

	if (!h)
		return;
	blocks_free(h->blocks);
	texts_free(&h->stacks);
	sink_buf_free(&h->stack);
	free(h->probes);
	free(h);
	s->out.heap = NULL;
}

/* --- hits --------------------------------------------------------------------------------- */

static uint64_t bytes_of(struct ubp_session *s, const struct heap_probe *p,
			 const struct event_record *record)
{
	uint64_t weight = session_sample_weight(s, record),
		 size = p->has_size ? tally_field_value(&p->size, record) : 1;

	if (!weight)
		return size;
	/* Of hits, or of what was added up. */
	return s->out.sample->arg[0] ? weight : weight * size;
}

static int add(struct ubp_session *s, const struct heap_probe *p, uint64_t vaddr,
	       const struct event_record *record)
{
	struct session_heap *h = s->out.heap;
	int64_t number;

	h->stack.len = 0;
	sink_folded_stack(&h->stack, record, stacks_resolver(s));
	if (!h->stack.data || h->stack.failed)
		return -ENOMEM;
	number = texts_number(&h->stacks, h->stack.data, h->stack.len);
	if (number < 0)
		return (int)number;
	return blocks_add(h->blocks, (uint32_t)record->pid, vaddr, bytes_of(s, p, record),
			  (uint64_t)number);
}

bool session_heap_took(struct ubp_session *s, const struct event_record *record)
{
	struct session_heap *h = s->out.heap;
	const struct heap_probe *p;
	uint64_t vaddr;

	if (!h || record->kind != EVENT_HIT || record->probe >= h->n_probes)
		return false;
	p = &h->probes[record->probe];
	if (p->does == HEAP_NOTHING)
		return false;
	vaddr = tally_field_value(&p->address, record);
	if (!vaddr)
		return true;
	if (p->does == HEAP_FREES)
		blocks_take(h->blocks, (uint32_t)record->pid, vaddr);
	else if (add(s, p, vaddr, record) < 0)
		h->is_short = true;
	return true;
}

/* --- what probes do ----------------------------------------------------------------------- */

static int bind(const char *name, size_t len, const struct spec_probe *spec,
		struct tally_field *ret_field, struct ubp_err *err)
{
	struct tally_text_value text = { .kind = TALLY_SUM };
	struct tally_value value;
	int rc;

	if (len == 0 || len >= sizeof(text.name))
		return ubp_fail(err, EINVAL, "'%.*s' is no name of an argument", (int)len,
				name);
	memcpy(text.name, name, len);
	rc = tally_text_bind_value(&text, spec, &value, err);
	if (rc == 0)
		*ret_field = value.field;
	return rc;
}

static struct session_heap *heap_of(struct ubp_session *s)
{
	struct session_heap *h = s->out.heap;

	if (h)
		return h;
	h = s->out.heap = calloc(1, sizeof(*h));
	if (h)
		h->blocks = blocks_new();
	if (h && !h->blocks)
		session_heap_free(s);
	return s->out.heap;
}

static int set(struct ubp_session *s, size_t i, const struct heap_probe *probe,
	       struct ubp_err *err)
{
	struct session_heap *h = heap_of(s);

	while (h && h->n_probes <= i) {
		if (VEC_DOUBLE(h->probes, h->n_probes) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		h->probes[h->n_probes++] = (struct heap_probe){ 0 };
	}
	if (!h)
		return ubp_fail(err, ENOMEM, "out of memory");
	h->probes[i] = *probe;
	return 0;
}

/* Stacks, and a probe that is defined. */
static int check(const struct ubp_session *s, size_t i, struct ubp_err *err)
{
	int rc = session_check_new(s, err);

	if (rc == 0 && i >= definitions_n(s->defined))
		rc = ubp_fail(err, EINVAL, "no such probe is defined");
	if (rc == 0 && s->opt.stack == UBP_STACK_NONE)
		rc = ubp_fail(err, EINVAL, "no stacks are recorded");
	return rc;
}

int ubp_heap_allocates(struct ubp_session *s, size_t i, const char *text, struct ubp_err *err)
{
	const char *colon = text ? strrchr(text, ':') : NULL;
	struct heap_probe probe = { .does = HEAP_ALLOCATES, .has_size = colon };
	int rc = ubp_need(text, "argument", err);

	if (rc == 0 && !s->tracing.apart)
		rc = check(s, i, err);
	if (rc == 0 && s->tracing.apart)
		return apart_heap(s, i, false, text, err);
	if (rc == 0)
		rc = bind(text, colon ? (size_t)(colon - text) : strlen(text),
			  definitions_spec(s->defined, i), &probe.address, err);
	if (rc == 0 && colon)
		rc = bind(colon + 1, strlen(colon + 1), definitions_spec(s->defined, i),
			  &probe.size, err);
	return rc < 0 ? rc : set(s, i, &probe, err);
}

int ubp_heap_frees(struct ubp_session *s, size_t i, const char *text, struct ubp_err *err)
{
	struct heap_probe probe = { .does = HEAP_FREES };
	int rc = ubp_need(text, "argument", err);

	if (rc == 0 && !s->tracing.apart)
		rc = check(s, i, err);
	if (rc == 0 && s->tracing.apart)
		return apart_heap(s, i, true, text, err);
	if (rc == 0)
		rc = bind(text, strlen(text), definitions_spec(s->defined, i), &probe.address,
			  err);
	if (rc == 0)
		rc = set(s, i, &probe, err);
	if (rc == 0)
		definitions_uprobe(s->defined, i)->at_hit.no_stack = true;
	return rc;
}

/* --- what there is ------------------------------------------------------------------------ */

size_t ubp_heap_n(const struct ubp_session *s)
{
	if (s->tracing.apart)
		return apart_heap_n(s);
	return s->out.heap ? blocks_n(s->out.heap->blocks) : 0;
}

void ubp_heap_row(const struct ubp_session *s, size_t i, struct ubp_heap_row *ret_row)
{
	const struct blocks_row *row;

	if (s->tracing.apart) {
		apart_heap_row(s, i, ret_row);
		return;
	}
	row = blocks_row(s->out.heap->blocks, i);
	*ret_row = (struct ubp_heap_row){ .stack = texts_get(&s->out.heap->stacks, i),
					  .live = row->live,
					  .allocated = row->allocated,
					  .n_live = row->n_live,
					  .n_allocated = row->n_allocated };
}

bool ubp_heap_is_short(const struct ubp_session *s)
{
	if (s->tracing.apart)
		return apart_heap_is_short(s);
	return s->out.heap && s->out.heap->is_short;
}

const char *ubp_heap_json(struct ubp_session *s, const struct ubp_heap_row *row,
			  size_t *ret_len)
{
	struct sink_buf *to = &s->out.texts.arg;
	size_t len = strcspn(row->stack, ";");

	to->len = 0;
	sink_buf_add_text(to, "{\"key\":{\"comm\":");
	sink_json_quoted(to, row->stack, len);
	sink_buf_add_text(to, ",\"ustack\":");
	sink_json_functions(to, row->stack[len] ? row->stack + len + 1 : "");
	sink_buf_printf(to,
			"},\"live\":%" PRIu64 ",\"allocated\":%" PRIu64
			",\"live_hits\":%" PRIu64 ",\"hits\":%" PRIu64 "}\n",
			row->live, row->allocated, row->n_live, row->n_allocated);
	*ret_len = to->failed ? 0 : to->len;
	return to->failed ? NULL : to->data;
}
