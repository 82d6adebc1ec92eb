/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/recording_names.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/elf/object.h"
#include "engine/files/build_id.h"
#include "engine/files/debug_options.h"
#include "engine/recording/mapped_json.h"
#include "engine/sink/frame.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"

#define FILES_MAX 4096       /* so many are opened */
#define NAMES_MAX (1U << 20) /* so many are kept */

struct file {
	char *path;
	char build_id[BUILD_ID_TEXT];
	struct object *object; /* NULL: there is none of that build-id */
	struct file *next;     /* of the same hash */
};

struct name {
	const struct file *file;
	bool is_first;
	uint64_t elf_vaddr, offset;
	char *owned;
	const char *function; /* NULL: there is none */
	struct name *next;
};

static struct object *open_same(const char *path, const char *build_id)
{
	static const struct object_debug_options usual;
	struct object *object;
	struct ubp_err ignored;
	char id[BUILD_ID_TEXT];

	if (object_open(path, &object, &ignored) < 0)
		return NULL;
	object_build_id(object, id);
	if (strcmp(id, build_id) == 0) {
		object_set_debug(object, &usual);
		return object;
	}
	object_free(object);
	return NULL;
}

static void free_file(struct file *file)
{
	object_free(file->object);
	free(file->path);
	free(file);
}

/* NULL: memory is short, or there are too many. */
static struct file *file_of(struct recording_names *names, const struct mapped_code *code)
{
	uint64_t key = hash_text(hash_text(0, code->build_id), code->path);
	struct file *first = map_get(&names->files, key), *file = first;

	while (file && (strcmp(file->path, code->path) != 0 ||
			strcmp(file->build_id, code->build_id) != 0))
		file = file->next;
	if (file || names->files.n >= FILES_MAX)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->next = first;
	file->path = strdup(code->path);
	memcpy(file->build_id, code->build_id, sizeof(file->build_id));
	if (!file->path || map_put(&names->files, key, file) < 0) {
		free_file(file);
		return NULL;
	}
	file->object = open_same(code->path, code->build_id);
	return file;
}

/* By its symbols, those of separate debug information among them. @at: of the call itself. */
static void find_function(struct name *name, uint64_t at)
{
	struct object_symbol symbol;

	if (!object_function_around(name->file->object, at, &symbol) || !symbol.name)
		return;
	name->owned = demangle_short(symbol.name);
	name->function = name->owned ? name->owned : symbol.name;
	name->offset = name->elf_vaddr - symbol.elf_vaddr;
}

static void free_name(struct name *name)
{
	free(name->owned);
	free(name);
}

static const struct name *name_of(struct recording_names *names, const struct file *file,
				  uint64_t elf_vaddr, bool is_first)
{
	uint64_t key = hash_number(hash_number(is_first, (uintptr_t)file), elf_vaddr);
	struct name *first = map_get(&names->names, key), *name = first;

	while (name && (name->file != file || name->elf_vaddr != elf_vaddr ||
			name->is_first != is_first))
		name = name->next;
	if (name || names->names.n >= NAMES_MAX)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->next = first;
	name->file = file;
	name->elf_vaddr = elf_vaddr;
	name->is_first = is_first;
	if (map_put(&names->names, key, name) < 0) {
		free_name(name);
		return NULL;
	}
	find_function(name, is_first ? elf_vaddr : elf_vaddr - 1);
	return name;
}

void recording_name_frame(struct recording_names *names, const struct mapped_set *mapped,
			  bool is_first, struct sink_frame *frame)
{
	const struct name *name = NULL;
	/* Where a call comes back to may be the end of what is mapped. */
	const struct mapped_code *code =
		mapped_set_at(mapped, is_first ? frame->vaddr : frame->vaddr - 1);
	const struct file *file;

	if (!code || !code->is_known)
		return;
	if (!frame->file) {
		frame->file = code->path;
		frame->file_vaddr = frame->vaddr - code->start + code->elf_vaddr;
	}
	file = code->build_id[0] ? file_of(names, code) : NULL;
	if (file && file->object)
		name = name_of(names, file, frame->file_vaddr, is_first);
	if (!name || !name->function)
		return;
	frame->function = name->function;
	frame->offset = name->offset;
}

void recording_names_free(struct recording_names *names)
{
	size_t pos = 0;
	void *value;

	while (map_next(&names->names, &pos, NULL, &value))
		for (struct name *name = value, *next; name; name = next) {
			next = name->next;
			free_name(name);
		}
	map_free(&names->names);
	pos = 0;
	while (map_next(&names->files, &pos, NULL, &value))
		for (struct file *file = value, *next; file; file = next) {
			next = file->next;
			free_file(file);
		}
	map_free(&names->files);
}
