/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/event/record.h"
#include "engine/recording/block.h"
#include "engine/recording/files.h"
#include "engine/recording/kept.h"

/* Of a look: what is more takes another block. It stays in the second cache of a processor. */
#define BUFFER_BYTES (1u << 18)

static const uint8_t zeros[8];

struct recording {
	int fd;
	char *path;
	struct recording_files files; /* .path: as above */
	uint64_t id, n_parts;
	struct block_packer packer;
	uint64_t n_blocks;           /* of this file */
	uint64_t n_records, n_bytes; /* of all files */
	uint64_t n_before;           /* .n_records, when the file was begun */
	uint64_t size, max_size;     /* of the file: whole blocks; 0: no limit */
	int failed;                  /* -errno of a write */
	bool is_regular;
	struct map sources; /* of rings -> their number and thread */
	uint32_t n_sources;
	/* The look. */
	struct recording_look look;
	struct recording_part *part; /* in .buffer; NULL: none yet */
	const void *source;          /* whose it is, and which thread's; NULL: of stops */
	pid_t tid;
	uint64_t next; /* position that its next record has */
	uint8_t *buffer;
	size_t len;
	struct recording_kept *kept; /* NULL: all goes to the file as it comes */
	struct kept_text {           /* names and mappings, for each file */
		enum recording_kind kind;
		char *text;
	} * texts;
	size_t n_texts, cap_texts;
};

/* --- the file ---------------------------------------------------------------------------- */

static int open_file(struct recording *r, struct ubp_err *err)
{
	int fd = recording_files_open(&r->files, &r->size, &r->is_regular, err);

	if (fd < 0)
		return fd;
	r->fd = fd;
	if (r->size && lseek(fd, (off_t)r->size, SEEK_SET) < 0)
		return ubp_fail_sys(err, "cannot write %s", r->path);
	return 0;
}

static int tell_failed(const struct recording *r, struct ubp_err *err)
{
	return ubp_fail(err, -r->failed, "cannot write %s: %s", r->path, strerror(-r->failed));
}

static int write_all(struct recording *r, struct iovec *v, int n)
{
	size_t left = 0;

	if (r->failed)
		return r->failed;
	for (int i = 0; i < n; i++)
		left += v[i].iov_len;
	r->size += left;
	while (left) {
		ssize_t done = writev(r->fd, v, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			r->failed = -errno;
			return r->failed;
		}
		left -= (size_t)done;
		for (; n && (size_t)done >= v->iov_len; n--)
			done -= (ssize_t)v++->iov_len;
		if (n) {
			v->iov_base = (uint8_t *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* All of it, or none: what is half there is taken back. */
static int write_block(struct recording *r, enum recording_kind kind, const void *data,
		       size_t len)
{
	struct recording_block block = { .kind = (uint16_t)kind, .number = r->n_blocks };
	const void *stored = block_pack(&r->packer, &block, data, len);
	uint64_t whole = r->size;
	struct iovec v[] = {
		{ &block, sizeof(block) },
		{ (void *)stored, block.stored },
		{ (void *)zeros, block_padding(block.stored) },
	};
	int rc = write_all(r, v, 3);

	if (rc == 0) {
		r->n_blocks++;
		r->n_bytes += r->size - whole;
		return 0;
	}
	r->size = whole;
	if (r->is_regular && ftruncate(r->fd, (off_t)whole) < 0)
		(void)lseek(r->fd, (off_t)whole, SEEK_SET);
	return rc;
}

/* A file that is appended to may end anywhere. */
static int write_head(struct recording *r, struct ubp_err *err)
{
	struct recording_head head = { .version = RECORDING_VERSION,
				       .order = RECORDING_ORDER,
				       .id = r->id,
				       .part = r->n_parts++ };
	struct iovec v[] = { { (void *)zeros, block_padding(r->size) },
			     { &head, sizeof(head) } };

	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	r->n_blocks = 0;
	return write_all(r, v, 2) < 0 ? tell_failed(r, err) : 0;
}

static void free_all(struct recording *r)
{
	void *number;
	uint64_t key;
	size_t pos = 0;

	while (map_next(&r->sources, &pos, &key, &number))
		free(number);
	map_free(&r->sources);
	kept_free(r->kept);
	for (size_t i = 0; i < r->n_texts; i++)
		free(r->texts[i].text);
	free(r->texts);
	block_packer_free(&r->packer);
	if (r->fd >= 0)
		close(r->fd);
	free(r->buffer);
	free(r->path);
	free(r);
}

int recording_new(const struct recording_options *options, struct recording **ret_recording,
		  struct ubp_err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return ubp_fail(err, ENOMEM, "out of memory");
	r->fd = -1;
	r->packer.level = options->level;
	r->max_size = options->rotate ? options->rotate : options->max_size;
	r->path = strdup(options->path);
	r->files = (struct recording_files){ r->path, options->append, options->rotate != 0,
					     options->keep };
	(void)!getrandom(&r->id, sizeof(r->id), GRND_NONBLOCK);
	r->buffer = malloc(BUFFER_BYTES);
	r->kept = options->per_thread ? kept_new(options->per_thread) : NULL;
	if (!r->path || !r->buffer || (options->per_thread && !r->kept))
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = open_file(r, err);
	if (rc == 0)
		rc = write_head(r, err);
	if (rc < 0) {
		free_all(r);
		return rc;
	}
	*ret_recording = r;
	return 0;
}

static int close_file(struct recording *r, struct ubp_err *err)
{
	int fd = r->fd;

	r->fd = -1;
	return fd >= 0 && close(fd) < 0 ? ubp_fail_sys(err, "cannot write %s", r->path) : 0;
}

int recording_close(struct recording *r, struct ubp_err *err)
{
	int rc;

	if (!r)
		return 0;
	rc = close_file(r, err);
	free_all(r);
	return rc;
}

int recording_next_file(struct recording *r, struct ubp_err *err)
{
	int rc = close_file(r, err);

	if (rc == 0 && r->files.rotates)
		rc = recording_files_rotate(&r->files, err);
	/* Where nobody has taken FILE away more comes behind what is there, of this recording and others. */
	r->files.append = true;
	if (rc == 0)
		rc = open_file(r, err);
	if (rc == 0)
		rc = write_head(r, err);
	if (rc < 0 && !r->failed)
		r->failed = rc;
	r->n_before = r->n_records;
	return rc;
}

/* @text is taken. 0 or -ENOMEM. */
static int keep_text(struct recording *r, enum recording_kind kind, char *text)
{
	if (VEC_ROOM(r->texts, &r->cap_texts, r->n_texts) < 0) {
		free(text);
		return -ENOMEM;
	}
	r->texts[r->n_texts++] = (struct kept_text){ kind, text };
	return 0;
}

int recording_add_json(struct recording *r, enum recording_kind kind, json_t *json,
		       struct ubp_err *err)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int rc;

	json_decref(json);
	if (text && r->kept && (kind == RECORDING_NAMES || kind == RECORDING_MAPPED)) {
		if (keep_text(r, kind, text) == 0)
			return 0;
		text = NULL;
	}
	if (!text)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = write_block(r, kind, text, strlen(text));
	free(text);
	return rc < 0 ? tell_failed(r, err) : 0;
}

uint64_t recording_n_records(const struct recording *r)
{
	return r->n_records;
}

uint64_t recording_n_in_file(const struct recording *r)
{
	return r->kept ? kept_n_records(r->kept) : r->n_records - r->n_before;
}

uint64_t recording_size(const struct recording *r)
{
	return r->n_bytes + (r->kept ? kept_bytes(r->kept) : 0);
}

bool recording_is_full(const struct recording *r)
{
	return r->max_size && r->size + BUFFER_BYTES > r->max_size;
}

bool recording_rotates(const struct recording *r)
{
	return r->files.rotates;
}

bool recording_keeps(const struct recording *r)
{
	return r->kept;
}

/* --- a look ------------------------------------------------------------------------------- */

static void begin_block(struct recording *r)
{
	r->len = sizeof(r->look);
	r->part = NULL;
	r->look.n_parts = 0;
	r->look.known_until = 0;
}

void recording_look_begin(struct recording *r, const struct ring_time_sample readings[2],
			  double ns_per_tick)
{
	r->look = (struct recording_look){
		.ticks = { readings[0].ticks, readings[1].ticks },
		.ns = { readings[0].ns, readings[1].ns },
		.ns_per_tick = ns_per_tick,
	};
	begin_block(r);
	if (r->kept && !r->failed && !kept_look_begin(r->kept, &r->look))
		r->failed = -ENOMEM;
}

static int end_block(struct recording *r)
{
	int rc;

	memcpy(r->buffer, &r->look, sizeof(r->look));
	rc = write_block(r, RECORDING_LOOK, r->buffer, r->len);
	begin_block(r);
	return rc;
}

/* A new part, whose kind is set. */
static void begin_part(struct recording *r, enum recording_part_kind kind)
{
	r->part = (struct recording_part *)(r->buffer + r->len);
	*r->part = (struct recording_part){ .kind = kind };
	r->len += sizeof(*r->part);
	r->look.n_parts++;
}

/* Room for @len bytes of a part, and for its head. False: a write has failed, or there is no room for another block. */
static bool make_room(struct recording *r, size_t len)
{
	if (r->failed || recording_is_full(r))
		return false;
	if (r->len + sizeof(*r->part) + len <= BUFFER_BYTES)
		return true;
	return end_block(r) == 0 && !recording_is_full(r);
}

/* Parts of one thread have one number, which no other thread ever has. 0: memory is short. */
static uint32_t source_number(struct recording *r, const struct ring_taken *taken)
{
	struct known {
		pid_t tid;
		uint32_t number;
	} **place = (struct known **)map_place(&r->sources, (uint64_t)(uintptr_t)taken->source);

	if (place && !*place)
		*place = calloc(1, sizeof(**place));
	if (!place || !*place)
		return 0;
	if ((*place)->tid != taken->tid)
		**place = (struct known){ taken->tid, ++r->n_sources };
	return (*place)->number;
}

static void begin_ring(struct recording *r, const struct ring_taken *taken)
{
	begin_part(r, RECORDING_RING);
	r->part->pid = taken->pid;
	r->part->tid = taken->tid;
	memcpy(r->part->comm, taken->comm, sizeof(r->part->comm));
	r->part->maps = taken->maps;
	r->part->source = source_number(r, taken);
	r->part->position = taken->position;
	r->source = taken->source;
	r->tid = taken->tid;
}

static void add(struct recording *r, const void *bytes, uint32_t size)
{
	memcpy(r->buffer + r->len, bytes, size);
	r->len += size;
	r->part->len += size;
}

static void count_taken(struct recording *r, const struct ring_taken *taken)
{
	for (unsigned i = 0; i < taken->n_counts; i++)
		r->n_records += taken->counts[i].n;
}

static bool keep_taken(struct recording *r, const struct ring_taken *taken)
{
	uint32_t source = r->failed ? 0 : source_number(r, taken);

	if (!source || !kept_take(r->kept, taken, source)) {
		r->failed = r->failed ? r->failed : -ENOMEM;
		return false;
	}
	count_taken(r, taken);
	return true;
}

bool recording_take(struct recording *r, const struct ring_taken *taken)
{
	if (r->kept)
		return keep_taken(r, taken);
	if (!make_room(r, taken->size))
		return false;
	if (!r->part || r->source != taken->source || r->tid != taken->tid ||
	    r->next != taken->position || r->part->maps != taken->maps)
		begin_ring(r, taken);
	add(r, taken->bytes, taken->size);
	count_taken(r, taken);
	r->next = taken->position + taken->size;
	return true;
}

static bool keep_stop(struct recording *r, const struct event_record *record)
{
	if (!r->failed && !kept_add_stop(r->kept, record))
		r->failed = -ENOMEM;
	r->n_records += !r->failed && record->kind == EVENT_HIT;
	return !r->failed;
}

bool recording_add_stop(struct recording *r, const struct event_record *record)
{
	if (r->kept)
		return keep_stop(r, record);
	if (!make_room(r, record->size + 8ul))
		return false;
	if (!r->part || r->part->kind != RECORDING_STOP) {
		begin_part(r, RECORDING_STOP);
		r->source = NULL;
	}
	add(r, record, record->size);
	r->n_records += record->kind == EVENT_HIT;
	r->part->len += (uint32_t)block_padding(record->size);
	r->len += block_padding(record->size);
	return true;
}

int recording_look_end(struct recording *r, uint64_t known_until, struct ubp_err *err)
{
	if (r->kept)
		kept_look_end(r->kept, known_until);
	if (!r->failed && r->look.n_parts) {
		r->look.known_until = known_until;
		(void)end_block(r);
	}
	return r->failed ? tell_failed(r, err) : 0;
}

/* --- what is kept ------------------------------------------------------------------------- */

/* As of one look, which ends with its last part. */
static int write_part(void *ctx, const struct kept_told *told)
{
	struct recording *r = ctx;
	size_t len = sizeof(*told->part) + told->part->len;

	if (!r->look.n_parts) {
		r->look = *told->look;
		begin_block(r);
	} else if (r->len + len > BUFFER_BYTES && end_block(r) < 0) {
		return r->failed;
	}
	memcpy(r->buffer + r->len, told->part, sizeof(*told->part));
	memcpy(r->buffer + r->len + sizeof(*told->part), told->bytes, told->part->len);
	r->len += len;
	r->look.n_parts++;
	if (!told->is_last)
		return 0;
	r->look.known_until = told->look->known_until;
	return end_block(r);
}

int recording_write_kept(struct recording *r, struct ubp_err *err)
{
	int rc = 0;

	if (!r->kept)
		return 0;
	for (size_t i = 0; rc == 0 && i < r->n_texts; i++)
		rc = write_block(r, r->texts[i].kind, r->texts[i].text,
				 strlen(r->texts[i].text));
	begin_block(r);
	if (rc == 0)
		rc = kept_each(r->kept, write_part, r);
	return rc < 0 ? tell_failed(r, err) : 0;
}
