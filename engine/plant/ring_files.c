/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/ring_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/object/maps.h"
#include "engine/plant/plant.h"
#include "engine/trace/remote.h"

static int call(struct remote *remote, int nr, const uint64_t args[6], uint64_t *ret_result,
		struct ubp_err *err)
{
	int64_t result;
	int rc = remote_call(remote, nr, args, &result, err);

	if (rc < 0)
		return rc;
	if (result < 0 && result > -4096)
		return result == -ENOMEM
			       ? ubp_fail(err, ENOMEM, "%s", UBP_NO_MEMORY)
			       : ubp_fail(err, (int)-result, "it can't have rings: %s",
					  strerror((int)-result));
	*ret_result = (uint64_t)result;
	return 0;
}

static int make(struct remote *remote, uint64_t name, struct ring_file *file,
		struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	uint64_t args[6] = { name, MFD_CLOEXEC | MFD_ALLOW_SEALING };
	int rc = call(remote, t->process->space->arch->call.nr_memfd_create, args,
		      &file->number, err);

	if (rc == 0 &&
	    memory_file_take(t->tid, file->number, RING_FILES_NAME, &file->taken, err) < 0)
		rc = ubp_context(err, "its memory file");
	return rc;
}

int ring_files_make(struct remote *remote, uint64_t name, struct ring_files *ret_files,
		    struct ubp_err *err)
{
	int rc;

	ret_files->control.taken.fd = ret_files->region.taken.fd = -1;
	rc = make(remote, name, &ret_files->control, err);
	return rc == 0 ? make(remote, name, &ret_files->region, err) : rc;
}

/* False: the thread is gone. */
static bool close_one(struct remote *remote, const struct ring_file *file)
{
	uint64_t result, args[6] = { file->number };
	struct ubp_err ignored;

	/* Whoever closed it may have opened something else by that number. */
	return file->taken.fd < 0 ||
	       !memory_file_has(remote->t->tid, file->number, &file->taken) ||
	       call(remote, remote->t->process->space->arch->call.nr_close, args, &result,
		    &ignored) != -ESRCH;
}

bool ring_files_close(struct remote *remote, const struct ring_files *files)
{
	return close_one(remote, &files->control) && close_one(remote, &files->region);
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

static int map_both(struct remote *remote, const struct ring_files *files, uint64_t at,
		    uint64_t part, uint64_t flags, struct ubp_err *err)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	uint64_t control[6] = {
		at, RING_CONTROL_LEN, PROT_READ, flags, files->control.number, 0
	};
	uint64_t region[6] = { at + RING_CONTROL_LEN,  part,
			       PROT_READ | PROT_WRITE, flags | MAP_NORESERVE,
			       files->region.number,   0 };
	uint64_t result = 0;
	int rc = call(remote, arch->call.nr_mmap, control, &result, err);

	/* Before Linux 4.17 the place was a wish; this room was looked for, and is wide. */
	if (rc == 0 && result != control[0])
		rc = ubp_fail(err, EEXIST, "no room for rings");
	if (rc == 0)
		rc = call(remote, arch->call.nr_mmap, region, &result, err);
	if (rc == 0 && result != region[0])
		rc = ubp_fail(err, EEXIST, "no room for rings");
	return rc;
}

int ring_files_map(struct remote *remote, const struct ring_files *files, uint64_t at,
		   uint64_t part, uint64_t flags, struct ubp_err *err)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	uint64_t advice[6] = { at + RING_CONTROL_LEN, part, MADV_DONTDUMP };
	uint64_t result = 0, all[6] = { at, RING_CONTROL_LEN + part };
	struct ubp_err ignored;
	int rc = map_both(remote, files, at, part, flags, err);

	if (rc < 0)
		return rc;
	rc = check(remote, files, at, part, err);
	if (rc < 0)
		return call(remote, arch->call.nr_munmap, all, &result, &ignored) == -ESRCH
			       ? -ESRCH
			       : rc;
	return call(remote, arch->call.nr_madvise, advice, &result, &ignored) == -ESRCH ? -ESRCH
											: 0;
}
