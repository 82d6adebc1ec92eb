/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/named_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/cfi.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"

void named_file_free(struct named_file *file)
{
	if (!file)
		return;
	if (file->dwarf)
		dwarf_free(file->dwarf);
	cfi_free(file->cfi);
	object_free(file->object);
	free(file);
}

static void open_file(const struct named_files *files, struct named_file *file, pid_t pid,
		      const struct maps *maps, const struct mapping *m)
{
	file->pid = pid;
	file->object = mapped_open_past(
		pid, m, files->known ? files->known(files->ctx, m->dev, m->ino) : NULL,
		maps->is_our_root);
	if (file->object)
		object_set_debug(file->object, &files->debug);
}

/* --- what the kernel maps into every program --------------------------------------- */

static const struct mapping *find_named(const struct maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->n; i++)
		if (strcmp(maps->v[i].path, name) == 0)
			return &maps->v[i];
	return NULL;
}

/* Ours is that of every program of the same word size. */
static void open_vdso(struct named_files *files)
{
	struct maps maps = { 0 };
	const struct mapping *m;
	struct ubp_err ignored;

	files->no_vdso = true;
	files->vdso = calloc(1, sizeof(*files->vdso));
	if (files->vdso && maps_read(getpid(), &maps, &ignored) == 0 &&
	    (m = find_named(&maps, "[vdso]"))) {
		files->vdso->object =
			mapped_open_vdso((const void *)(uintptr_t)m->start, m->end - m->start);
		files->vdso->no_dwarf = true;
		files->no_vdso = !files->vdso->object;
	}
	maps_free(&maps);
}

static struct named_file *vdso_of(struct named_files *files, const struct mapping *m)
{
	if (!files->vdso)
		open_vdso(files);
	return files->no_vdso || (m->end <= UINT32_MAX && sizeof(void *) > 4) ? NULL
									      : files->vdso;
}

/* --- files --------------------------------------------------------------------------- */

struct named_file *named_file_of(struct named_files *files, pid_t pid, const struct maps *maps,
				 const struct mapping *m)
{
	uint64_t key = mapped_key(m->dev, m->ino);
	struct named_file *first, *file;

	if (strcmp(m->path, "[vdso]") == 0)
		return vdso_of(files, m);
	if (!m->ino || m->path[0] != '/')
		return NULL;
	first = file = map_get(&files->by_id, key);
	while (file && (file->dev != m->dev || file->ino != m->ino))
		file = file->next;
	if (file) {
		/* Another process may let us at it. */
		if (!file->object && !file->is_left && file->pid != pid)
			open_file(files, file, pid, maps, m);
		return file->object ? file : NULL;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct named_file){ .dev = m->dev, .ino = m->ino, .next = first };
	if (map_put(&files->by_id, key, file) < 0) {
		free(file);
		return NULL;
	}
	open_file(files, file, pid, maps, m);
	return file->object ? file : NULL;
}

void named_files_leave(struct named_files *files, struct named_file *file,
		       struct named_file *mark)
{
	uint64_t key = mapped_key(file->dev, file->ino);
	struct named_file *at = map_get(&files->by_id, key);

	*mark = (struct named_file){
		.dev = file->dev, .ino = file->ino, .is_left = true, .next = file->next
	};
	if (at == file) {
		(void)map_put(&files->by_id, key, mark); /* the key has its place already */
		return;
	}
	while (at->next != file)
		at = at->next;
	at->next = mark;
}

struct dwarf *named_file_dwarf(struct named_file *file)
{
	struct ubp_err ignored;

	if (!file->dwarf && !file->no_dwarf &&
	    dwarf_open(file->object, &file->dwarf, &ignored) < 0) {
		file->no_dwarf = true;
		file->dwarf = NULL;
	}
	return file->dwarf;
}

bool named_file_is_signal_frame(struct named_file *file, uint64_t elf_vaddr)
{
	uint8_t code[UBP_SIGRETURN_MAX];
	uint64_t foffset;
	struct cfi_row *row;
	bool is_signal;
	ssize_t got;

	/* arm64's vDSO says nothing of it in its call frame information. */
	if (object_vaddr_to_foffset(file->object, elf_vaddr, &foffset) == 0) {
		got = object_read(file->object, foffset, code, sizeof(code));
		if (got > 0 &&
		    object_arch(file->object)->unwind.is_sigreturn(code, (size_t)got))
			return true;
	}
	if (!file->cfi)
		file->cfi = cfi_new(file->object, UBP_DWARF_REGS_MAX);
	row = file->cfi ? cfi_row_at(file->cfi, elf_vaddr) : NULL;
	is_signal = row && row->is_signal;
	free(row);
	return is_signal;
}

void named_files_free(struct named_files *files)
{
	size_t pos = 0;
	void *value;

	while (map_next(&files->by_id, &pos, NULL, &value))
		for (struct named_file *file = value, *next; file; file = next) {
			next = file->next;
			named_file_free(file);
		}
	map_free(&files->by_id);
	named_file_free(files->vdso);
}
