/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Blocks in a file: where they are, and what those say that have no records. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/recording/block.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/probe_json.h"
#include "engine/recording/reader_priv.h"

#define PROBES_MAX (1U << 20)
#define SEARCH     65536 /* bytes that are searched for a block at once */

/* --- bytes -------------------------------------------------------------------------------- */

/* @len bytes at @at: 1; there are not so many: 0; -errno. */
static int read_at(const struct recording_reader *r, uint64_t at, void *to, size_t len,
		   struct ubp_err *err)
{
	size_t n = 0;

	while (n < len) {
		ssize_t got = pread(r->fd, (uint8_t *)to + n, len - n, (off_t)(at + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ubp_fail_sys(err, "cannot read %s", r->path);
		if (got == 0)
			return 0;
		n += (size_t)got;
	}
	return 1;
}

static int read_block(const struct recording_reader *r, uint64_t at,
		      struct recording_block *block, struct ubp_err *err)
{
	int rc = at + sizeof(*block) <= r->file_size
			 ? read_at(r, at, block, sizeof(*block), err)
			 : 0;

	if (rc <= 0)
		return rc;
	return block_is_sane(block) && block->stored <= r->file_size - at - sizeof(*block);
}

int reader_load(struct recording_reader *r, uint64_t at, struct recording_block *ret_block,
		uint8_t **ret_data, struct ubp_err *err)
{
	int rc = read_block(r, at, ret_block, err);
	bool is_short = false;
	uint8_t *stored;

	*ret_data = NULL;
	if (rc <= 0)
		return rc;
	stored = malloc(ret_block->stored + 1ul);
	if (!stored)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = read_at(r, at + sizeof(*ret_block), stored, ret_block->stored, err);
	if (rc > 0)
		*ret_data = block_unpack(ret_block, stored, &is_short);
	free(stored);
	if (is_short)
		return ubp_fail(err, ENOMEM, "out of memory");
	return rc < 0 ? rc : *ret_data != NULL;
}

/* --- blocks of JSON --------------------------------------------------------------------------- */

static int add_probe(struct recording_reader *r, const json_t *json, struct ubp_err *err)
{
	struct spec_probe *probe;
	unsigned number;
	int rc = probe_of_json(json, &number, &probe, err);

	if (rc < 0)
		return rc;
	if (number < PROBES_MAX && number >= r->n_probes) {
		struct spec_probe **more =
			realloc(r->probes, (number + 1ul) * sizeof(*r->probes));

		if (!more) {
			probe_of_json_free(probe);
			return ubp_fail(err, ENOMEM, "out of memory");
		}
		r->probes = more;
		for (; r->n_probes <= number; r->n_probes++)
			r->probes[r->n_probes] = NULL;
	}
	if (number >= r->n_probes || r->probes[number]) {
		probe_of_json_free(probe);
		return ubp_fail(err, EINVAL, "a probe of the recording makes no sense");
	}
	r->probes[number] = probe;
	return 0;
}

/* Returns -ENOMEM, or how many of them make no sense. */
static int add_probes(struct recording_reader *r, const json_t *json, struct ubp_err *err)
{
	const json_t *one;
	int n_bad = 0;
	size_t i;

	json_array_foreach(json, i, one)
	{
		int rc = add_probe(r, one, err);

		if (rc == -ENOMEM)
			return rc;
		n_bad += rc < 0;
	}
	return n_bad;
}

static int add_names(struct recording_reader *r, json_t *json, struct ubp_err *err)
{
	json_t *one;
	size_t i;

	json_array_foreach(json, i, one)
	{
		uint64_t key =
			frame_key((uint32_t)json_integer_value(json_object_get(one, "maps")),
				  (uint64_t)json_integer_value(json_object_get(one, "at")),
				  json_is_true(json_object_get(one, "first")));
		json_t **place = (json_t **)map_place(&r->names, key);

		if (!place)
			return ubp_fail(err, ENOMEM, "out of memory");
		if (!*place)
			*place = json_incref(one);
	}
	return 0;
}

bool recording_has_names(const struct recording_reader *r)
{
	return r->names.n != 0;
}

const json_t *recording_name(const struct recording_reader *r, uint32_t maps, uint64_t vaddr,
			     bool is_first)
{
	const json_t *name = map_get(&r->names, frame_key(maps, vaddr, is_first));

	return json_integer_value(json_object_get(name, "at")) == (json_int_t)vaddr ? name
										    : NULL;
}

static int take_json(struct recording_reader *r, uint16_t kind, json_t *json,
		     struct ubp_err *err)
{
	int rc = 0;

	switch (kind) {
	case RECORDING_INFO:
		if (!r->info)
			r->info = json_incref(json);
		break;
	case RECORDING_END:
		if (!r->end)
			r->end = json_incref(json);
		break;
	case RECORDING_PROBES:
		rc = add_probes(r, json, err);
		break;
	case RECORDING_NAMES:
		rc = add_names(r, json, err);
		break;
	default:
		break;
	}
	return rc;
}

/* 1: it was read; 0: it is damaged. */
static int read_json(struct recording_reader *r, uint64_t at, struct ubp_err *err)
{
	struct recording_block block;
	uint8_t *data;
	json_t *json;
	int rc = reader_load(r, at, &block, &data, err);

	if (rc <= 0)
		return rc;
	json = json_loadb((char *)data, block.size, 0, NULL);
	free(data);
	if (!json)
		return 0;
	rc = take_json(r, block.kind, json, err);
	json_decref(json);
	return rc < 0 ? rc : rc == 0;
}

/* --- all blocks -------------------------------------------------------------------------------- */

/* Where the next block may begin, behind @at; the file's end: nowhere. */
static int find_block(struct recording_reader *r, uint64_t at, uint64_t *ret_at,
		      struct ubp_err *err)
{
	uint8_t bytes[SEARCH];

	for (; at + sizeof(struct recording_block) <= r->file_size; at += SEARCH) {
		uint64_t left = r->file_size - at;
		size_t n = left < SEARCH ? left & ~7ul : SEARCH;
		int rc = read_at(r, at, bytes, n, err);

		if (rc < 0)
			return rc;
		for (size_t i = 0; rc && i < n; i += 8) {
			struct recording_block block;
			uint32_t magic;

			memcpy(&magic, bytes + i, sizeof(magic));
			if (magic != RECORDING_BLOCK)
				continue;
			rc = read_block(r, at + i, &block, err);
			if (rc < 0)
				return rc;
			if (rc) {
				*ret_at = at + i;
				return 0;
			}
			rc = 1;
		}
	}
	*ret_at = r->file_size;
	return 0;
}

static int note_block(struct recording_reader *r, uint64_t at,
		      const struct recording_block *block, struct ubp_err *err)
{
	if (block->kind == RECORDING_LOOK) {
		if (VEC_ROOM(r->looks, &r->cap_looks, r->n_looks) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		r->looks[r->n_looks++] = at;
		return 1;
	}
	return read_json(r, at, err);
}

int reader_scan(struct recording_reader *r, struct ubp_err *err)
{
	uint64_t at = sizeof(struct recording_head), n = 0, next = 0;

	while (at < r->file_size) {
		struct recording_block block;
		uint64_t size, found;
		int rc = read_block(r, at, &block, err);

		if (rc > 0)
			rc = note_block(r, at, &block, err);
		else if (rc == 0)
			block.stored = 0;
		if (rc < 0)
			return rc;
		size = sizeof(block) + block.stored + block_padding(block.stored);
		if (rc > 0) {
			n++;
			if (block.number >= next)
				next = block.number + 1;
			at += size;
			continue;
		}
		rc = find_block(r, at + 8, &found, err);
		if (rc < 0)
			return rc;
		/* The last block of who was killed amid writing it is no damage. */
		if (found < r->file_size || r->end)
			r->damage.bytes += found - at;
		at = found;
	}
	r->damage.blocks = next > n ? next - n : 0;
	r->damage.is_cut = !r->end;
	return 0;
}
