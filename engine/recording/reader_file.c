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
#include "engine/recording/mapped_json.h"
#include "engine/recording/probe_json.h"
#include "engine/recording/reader_priv.h"
#include "engine/recording/sample_json.h"
#include "engine/spec/spec.h"

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

int reader_head(const struct recording_reader *r, uint64_t at, struct recording_head *ret_head,
		struct ubp_err *err)
{
	int rc = at + sizeof(*ret_head) <= r->file_size
			 ? read_at(r, at, ret_head, sizeof(*ret_head), err)
			 : 0;

	return rc <= 0 ? rc
		       : memcmp(ret_head->magic, RECORDING_MAGIC, sizeof(ret_head->magic)) == 0;
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

/* What is in the block instead of @bytes, which are as they were stored. 1; 0: it cannot be read; -ENOMEM. */
static int unpack(struct recording_reader *r, const struct recording_block *block,
		  struct reader_bytes *bytes)
{
	struct reader_bytes stored = *bytes;
	bool is_read;

	if (!block_is_right(block, stored.data))
		return 0;
	if (!(block->flags & RECORDING_ZSTD))
		return 1;
	if (!reader_bytes_take(&r->spare, block->size + 1ul, bytes))
		return *bytes = stored, -ENOMEM;
	is_read = block_unpack(block, stored.data, bytes->data);
	reader_bytes_give(&r->spare, stored);
	return is_read;
}

int reader_load(struct recording_reader *r, uint64_t at, struct recording_block *ret_block,
		struct reader_bytes *ret_bytes, struct ubp_err *err)
{
	int rc = read_block(r, at, ret_block, err);

	*ret_bytes = (struct reader_bytes){ 0 };
	if (rc <= 0)
		return rc;
	if (!reader_bytes_take(&r->spare, ret_block->stored + 1ul, ret_bytes))
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = read_at(r, at + sizeof(*ret_block), ret_bytes->data, ret_block->stored, err);
	if (rc > 0)
		rc = unpack(r, ret_block, ret_bytes);
	if (rc > 0)
		return 1;
	reader_bytes_give(&r->spare, *ret_bytes);
	*ret_bytes = (struct reader_bytes){ 0 };
	return rc == -ENOMEM ? ubp_fail(err, ENOMEM, "out of memory") : rc;
}

/* --- blocks of JSON --------------------------------------------------------------------------- */

/* Room for probes up to @number. */
static int grow_probes(struct recording_reader *r, unsigned number)
{
	struct spec_probe **probes = realloc(r->probes, (number + 1ul) * sizeof(*probes));
	struct sample_plan *samples;

	if (!probes)
		return -ENOMEM;
	r->probes = probes;
	samples = realloc(r->samples, (number + 1ul) * sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	r->samples = samples;
	for (; r->n_probes <= number; r->n_probes++) {
		probes[r->n_probes] = NULL;
		samples[r->n_probes] = (struct sample_plan){ 0 };
	}
	return 0;
}

static int add_probe(struct recording_reader *r, const json_t *json, struct ubp_err *err)
{
	const json_t *sample = json_object_get(json, "sample");
	struct sample_plan plan = { 0 };
	struct spec_probe *probe;
	unsigned number;
	int rc = probe_of_json(json, &number, &probe, err);

	if (rc < 0)
		return rc;
	if (number < PROBES_MAX && number >= r->n_probes && grow_probes(r, number) < 0) {
		probe_of_json_free(probe);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	if (number >= r->n_probes || r->probes[number] ||
	    (sample && !sample_of_json(sample, probe->fixed_size, &plan))) {
		probe_of_json_free(probe);
		return ubp_fail(err, EINVAL, "a probe of the recording makes no sense");
	}
	r->probes[number] = probe;
	r->samples[number] = plan;
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

#define NEAR_BY 64 /* places in a map, whose keys others have chosen */

static int add_mapped(struct recording_reader *r, json_t *json, struct ubp_err *err)
{
	json_t *one;
	size_t i;

	json_array_foreach(json, i, one)
	{
		uint64_t number = (uint64_t)json_integer_value(json_object_get(one, "maps"));
		struct mapped_set *set;
		int rc;

		if (map_get(&r->mapped, number))
			continue;
		set = mapped_set_of_json(one);
		rc = set ? map_put_within(&r->mapped, number, set, NEAR_BY) : -ENOMEM;
		if (rc < 0)
			mapped_set_free(set);
		if (rc == -ENOMEM)
			return ubp_fail(err, ENOMEM, "out of memory");
	}
	return 0;
}

bool recording_has_names(const struct recording_reader *r)
{
	return r->names.n != 0 || r->mapped.n != 0;
}

const struct mapped_set *recording_mapped(const struct recording_reader *r, uint32_t maps)
{
	return map_get(&r->mapped, maps);
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
	case RECORDING_MAPPED:
		rc = add_mapped(r, json, err);
		break;
	default:
		break;
	}
	return rc;
}

#define COPY 2 /* of a block that was there before */

/* Is the block at @at whole? 1; 0; -errno. */
static int is_whole(struct recording_reader *r, uint64_t at, struct ubp_err *err)
{
	struct recording_block block;
	struct reader_bytes bytes;
	int rc = reader_load(r, at, &block, &bytes, err);

	reader_bytes_give(&r->spare, bytes);
	return rc;
}

/*
 * Has the block at @at a number of its own? 1; COPY; -errno. Of two with one number the first that is whole counts: a number that was changed
 * must not keep another block out.
 */
static int note_number(struct recording_reader *r, uint64_t at,
		       const struct recording_block *block, struct ubp_err *err)
{
	uint64_t before = (uintptr_t)map_get(&r->numbers, block->number);
	int rc = before ? is_whole(r, at, err) : 0;

	if (rc > 0)
		rc = is_whole(r, before, err);
	if (rc > 0)
		r->damage.copies++;
	if (rc)
		return rc < 0 ? rc : COPY;
	/* One that finds no room is taken, whatever comes. */
	(void)map_put_within(&r->numbers, block->number, (void *)(uintptr_t)at, NEAR_BY);
	return 1;
}

/* 1: it was read; COPY; 0: it is damaged. */
static int read_json(struct recording_reader *r, uint64_t at, struct ubp_err *err)
{
	struct recording_block block;
	struct reader_bytes bytes;
	json_t *json;
	int rc = reader_load(r, at, &block, &bytes, err);

	if (rc > 0)
		rc = note_number(r, at, &block, err);
	json = rc == 1 ? json_loadb((char *)bytes.data, block.size, 0, NULL) : NULL;
	reader_bytes_give(&r->spare, bytes);
	if (rc != 1)
		return rc;
	if (!json)
		return 0;
	rc = take_json(r, block.kind, json, err);
	json_decref(json);
	return rc < 0 ? rc : rc == 0;
}

/* --- all blocks -------------------------------------------------------------------------------- */

/* Does a block, or another recording's head, begin at @at, as far as a look at its head tells? 1; 0; -errno. */
static int begins_there(struct recording_reader *r, uint64_t at, const uint8_t first[8],
			struct ubp_err *err)
{
	struct recording_block block;
	struct recording_head head;
	uint32_t magic;

	memcpy(&magic, first, sizeof(magic));
	if (magic == RECORDING_BLOCK)
		return read_block(r, at, &block, err);
	return memcmp(first, RECORDING_MAGIC, sizeof(head.magic)) == 0
		       ? reader_head(r, at, &head, err)
		       : 0;
}

/* Where the next of these may begin, behind @at; the file's end: nowhere. */
static int find_next(struct recording_reader *r, uint64_t at, uint64_t *ret_at,
		     struct ubp_err *err)
{
	uint8_t bytes[SEARCH];

	for (; at + sizeof(struct recording_block) <= r->file_size; at += SEARCH) {
		uint64_t left = r->file_size - at;
		size_t n = left < SEARCH ? left & ~7ul : SEARCH;
		int rc = read_at(r, at, bytes, n, err);

		for (size_t i = 0; rc > 0 && i < n; i += 8) {
			rc = begins_there(r, at + i, bytes + i, err);
			if (rc > 0) {
				*ret_at = at + i;
				return 0;
			}
			if (rc == 0)
				rc = 1;
		}
		if (rc < 0)
			return rc;
	}
	*ret_at = r->file_size;
	return 0;
}

/* Does something begin right behind a block, as it should? Else its size may be wrong, and something be hidden in it. 1; 0; -errno. */
static int is_followed(struct recording_reader *r, uint64_t end, struct ubp_err *err)
{
	uint8_t first[8];
	int rc = end < r->file_size ? read_at(r, end, first, sizeof(first), err) : 1;

	return rc <= 0 || end >= r->file_size ? rc : begins_there(r, end, first, err);
}

static uint64_t end_of(uint64_t at, const struct recording_block *block)
{
	return at + sizeof(*block) + block->stored + block_padding(block->stored);
}

/* 1: it is one of ours; COPY; 0: it is damaged. */
static int note_look(struct recording_reader *r, uint64_t at,
		     const struct recording_block *block, struct ubp_err *err)
{
	struct recording_block again;
	struct reader_bytes bytes = { 0 };
	int rc = is_followed(r, end_of(at, block), err);

	if (rc == 0)
		rc = reader_load(r, at, &again, &bytes, err);
	reader_bytes_give(&r->spare, bytes);
	if (rc > 0)
		rc = note_number(r, at, block, err);
	if (rc != 1)
		return rc;
	if (VEC_ROOM(r->looks, &r->cap_looks, r->n_looks) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	r->looks[r->n_looks++] = at;
	return 1;
}

/* What is at @at: 1, and it was taken up; COPY, and it was not; 0: nothing of ours; -errno. */
static int scan_one(struct recording_reader *r, uint64_t at, struct recording_block *block,
		    struct ubp_err *err)
{
	struct recording_head head;
	int rc = read_block(r, at, block, err);

	if (rc > 0)
		return block->kind == RECORDING_LOOK ? note_look(r, at, block, err)
						     : read_json(r, at, err);
	rc = rc < 0 ? rc : reader_head(r, at, &head, err);
	if (rc > 0) {
		r->has_next = true;
		r->file_size = at;
	}
	return rc;
}

static int scan(struct recording_reader *r, struct ubp_err *err)
{
	uint64_t at = r->begin + sizeof(struct recording_head), n = 0, next = 0, torn = 0;

	while (at < r->file_size) {
		struct recording_block block = { 0 };
		uint64_t found;
		int rc = scan_one(r, at, &block, err);

		if (rc < 0)
			return rc;
		if (r->has_next)
			break;
		if (rc > 0) {
			n += rc != COPY;
			if (block.number >= next)
				next = block.number + 1;
			r->damage.bytes += torn;
			torn = 0;
			at = end_of(at, &block);
			continue;
		}
		rc = find_next(r, at + 8, &found, err);
		if (rc < 0)
			return rc;
		torn += found - at;
		at = found;
	}
	/* The last block of who was killed amid writing it is no damage. */
	r->damage.bytes += r->end ? torn : 0;
	r->damage.blocks = next > n ? next - n : 0;
	r->damage.is_cut = !r->end;
	return 0;
}

int reader_scan(struct recording_reader *r, struct ubp_err *err)
{
	int rc = scan(r, err);

	map_free(&r->numbers);
	return rc;
}
