/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Opening a file as an object: all that is read of it at once, and checked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/err.h"
#include "engine/elf/chunks.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/header.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/os/untrusted_file.h"

/* The kernel's limit on the name of an interpreter. */
#define INTERP_MAX 4096

static const char *kind_of_file(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a pipe";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "no regular file";
	}
}

static int open_file(struct object *object, struct ubp_err *err)
{
	struct stat st;

	object->fd = file_open(object->path, &st);
	if (object->fd == -EINVAL && st.st_mode != 0 && !S_ISREG(st.st_mode))
		return ubp_fail(err, EINVAL, "%s: %s, not an ELF file", object->path,
				kind_of_file(st.st_mode));
	if (object->fd < 0)
		return ubp_fail(err, -object->fd, "%s: %s", object->path,
				file_error(object->fd));
	object->dev = st.st_dev;
	object->ino = st.st_ino;
	object->size = (uint64_t)st.st_size;
	return 0;
}

static int read_interp(struct object *object, const GElf_Phdr *phdr, struct ubp_err *err)
{
	size_t len = phdr->p_filesz;

	/* A file of debug information alone has the program's headers, and none of its bytes. */
	if (phdr->p_filesz == 0)
		return 0;
	if (phdr->p_filesz < 2 || phdr->p_filesz > INTERP_MAX || object->interp)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: name of the interpreter",
				object->path);
	object->interp = malloc(len);
	if (!object->interp)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (object_read(object, phdr->p_offset, object->interp, len) != (ssize_t)len ||
	    object->interp[len - 1] != '\0')
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: name of the interpreter",
				object->path);
	return 0;
}

static int add_segment(struct object *object, const GElf_Phdr *phdr, size_t i,
		       struct ubp_err *err)
{
	uint64_t end;

	if (phdr->p_filesz > phdr->p_memsz ||
	    __builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end))
		return ubp_fail(
			err, ENOEXEC,
			"%s: corrupt ELF file: segment %zu has 0x%llx bytes in the file "
			"and 0x%llx in memory at 0x%llx",
			object->path, i, (unsigned long long)phdr->p_filesz,
			(unsigned long long)phdr->p_memsz, (unsigned long long)phdr->p_vaddr);
	object->segments[object->n_segments++] = (struct segment){
		.foffset = phdr->p_offset,
		.file_len = phdr->p_filesz,
		.elf_vaddr = phdr->p_vaddr,
		.mem_len = phdr->p_memsz,
		.is_exec = phdr->p_flags & PF_X,
	};
	return 0;
}

/* A file of debug information alone has the program's headers. What the program has in its code is there for lists. */
static void look_for_code(struct object *object)
{
	bool has_code = false, has_room = false;

	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		has_code |= s->is_exec && s->file_len;
		has_room |= s->is_exec && !s->file_len && s->mem_len;
	}
	object->has_no_code = has_room && !has_code;
	for (size_t i = 0; object->has_no_code && i < object->n_segments; i++) {
		struct segment *s = &object->segments[i];

		if (!s->is_exec)
			continue;
		s->foffset = s->elf_vaddr;
		s->file_len = s->mem_len;
	}
}

static int read_segments(struct object *object, struct ubp_err *err)
{
	GElf_Phdr phdr;
	size_t n;
	int rc = 0;

	if (elf_getphdrnum(object->elf, &n) < 0)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s", object->path,
				elf_errmsg(-1));
	object->segments = calloc(n ? n : 1, sizeof(*object->segments));
	if (!object->segments)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &phdr))
			return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s", object->path,
					elf_errmsg(-1));
		if (phdr.p_type != PT_LOAD && phdr.p_type != PT_INTERP)
			continue;
		if (phdr.p_filesz > object->size ||
		    phdr.p_offset > object->size - phdr.p_filesz)
			return ubp_fail(err, ENOEXEC,
					"%s: ELF file is cut short: segment %zu at 0x%llx has "
					"0x%llx bytes, file has 0x%llx bytes",
					object->path, i, (unsigned long long)phdr.p_offset,
					(unsigned long long)phdr.p_filesz,
					(unsigned long long)object->size);
		rc = phdr.p_type == PT_LOAD ? add_segment(object, &phdr, i, err)
					    : read_interp(object, &phdr, err);
	}
	return rc;
}

static int read_elf(struct object *object, struct ubp_err *err)
{
	int rc;

	rc = header_check(object, err);
	if (rc < 0)
		return rc;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return ubp_fail(err, ENOEXEC, "libelf: %s", elf_errmsg(-1));
	/* Not mapped: a file cut while mapped would kill us with SIGBUS. */
	object->elf = elf_begin(object->fd, ELF_C_READ, NULL);
	if (!object->elf || elf_kind(object->elf) != ELF_K_ELF)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s", object->path,
				elf_errmsg(-1));
	rc = elf_check_small(object->elf, object->size, object->path, err);
	if (rc < 0)
		return rc;
	if (elf_getshdrnum(object->elf, &object->n_sections) < 0)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s", object->path,
				elf_errmsg(-1));
	rc = read_segments(object, err);
	if (rc < 0)
		return rc;
	look_for_code(object);
	return object_read_dynamic(object, err);
}

int object_open(const char *path, struct object **ret_object, struct ubp_err *err)
{
	struct object *object = calloc(1, sizeof(*object));
	int rc;

	if (!object)
		return ubp_fail(err, ENOMEM, "out of memory");
	object->fd = -1;
	object->chunks = chunks_new();
	object->path = strdup(path);
	rc = object->path ? open_file(object, err) : ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = read_elf(object, err);
	if (rc < 0) {
		object_free(object);
		return rc;
	}
	object->is_go = object_is_go(object);
	*ret_object = object;
	return 0;
}
