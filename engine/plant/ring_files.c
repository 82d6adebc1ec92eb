/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/ring_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/os/maps.h"
#include "engine/space/state.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"

static int explain(int64_t result, struct ubp_err *err)
{
	return result == -ENOMEM ? ubp_fail(err, ENOMEM, "%s", UBP_NO_MEMORY)
				 : ubp_fail(err, (int)-result, "it can't have rings: %s",
					    strerror((int)-result));
}

static bool has_failed(const struct remote_step *step)
{
	return step->result < 0 && step->result > -4096;
}

static int take(const struct remote *remote, struct ring_file *file, struct ubp_err *err)
{
	return memory_file_take(remote->t->tid, file->number, RING_FILES_NAME, &file->taken,
				err) < 0
		       ? ubp_context(err, "its memory file")
		       : 0;
}

int ring_files_make(struct remote *remote, uint64_t name, struct ring_files *ret_files,
		    struct ubp_err *err)
{
	const struct arch_call *call = &remote->t->process->space->arch->call;
	struct remote_step make = { .nr = call->nr_memfd_create,
				    .args = { name, MFD_CLOEXEC | MFD_ALLOW_SEALING } };
	struct remote_step steps[2] = { make, make };
	struct ring_file *files[2] = { &ret_files->control, &ret_files->region };
	size_t n_made;
	int rc;

	*ret_files = (struct ring_files){ .control.taken.fd = -1, .region.taken.fd = -1 };
	rc = remote_calls(remote, steps, 2, &n_made, err);
	for (size_t i = 0; rc == 0 && i < n_made && i < 2; i++) {
		if (has_failed(&steps[i]))
			return explain(steps[i].result, err);
		files[i]->number = (uint64_t)steps[i].result;
		rc = take(remote, files[i], err);
	}
	return rc;
}

/* Whoever closed it may have opened something else by that number. */
static bool is_open(const struct remote *remote, const struct ring_file *file)
{
	return file->taken.fd >= 0 && !file->is_closed &&
	       memory_file_has(remote->t->tid, file->number, &file->taken);
}

static struct remote_step close_step(const struct remote *remote, const struct ring_file *file)
{
	return (struct remote_step){
		.nr = remote->t->process->space->arch->call.nr_close,
		.args = { file->number },
	};
}

bool ring_files_close(struct remote *remote, const struct ring_files *files)
{
	const struct ring_file *both[2] = { &files->control, &files->region };
	struct remote_step steps[2];
	size_t n = 0, n_made;
	struct ubp_err ignored;
	int rc = 0;

	for (size_t i = 0; i < 2; i++)
		if (is_open(remote, both[i]))
			steps[n++] = close_step(remote, both[i]);
	/* One that fails ends the row. */
	for (size_t done = 0; done < n && rc == 0; done += n_made)
		rc = remote_calls(remote, steps + done, n - done, &n_made, &ignored);
	return rc != -ESRCH;
}

void ring_files_put(struct ring_files *files)
{
	if (files->control.taken.fd >= 0)
		close(files->control.taken.fd);
	if (files->region.taken.fd >= 0)
		close(files->region.taken.fd);
}

/* --- mapped ------------------------------------------------------------------------- */

static bool is_file(const struct mapping *m, const struct memory_file *file)
{
	return m->shared && m->ino == file->ino && m->dev == file->dev;
}

/* Detours would write into whatever else is there. */
static int check(const struct remote *remote, const struct ring_files *files, uint64_t at,
		 uint64_t part, struct ubp_err *err)
{
	const struct mapping *control, *region;
	struct maps maps;
	bool good = false;

	if (maps_read(remote->t->tid, &maps, err) == 0) {
		control = maps_at(&maps, at);
		region = maps_at(&maps, at + RING_CONTROL_LEN);
		good = control && region && is_file(control, &files->control.taken) &&
		       is_file(region, &files->region.taken) &&
		       region->end - region->start >= part;
	}
	maps_free(&maps);
	return good ? 0 : ubp_fail(err, EINVAL, "it has mapped another file for its rings");
}

/* Steps of ring_files_map(). Before Linux 4.17 the place was a wish; the room was looked for, and is wide. */
enum { MAP_CONTROL, MAP_REGION, ADVISE, CLOSE_CONTROL, CLOSE_REGION, STEPS };

static bool has_mapped(const struct remote_step *steps, size_t n_made, size_t i)
{
	return n_made > i && (uint64_t)steps[i].result == steps[i].args[0];
}

static int unmap(struct remote *remote, uint64_t at, uint64_t len, int rc)
{
	uint64_t args[6] = { at, len };
	struct ubp_err ignored;
	int64_t result;

	return remote_call(remote, remote->t->process->space->arch->call.nr_munmap, args,
			   &result, &ignored) == -ESRCH
		       ? -ESRCH
		       : rc;
}

int ring_files_map(struct remote *remote, struct ring_files *files, uint64_t at, uint64_t part,
		   uint64_t flags, struct ubp_err *err)
{
	const struct arch_call *call = &remote->t->process->space->arch->call;
	const uint64_t region = at + RING_CONTROL_LEN;
	struct remote_step steps[STEPS] = {
		[MAP_CONTROL] = { .nr = call->nr_mmap,
				  .args = { at, RING_CONTROL_LEN, PROT_READ, flags,
					    files->control.number } },
		[MAP_REGION] = { .nr = call->nr_mmap,
				 .args = { region, part, PROT_READ | PROT_WRITE,
					   flags | MAP_NORESERVE, files->region.number } },
		[ADVISE] = { .nr = call->nr_madvise, .args = { region, part, MADV_DONTDUMP } },
		[CLOSE_CONTROL] = close_step(remote, &files->control),
		[CLOSE_REGION] = close_step(remote, &files->region),
	};
	bool may_close = is_open(remote, &files->control) && is_open(remote, &files->region);
	size_t n_made;
	int rc = remote_calls(remote, steps, may_close ? STEPS : CLOSE_CONTROL, &n_made, err);

	if (rc < 0)
		return rc;
	files->control.is_closed = n_made > CLOSE_CONTROL;
	files->region.is_closed = n_made > CLOSE_REGION;
	if (!has_mapped(steps, n_made, MAP_CONTROL) || !has_mapped(steps, n_made, MAP_REGION)) {
		rc = has_failed(&steps[n_made - 1])
			     ? explain(steps[n_made - 1].result, err)
			     : ubp_fail(err, EEXIST, "no room for rings");
		return has_mapped(steps, n_made, MAP_CONTROL)
			       ? unmap(remote, at, RING_CONTROL_LEN, rc)
			       : rc;
	}
	rc = check(remote, files, at, part, err);
	return rc < 0 ? unmap(remote, at, RING_CONTROL_LEN + part, rc) : 0;
}
