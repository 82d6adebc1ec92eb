/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What all small assemblers share (arch/NAME/emit.h): bytes into a buffer that grows, labels that
 * may be used before they are set. Errors (out of memory, a distance that does not fit) are kept
 * until emit_finish(). Thousands of detours are made of single bytes, so putting one is inline.
 */

#ifndef UBP_ARCH_EMIT_H
#define UBP_ARCH_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t label_t;

/* A place that depends on where a label is. */
struct emit_fixup {
	uint32_t at;
	label_t label;
	unsigned kind; /* the instruction set knows */
};

/* 4 bytes that another code like this one has otherwise (arch/gen_like.h): a distance from behind them, a probe's number; where its switch
 * is in struct ring_head, with the switch's bit in the byte behind; how far behind a ring's start its counter is. */
struct emit_mark {
	uint32_t at;
	enum { MARK_DISTANCE, MARK_NUMBER, MARK_SWITCH, MARK_COUNTER } kind;
};

#define EMIT_MARKS 16

struct emit {
	unsigned bits;  /* of addresses: 64, 32 */
	uint64_t vaddr; /* of code[0] */
	uint8_t *code;
	size_t len, cap;
	struct emit_label {
		size_t at;
		bool is_set;
	} * labels;
	size_t n_labels, cap_labels;
	struct emit_fixup *fixups;
	size_t n_fixups, cap_fixups;
	struct emit_mark marks[EMIT_MARKS];
	size_t n_marks; /* more than there is room for: no other code is made like this one */
	int error; /* 0, -ENOMEM, -ERANGE; -EINVAL: what the instruction set does not have */
};

/* Fill in what @fixup asks for; its label is at offset @to. False: out of range. */
typedef bool emit_fix_fn(struct emit *e, const struct emit_fixup *fixup, size_t to);

void emit_init(struct emit *e, unsigned bits, uint64_t vaddr);
void emit_free(struct emit *e);
/* Fill in all that depends on labels. Returns 0, or .error; -ERANGE: a label was never set. */
int emit_finish(struct emit *e, emit_fix_fn *fix);
/* The same, then the code goes to @code, *ret_len bytes, and @e is freed. Returns 0 or as emit_finish(); -ENOSPC: more than @max. */
int emit_take(struct emit *e, emit_fix_fn *fix, uint8_t *code, size_t max, size_t *ret_len);
/* Keep an error, if it is the first. */
void emit_fail(struct emit *e, int error);

/*
 * Room for one more in an array of @n of @cap elements of @size bytes; false and the error kept
 * if there is none.
 */
bool emit_grow(struct emit *e, void **array, size_t n, size_t *cap, size_t size);

/* Where the next bytes come to stand, @max at most; .len is for the caller to move on. NULL: there is no memory. */
static inline uint8_t *emit_room(struct emit *e, size_t max)
{
	if (e->cap - e->len <= max &&
	    !emit_grow(e, (void **)&e->code, e->len + max, &e->cap, 1))
		return NULL;
	return e->code + e->len;
}

static inline void emit_bytes(struct emit *e, const void *bytes, size_t len)
{
	uint8_t *at = len ? emit_room(e, len) : NULL;

	if (!at)
		return;
	memcpy(at, bytes, len);
	e->len += len;
}

static inline void emit_u8(struct emit *e, uint8_t byte)
{
	emit_bytes(e, &byte, 1);
}

static inline void emit_u32(struct emit *e, uint32_t value)
{
	emit_bytes(e, &value, sizeof(value));
}

static inline void emit_u64(struct emit *e, uint64_t value)
{
	emit_bytes(e, &value, sizeof(value));
}

/* Fill up to a multiple of @size. */
void emit_fill(struct emit *e, size_t size, uint8_t byte);

label_t emit_label(struct emit *e);
void emit_set(struct emit *e, label_t label);
/* A label that is set here. */
label_t emit_here(struct emit *e);
bool emit_is_set(const struct emit *e, label_t label);
/* Offset of a label that is set; 0 if it is not. */
uint32_t emit_at(const struct emit *e, label_t label);
/* The last 4 bytes are such ones. */
void emit_mark(struct emit *e, unsigned kind);
/* It depends on its place in a way that no mark tells. */
void emit_unlike(struct emit *e);
/* What comes next depends on @label. */
void emit_fixup(struct emit *e, label_t label, unsigned kind);

#endif
