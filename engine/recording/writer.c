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
#include "engine/event/record.h"
#include "engine/recording/block.h"
#include "engine/recording/files.h"

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

	if (r) {
		r->fd = -1;
		r->packer.level = options->level;
		r->max_size = options->rotate ? options->rotate : options->max_size;
		r->path = strdup(options->path);
		r->files = (struct recording_files){ r->path, options->append,
						     options->rotate != 0, options->keep };
		(void)!getrandom(&r->id, sizeof(r->id), GRND_NONBLOCK);
		r->buffer = malloc(BUFFER_BYTES);
	}
	if (!r || !r->path || !r->buffer)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = open_file(r, err);
	if (rc == 0)
		rc = write_head(r, err);
	if (rc < 0) {
		if (r)
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
	return rc;
}

int recording_add_json(struct recording *r, enum recording_kind kind, json_t *json,
		       struct ubp_err *err)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int rc;

	json_decref(json);
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

uint64_t recording_size(const struct recording *r)
{
	return r->n_bytes;
}

bool recording_is_full(const struct recording *r)
{
	return r->max_size && r->size + BUFFER_BYTES > r->max_size;
}

bool recording_rotates(const struct recording *r)
{
	return r->files.rotates;
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

bool recording_take(struct recording *r, const struct ring_taken *taken)
{
	if (!make_room(r, taken->size))
		return false;
	if (!r->part || r->source != taken->source || r->tid != taken->tid ||
	    r->next != taken->position || r->part->maps != taken->maps)
		begin_ring(r, taken);
	add(r, taken->bytes, taken->size);
	for (unsigned i = 0; i < taken->n_counts; i++)
		r->n_records += taken->counts[i].n;
	r->next = taken->position + taken->size;
	return true;
}

bool recording_add_stop(struct recording *r, const struct event_record *record)
{
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
	if (!r->failed && r->look.n_parts) {
		r->look.known_until = known_until;
		(void)end_block(r);
	}
	return r->failed ? tell_failed(r, err) : 0;
}
