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

/* --- strings with a length ------------------------------------------------------------ */

bool fetch_text_length(const struct fetch_op *op, const uint8_t *data, uint64_t *ret_n)
{
	*ret_n = op->index;
	if (!op->shift)
		return true;
	*ret_n = 0;
	memcpy(ret_n, data + op->index, op->shift);
	return !op->bit_signed || !(*ret_n >> (8 * op->shift - 1) & 1);
}

/* In place: each byte makes place for those before it. The last blank becomes the NUL. */
static void make_digits(uint8_t *bytes, uint32_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = n; i-- > 0;) {
		uint8_t byte = bytes[i];

		bytes[3 * i] = (uint8_t)digits[byte >> 4];
		bytes[3 * i + 1] = (uint8_t)digits[byte & 15];
		bytes[3 * i + 2] = ' ';
	}
}

/* @max: bytes that there is room for, with a NUL. */
static void cut_text(const struct fetch_op *op, struct fetch_text *text, uint8_t *bytes,
		     uint32_t max, const uint8_t *data)
{
	uint32_t per_byte = op->bit_width == FETCH_DUMP ? 3 : 1, have = text->len;
	uint64_t n = 0;
	bool is_known = text->state != TEXT_UNSET && fetch_text_length(op, data, &n) &&
			(!op->read_at || data[op->read_at]);

	if (is_known && text->state == TEXT_ENDED && have - 1 <= n)
		n = have -= 1; /* a NUL comes first */
	else if (text->state == TEXT_ENDED)
		have -= 1;
	max = op->bit_width == FETCH_DUMP ? max / 3 : max - 1;
	if (is_known && n > max)
		n = max;
	if (!is_known || have < n) {
		*text = (struct fetch_text){ .state = TEXT_OPEN };
		return;
	}
	if (op->bit_width == FETCH_DUMP)
		make_digits(bytes, (uint32_t)n);
	text->len = (uint16_t)(per_byte * n + (per_byte == 1 || n == 0));
	text->state = TEXT_ENDED;
	bytes[text->len - 1] = '\0';
}

static bool has_length(const struct fetch_op *op)
{
	return op->code == FETCH_STORE_STRING && op->bit_width;
}

/* Bytes for each of them: what the other strings leave. */
static uint32_t room_for_each(const struct fetch_program *program,
			      const struct fetch_scratch *scratch, size_t head)
{
	size_t room = EVENT_RECORD_LIMIT - head - program->fixed_size, taken = 0, n = 0;

	for (size_t i = 0; i < program->has_strings; i++)
		if (scratch->texts[i].state == TEXT_ENDED)
			taken += scratch->texts[i].len;
	for (size_t i = 0; i < program->n_ops; i++) {
		const struct fetch_op *op = &program->ops[i];

		if (!has_length(op))
			continue;
		n++;
		if (scratch->texts[op->reg].state == TEXT_ENDED)
			taken -= scratch->texts[op->reg].len;
	}
	if (n == 0 || room < taken + n)
		return 1; /* the record is too big */
	room = (room - taken) / n;
	return room < FETCH_STRING_MAX ? (uint32_t)room : FETCH_STRING_MAX;
}

/* All have as much room as there is for each, so that no record gets too big by one of them. */
static void cut_texts(const struct fetch_program *program, struct fetch_scratch *scratch,
		      size_t head, const uint8_t *data)
{
	uint32_t max = room_for_each(program, scratch, head);

	for (size_t i = 0; i < program->n_ops; i++) {
		const struct fetch_op *op = &program->ops[i];

		if (has_length(op))
			cut_text(op, &scratch->texts[op->reg], scratch->bytes[op->reg], max,
				 data);
	}
}

int fetch_lay_out(const struct fetch_program *program, struct fetch_scratch *scratch,
		  size_t head, uint8_t *data)
{
	struct room room = { .at = program->fixed_size };

	cut_texts(program, scratch, head, data);
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
