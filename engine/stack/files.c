/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/files.h"

#include <stdlib.h>
#include <string.h>

#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"
#include "engine/symbols/functions.h"

#define FILES_MAX  512   /* each holds a descriptor */
#define PLACES_MAX 16384 /* of a file */
#define VDSO_MAX   0x10000

struct stack_file {
	uint64_t dev, ino;
	struct object *object; /* NULL: can't be had */
	struct cfi *cfi;
	struct map places; /* file offset of the pc * 2 + is_call -> struct stack_place */
	struct stack_file *next;
};

static void forget_places(struct stack_file *file)
{
	size_t pos = 0;
	void *value;

	while (map_next(&file->places, &pos, NULL, &value)) {
		free(((struct stack_place *)value)->row);
		free(value);
	}
	map_free(&file->places);
}

static void free_file(struct stack_file *file)
{
	if (!file)
		return;
	forget_places(file);
	cfi_free(file->cfi);
	object_free(file->object);
	free(file);
}

static void forget_files(struct stack_files *files)
{
	size_t pos = 0;
	void *value;

	while (map_next(&files->by_id, &pos, NULL, &value))
		for (struct stack_file *f = value, *next; f; f = next) {
			next = f->next;
			free_file(f);
		}
	map_free(&files->by_id);
	files->n = 0;
	files->generation++;
}

void stack_files_free(struct stack_files *files)
{
	forget_files(files);
	for (size_t i = 0; i < sizeof(files->vdso) / sizeof(files->vdso[0]); i++) {
		free_file(files->vdso[i]);
		files->vdso[i] = NULL;
	}
}

/* Takes @object over, which may be NULL: not to be tried again. */
static struct stack_file *new_file(const struct stack_files *files, struct object *object)
{
	struct stack_file *file = calloc(1, sizeof(*file));

	if (!file) {
		object_free(object);
		return NULL;
	}
	file->object = object;
	file->cfi = object ? cfi_new(object, files->arch->unwind.n_regs) : NULL;
	return file;
}

/* The kernel's own library: it gets a file. */
static struct object *open_vdso(const struct trace_mem *mem, const struct mapping *m)
{
	size_t len = m->end - m->start < VDSO_MAX ? m->end - m->start : VDSO_MAX;
	struct object *object = NULL;
	char *bytes = malloc(len);

	if (bytes && mem_peek(mem, m->start, bytes, len) == len)
		object = mapped_open_vdso(bytes, len);
	free(bytes);
	return object;
}

struct stack_file *stack_file_of(struct stack_files *files, pid_t tid,
				 const struct trace_mem *mem, const struct mapping *m)
{
	uint64_t key = mapped_key(m->dev, m->ino);
	struct stack_file *first, *file;

	if (strcmp(m->path, "[vdso]") == 0) {
		struct stack_file **vdso = &files->vdso[files->arch->addr_size == 8];

		if (!*vdso)
			*vdso = new_file(files, open_vdso(mem, m));
		return *vdso;
	}
	if (!m->ino)
		return NULL;
	if (files->n >= FILES_MAX)
		forget_files(files);
	first = map_get(&files->by_id, key);
	for (file = first; file; file = file->next)
		if (file->dev == m->dev && file->ino == m->ino)
			return file;
	file = new_file(files, mapped_open(tid, m));
	if (!file)
		return NULL;
	file->dev = m->dev;
	file->ino = m->ino;
	file->next = first;
	if (map_put(&files->by_id, key, file) < 0) {
		free_file(file);
		return NULL;
	}
	files->n++;
	return file;
}

static bool is_function_start(struct object *object, uint64_t foffset)
{
	struct object_symbol symbol;
	uint64_t start, end, elf_vaddr;

	if (object_function_at(object, foffset, &symbol) == 0)
		return symbol.foffset == foffset;
	return object_extent(object, foffset, &start, &end) == 0 &&
	       object_foffset_to_vaddr(object, foffset, &elf_vaddr) == 0 && start == elf_vaddr;
}

/* @foffset: of the pc. */
static void look(const struct stack_files *files, const struct stack_file *file,
		 uint64_t foffset, bool is_call, struct stack_place *place)
{
	uint8_t code[UBP_SIGRETURN_MAX];
	uint64_t elf_vaddr;
	const char *left_out;
	ssize_t got;

	if (is_call) {
		got = object_read(file->object, foffset, code, sizeof(code));
		place->is_sigreturn =
			got > 0 && files->arch->unwind.is_sigreturn(code, (size_t)got);
	}
	if (!place->is_sigreturn &&
	    object_foffset_to_vaddr(file->object, foffset - is_call, &elf_vaddr) == 0)
		place->row = cfi_row_at(file->cfi, elf_vaddr);
	left_out = cfi_left_out(file->cfi);
	if (left_out && files->warn.warn)
		files->warn.warn(files->warn.ctx, left_out);
	place->is_start = !place->row && !is_call && is_function_start(file->object, foffset);
}

const struct stack_place *stack_file_place(struct stack_files *files, struct stack_file *file,
					   const struct mapping *m, uint64_t pc, bool is_call)
{
	static const struct stack_place nothing;
	uint64_t foffset = pc - m->start + m->foffset, key = foffset * 2 + is_call;
	struct stack_place *place;

	if (!file->cfi)
		return &nothing;
	place = map_get(&file->places, key);
	if (place)
		return place;
	if (file->places.n >= PLACES_MAX)
		forget_places(file);
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	look(files, file, foffset, is_call, place);
	if (map_put(&file->places, key, place) < 0) {
		free(place->row);
		free(place);
		return NULL;
	}
	return place;
}
