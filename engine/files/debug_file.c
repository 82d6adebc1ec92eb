/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/header.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/os/untrusted_file.h"

/* A second or so. */
#define CRC_LEN_MAX (UINT64_C(1) << 30)

/* --- what is known of an object's files --------------------------------------------- */

static void free_debug(void *debug_ptr)
{
	struct object_debug *debug = debug_ptr;

	if (debug->cfi)
		dwarf_cfi_end(debug->cfi);
	dwarf_end(debug->dwarf);
	dwarf_end(debug->alt_dwarf);
	debug_file_close(&debug->given);
	debug_file_close(&debug->embedded);
	debug_file_close(&debug->separate);
	debug_file_close(&debug->alt);
	free(debug);
}

static const struct annex_kind debug_kind = { .free = free_debug };

struct object_debug *debug_of(struct object *object)
{
	struct object_debug *debug = annex_get(&object->annexes, &debug_kind);

	if (debug)
		return debug;
	debug = calloc(1, sizeof(*debug));
	if (!debug)
		return NULL;
	debug->given.fd = debug->embedded.fd = debug->separate.fd = debug->alt.fd = -1;
	if (annex_put(&object->annexes, &debug_kind, debug) < 0) {
		free(debug);
		debug = NULL;
	}
	return debug;
}

void object_set_debug(struct object *object, const struct object_debug_options *options)
{
	struct object_debug *debug = debug_of(object);

	if (debug)
		debug->options = *options;
}

void debug_file_close(struct debug_file *file)
{
	elf_end(file->elf);
	free(file->image);
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct debug_file){ .fd = -1 };
}

Elf_Data *debug_section(Elf *elf, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = section_with_bytes(elf, name, &header);

	return section ? object_section_data(section, true) : NULL;
}

/* --- does a file belong to the object? ---------------------------------------------- */

struct build_id debug_build_id(Elf *elf)
{
	struct build_id id = { NULL, 0 };
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id.bytes);

	if (len > 1 && len <= BUILD_ID_MAX)
		id.len = (size_t)len;
	return id;
}

static bool is_same_id(struct build_id a, struct build_id b)
{
	return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

const char *debug_spell_id(struct build_id id, char text[2 * BUILD_ID_MAX + 1])
{
	text[0] = '\0';
	for (size_t i = 0; i < id.len; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id.bytes)[i]);
	return text;
}

/* .text keeps its place and size where its bytes are taken away. */
static bool is_same_text(Elf *a, Elf *b)
{
	GElf_Shdr of_a, of_b;

	return section_named(a, NULL, ".text", &of_a) &&
	       section_named(b, NULL, ".text", &of_b) && of_a.sh_addr == of_b.sh_addr &&
	       of_a.sh_size == of_b.sh_size;
}

/* What was said first stays. */
__attribute__((format(printf, 3, 0))) static void vsay(char *text, size_t size, const char *fmt,
						       va_list ap)
{
	if (text[0] == '\0')
		vsnprintf(text, size, fmt, ap);
}

__attribute__((format(printf, 3, 4))) static void say(char *text, size_t size, const char *fmt,
						      ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(text, size, fmt, ap);
	va_end(ap);
}

void debug_note_misfit(struct object *object, const char *fmt, ...)
{
	struct object_debug *debug = debug_of(object);
	va_list ap;

	if (!debug)
		return;
	va_start(ap, fmt);
	vsay(debug->misfit, sizeof(debug->misfit), fmt, ap);
	va_end(ap);
}

/*
 * The checksum of .gnu_debuglink is the one of xz, too. It is made of files that need not belong to the
 * object, and be of any length, sparse at that: together no more than CRC_LEN_MAX for one object.
 */
static bool has_crc(struct object_debug *debug, const struct debug_file *file, uint32_t wanted)
{
	static const size_t room = 1 << 16;
	uint8_t *bytes;
	uint32_t crc = 0;
	uint64_t at = 0;
	ssize_t n = 0;

	if (file->size > CRC_LEN_MAX - debug->crc_len) {
		say(debug->misfit, sizeof(debug->misfit),
		    "%.160s is too large for its checksum to be made (more than %llu MiB)",
		    file->path, (unsigned long long)(CRC_LEN_MAX >> 20));
		return false;
	}
	debug->crc_len += file->size;
	bytes = malloc(room);
	while (bytes && at < file->size && (n = pread(file->fd, bytes, room, (off_t)at)) > 0) {
		crc = lzma_crc32(bytes, (size_t)n, crc);
		at += (uint64_t)n;
	}
	free(bytes);
	return bytes && at == file->size && crc == wanted;
}

/* How far it was moved: the first segment is at the same place of both. */
static bool find_bias(const struct object *object, Elf *elf, int64_t *ret_bias)
{
	size_t n;

	*ret_bias = 0;
	if (object->n_segments == 0 || elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return false;
		if (phdr.p_type != PT_LOAD)
			continue;
		*ret_bias = (int64_t)(object->segments[0].elf_vaddr - phdr.p_vaddr);
		return true;
	}
	return true;
}

const char *debug_check_kind(const struct object *object, struct debug_file *file)
{
	GElf_Ehdr ehdr;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &ehdr))
		return "no ELF file, or a corrupt one";
	if (ehdr.e_machine != object->ehdr.e_machine ||
	    ehdr.e_ident[EI_CLASS] != object->ehdr.e_ident[EI_CLASS] ||
	    ehdr.e_ident[EI_DATA] != object->ehdr.e_ident[EI_DATA])
		return "for another machine";
	if (!find_bias(object, file->elf, &file->bias))
		return "a corrupt ELF file";
	return NULL;
}

/* Tables that lie in the file, and nothing that would take all memory to be looked at. */
static int begin_elf(struct debug_file *file, struct ubp_err *err)
{
	struct object header = { .path = file->path, .fd = file->fd, .size = file->size };
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (header_check_tables(&header, &ignored) < 0)
		return -EBADMSG;
	elf_version(EV_CURRENT);
	/* Not mapped, as the object. */
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	return file->elf ? elf_check_small(file->elf, file->size, file->path, err) : -EBADMSG;
}

/* -ENOEXEC: with a text, else without. */
static int open_elf(const struct object *object, const char *path, struct debug_file *file,
		    struct ubp_err *err)
{
	struct stat st;
	int rc;

	ubp_err_reset(err);
	*file = (struct debug_file){ .fd = file_open(path, &st) };
	if (file->fd < 0)
		return file->fd;
	file->size = (uint64_t)st.st_size;
	file->path = strdup(path);
	/* A link may lead back. */
	if (st.st_dev == object->dev && st.st_ino == object->ino)
		rc = -ELOOP;
	else
		rc = file->path ? begin_elf(file, err) : -ENOMEM;
	if (rc < 0)
		debug_file_close(file);
	return rc;
}

int debug_open_candidate(struct object *object, const char *path,
			 const struct debug_wanted *wanted, struct debug_file *ret_file)
{
	struct build_id id = { wanted->build_id, wanted->build_id_len }, other;
	char a[2 * BUILD_ID_MAX + 1], b[2 * BUILD_ID_MAX + 1];
	struct debug_file file;
	const char *why = NULL;
	struct ubp_err err;
	int rc = open_elf(object, path, &file, &err);

	if (rc == -ENOEXEC)
		debug_note_misfit(object, "%.200s", err.text);
	if (rc == -EBADMSG)
		debug_note_misfit(object, "%.160s is no ELF file", path);
	if (rc < 0)
		return rc;
	why = debug_check_kind(object, &file);
	other = debug_build_id(file.elf);
	if (why)
		debug_note_misfit(object, "%.160s is %s", path, why);
	else if (id.len && (other.len || !wanted->link)
			 ? !is_same_id(id, other)
			 : !has_crc(debug_of(object), &file, wanted->crc)) {
		why = "other";
		if (id.len)
			debug_note_misfit(
				object,
				"%.90s belongs to another build: its build-id is %.42s, wanted "
				"%.42s",
				path, other.len ? debug_spell_id(other, b) : "missing",
				debug_spell_id(id, a));
		else
			debug_note_misfit(object,
					  "%.160s belongs to another build: its checksum is "
					  "not the one in .gnu_debuglink",
					  path);
	}
	if (why) {
		debug_file_close(&file);
		return -ESTALE;
	}
	*ret_file = file;
	return 0;
}

/* --- the file that the user gave ---------------------------------------------------- */

static void check_given(struct object *object, struct debug_file *file, char *text, size_t size)
{
	struct build_id id = debug_build_id(object->elf), other = debug_build_id(file->elf);
	char a[2 * BUILD_ID_MAX + 1], b[2 * BUILD_ID_MAX + 1];
	const char *why = debug_check_kind(object, file);

	if (why)
		say(text, size, "%.160s is %s", file->path, why);
	else if (id.len && other.len && !is_same_id(id, other))
		say(text, size, "%.80s is not of this build: its build-id is %.42s, not %.42s",
		    file->path, debug_spell_id(other, b), debug_spell_id(id, a));
	else if (!id.len != !other.len)
		say(text, size, "%.160s is not of this build: it has %s build-id", file->path,
		    other.len ? "a" : "no");
	else if (!id.len && !is_same_text(object->elf, file->elf))
		say(text, size,
		    "%.160s is not of this build: its .text is at another place, or "
		    "of another size",
		    file->path);
}

int debug_open_given(struct object *object, const char *path, struct debug_file *ret_file,
		     char *text, size_t size)
{
	struct ubp_err err;
	int rc = open_elf(object, path, ret_file, &err);

	if (rc == -ENOEXEC)
		say(text, size, "%.200s", err.text);
	if (rc < 0) {
		say(text, size, "%.160s: %s", path,
		    rc == -EBADMSG ? "no ELF file"
		    : rc == -ELOOP ? "the very file that is probed"
				   : file_error(rc));
		return rc;
	}
	check_given(object, ret_file, text, size);
	if (text[0] == '\0')
		return 0;
	debug_file_close(ret_file);
	return -ESTALE;
}
