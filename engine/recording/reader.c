/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/event/ring_record.h"
#include "engine/recording/mapped_json.h"
#include "engine/recording/probe_json.h"
#include "engine/recording/reader_priv.h"

static int check_head(struct recording_reader *r, struct ubp_err *err)
{
	int rc = reader_head(r, r->begin, &r->head, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return ubp_fail(err, EINVAL, "%s is no recording", r->path);
	if (r->head.order != RECORDING_ORDER)
		return ubp_fail(err, EINVAL,
				"%s was recorded on a machine with another order of bytes",
				r->path);
	if (r->head.version != RECORDING_VERSION)
		return ubp_fail(
			err, EINVAL,
			"%s has version %u of the format: this program reads version %d",
			r->path, r->head.version, RECORDING_VERSION);
	return 0;
}

static int open_file(struct recording_reader *r, const char *path, uint64_t at,
		     struct ubp_err *err)
{
	struct stat st;

	r->path = strdup(path);
	r->record = calloc(1, EVENT_RECORD_ROOM);
	if (!r->path || !r->record)
		return ubp_fail(err, ENOMEM, "out of memory");
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return ubp_fail_sys(err, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return ubp_fail(err, EINVAL, "%s is no regular file", path);
	r->begin = at;
	r->file_size = (uint64_t)st.st_size;
	return check_head(r, err);
}

int recording_open(const char *path, uint64_t at, struct recording_reader **ret_reader,
		   struct ubp_err *err)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return ubp_fail(err, ENOMEM, "out of memory");
	r->fd = -1;
	rc = open_file(r, path, at, err);
	if (rc == 0)
		rc = reader_scan(r, err);
	if (rc < 0) {
		recording_reader_free(r);
		return rc;
	}
	*ret_reader = r;
	return 0;
}

uint64_t recording_next_at(const struct recording_reader *r)
{
	return r->has_next ? r->file_size : 0;
}

void recording_reader_free(struct recording_reader *r)
{
	void *name;
	uint64_t key;
	size_t pos = 0;

	if (!r)
		return;
	reader_forget_looks(r);
	reader_spare_free(&r->spare);
	while (map_next(&r->names, &pos, &key, &name))
		json_decref(name);
	map_free(&r->names);
	pos = 0;
	while (map_next(&r->mapped, &pos, NULL, &name))
		mapped_set_free(name);
	map_free(&r->mapped);
	for (unsigned i = 0; i < r->n_probes; i++)
		probe_of_json_free(r->probes[i]);
	free(r->probes);
	free(r->samples);
	json_decref(r->info);
	json_decref(r->end);
	free(r->looks);
	free(r->record);
	free(r->path);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

void recording_id(const struct recording_reader *r, uint64_t *ret_id, uint64_t *ret_part)
{
	*ret_id = r->head.id;
	*ret_part = r->head.part;
}

const json_t *recording_info(const struct recording_reader *r)
{
	return r->info;
}

const json_t *recording_end(const struct recording_reader *r)
{
	return r->end;
}

unsigned recording_n_probes(const struct recording_reader *r)
{
	return r->n_probes;
}

const struct spec_probe *recording_probe(const struct recording_reader *r, unsigned number)
{
	return number < r->n_probes ? r->probes[number] : NULL;
}

uint64_t recording_weight(const struct recording_reader *r, const struct event_record *record)
{
	const struct sample_plan *plan =
		record->kind == EVENT_HIT ? &r->samples[record->probe] : NULL;

	return plan && plan->every ? sample_weight(plan, record->data) : 0;
}

void recording_damage(const struct recording_reader *r, struct recording_damage *ret_damage)
{
	*ret_damage = r->damage;
}

/* Behind the last one all is known. */
static int take_next_look(struct recording_reader *r, struct ubp_err *err)
{
	struct recording_block block;
	struct reader_bytes bytes;
	int rc;

	if (r->next_look == r->n_looks) {
		r->known_until = READER_ALL_KNOWN;
		return 0;
	}
	rc = reader_load(r, r->looks[r->next_look++], &block, &bytes, err);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		r->damage.bytes += sizeof(block) + block.stored;
		r->damage.blocks++;
		return 0;
	}
	if (reader_take_look(r, bytes, block.size) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	return 0;
}

int recording_next(struct recording_reader *r, struct event_record **ret_record,
		   struct ubp_err *err)
{
	while (!reader_take_record(r)) {
		int rc;

		if (r->known_until == READER_ALL_KNOWN)
			return 0;
		rc = take_next_look(r, err);
		if (rc < 0)
			return rc;
	}
	*ret_record = r->record;
	return 1;
}
