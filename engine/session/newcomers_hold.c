/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/newcomers_hold.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/define/definitions.h"
#include "engine/elf/object.h"
#include "engine/os/untrusted_file.h"
#include "engine/plant/change.h"
#include "engine/session/inside.h"
#include "engine/session/tell.h"
#include "engine/space/uprobe.h"
#include "engine/trace/exec_hold.h"
#include "engine/trace/permission.h"

bool newcomers_is_own(const struct ubp_session *s, uint64_t dev, uint64_t ino)
{
	return ino && dev == s->newcomer.own_dev && ino == s->newcomer.own_ino;
}

bool newcomers_is_program(const struct object *object)
{
	return !object_soname(object) && (object_interp(object) || !object_is_pie(object));
}

static bool add_first(struct ubp_session *s, const struct defined_file *file, int fd)
{
	return exec_hold_add(s->newcomer.hold, fd, !newcomers_is_program(file->object));
}

static bool add_later(struct ubp_session *s, const struct defined_file *file, int fd)
{
	bool is_late, held = exec_hold_add_more(s->newcomer.hold, fd,
						!newcomers_is_program(file->object), &is_late);

	if (is_late)
		session_warn(s,
			     "%s: who executes it just now may be missed: those who do are "
			     "not held yet",
			     file->path);
	return held;
}

/*
 * False: who comes to map the file is not held. Each file is opened once, since we wait
 * for ourselves, too, once a library is held.
 */
static bool hold_file(struct ubp_session *s, const struct defined_file *file,
		      bool (*add)(struct ubp_session *s, const struct defined_file *file,
				  int fd))
{
	struct stat st;
	bool held;
	int fd;

	fd = file_open(file->path, &st);
	held = fd >= 0 && st.st_dev == file->maps_dev && st.st_ino == file->maps_ino &&
	       !newcomers_is_own(s, st.st_dev, st.st_ino) && add(s, file, fd);
	if (fd >= 0)
		close(fd);
	return held;
}

void newcomers_hold_files(struct ubp_session *s)
{
	struct defined_file file;
	const struct definition_file *pos = NULL;
	size_t n = 0, n_held = 0;

	/* To be seized at once, where anybody may be. */
	s->newcomer.hold = permission_for_all() ? exec_hold_new(gettid()) : NULL;
	for (; s->newcomer.hold && definitions_next_file(s->defined, &pos, &file); n++)
		n_held += hold_file(s, &file, add_first);
	s->newcomer.holds_all = n && n_held == n;
	/* Where there are none yet, more will come. */
	if (n_held || !n)
		return;
	exec_hold_free(s->newcomer.hold);
	s->newcomer.hold = NULL;
}

int newcomers_watch_opened(const struct ubp_session *s)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct defined_file file;
	const struct definition_file *pos = NULL;

	while (fd >= 0 && definitions_next_file(s->defined, &pos, &file))
		(void)inotify_add_watch(fd, file.path, IN_OPEN);
	return fd;
}

void newcomers_hold_more(struct ubp_session *s, const struct plant_change *change)
{
	const struct object *last = NULL;

	for (size_t i = 0; s->newcomer.hold && i < change->n_added; i++) {
		const struct uprobe *probe = change->added[i];
		struct defined_file file = { .maps_dev = probe->dev, .maps_ino = probe->ino };

		if (change->replaced[i] != PLANT_CHANGE_NEW)
			continue;
		file.object = definitions_object_of(probe);
		file.path = object_path(file.object);
		if (file.object != last)
			(void)hold_file(s, &file, add_later);
		last = file.object;
	}
}
