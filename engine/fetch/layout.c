/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The second pass over strings: all are read, now they get their places. */

#include "engine/fetch/scratch.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Where the next string goes, and what is left of the measured sum. */
struct room {
	uint32_t at, left;
};

static void put_word(uint8_t *data, uint32_t at, uint32_t len, uint32_t offset)
{
	uint32_t word = len << 16 | offset;

	memcpy(data + at, &word, sizeof(word));
}

static void place_text(const struct fetch_text *text, const uint8_t *bytes, uint32_t at,
		       struct room *room, uint8_t *data)
{
	uint32_t len = text->len < room->left ? text->len : room->left;

	/* Without a NUL it counts only if it can fill all that is left. */
	if (text->state != TEXT_ENDED && text->len < room->left)
		len = 0;
	put_word(data, at, len, room->at);
	if (len == 0)
		return;
	memcpy(data + room->at, bytes, len);
	data[room->at + len - 1] = '\0';
	room->at += len;
	room->left -= len;
}

static bool is_string_store(const struct fetch_op *op)
{
	return op->code == FETCH_STORE_STRING || op->code == FETCH_STORE_COMM ||
	       op->code == FETCH_STORE_FAULT;
}

int fetch_lay_out(const struct fetch_program *program, const struct fetch_scratch *scratch,
		  size_t head, uint8_t *data)
{
	struct room room = { .at = program->fixed_size };

	for (size_t i = 0; i < program->has_strings; i++) {
		if (scratch->texts[i].state == TEXT_ENDED)
			room.left += scratch->texts[i].len;
		if (head + room.at + room.left > EVENT_RECORD_LIMIT)
			return -E2BIG;
	}
	for (size_t i = 0; i < program->n_ops; i++) {
		const struct fetch_op *op = &program->ops[i];
		const struct fetch_text *text;

		if (!is_string_store(op))
			continue;
		text = &scratch->texts[op->reg];
		if (op->count == 0 && text->state == TEXT_UNSET) {
			/* An inner read failed: the word stays as prepared for the copy. */
			put_word(data, op->at, room.left, room.at);
			continue;
		}
		for (uint32_t k = 0; k < (op->count ? op->count : 1u); k++)
			place_text(&text[k], scratch->bytes[op->reg + k], op->at + 4 * k, &room,
				   data);
	}
	return (int)(room.at + room.left);
}
