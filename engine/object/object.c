/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/object/decoded.h"
#include "engine/object/eh_frame.h"
#include "engine/object/elf_size.h"
#include "engine/object/file.h"
#include "engine/object/header.h"
#include "engine/object/landings.h"
#include "engine/object/object_priv.h"
#include "engine/object/symtab.h"

/* The size of a page a cave may end at: the smallest of any machine. */
#define CAVE_PAGE  UINT64_C(4096)
#define CAVE_ALIGN UINT64_C(16)

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
	return object_read_dynamic(object, err);
}

int object_open(const char *path, struct object **ret_object, struct ubp_err *err)
{
	struct object *object = calloc(1, sizeof(*object));
	int rc;

	if (!object)
		return ubp_fail(err, ENOMEM, "out of memory");
	object->fd = -1;
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

void object_free(struct object *object)
{
	if (!object)
		return;
	decoded_free(object->decoded);
	object_free_debug(object);
	landings_free(object->landings);
	fde_table_free(object->fdes);
	symtab_free(object->symtab);
	elf_end(object->elf);
	if (object->fd >= 0)
		close(object->fd);
	free(object->needed);
	free(object->interp);
	free(object->segments);
	free(object->path);
	free(object);
}

const char *object_path(const struct object *object)
{
	return object->path;
}

uint64_t object_dev(const struct object *object)
{
	return object->dev;
}

uint64_t object_ino(const struct object *object)
{
	return object->ino;
}

uint64_t object_size(const struct object *object)
{
	return object->size;
}

const struct ubp_arch *object_arch(const struct object *object)
{
	return object->arch;
}

const char *object_machine_name(const struct object *object)
{
	return object->machine_name;
}

uint16_t object_machine(const struct object *object)
{
	return object->ehdr.e_machine;
}

bool object_is_64bit(const struct object *object)
{
	return gelf_getclass(object->elf) == ELFCLASS64;
}

uint64_t object_entry(const struct object *object)
{
	GElf_Ehdr header;

	return gelf_getehdr(object->elf, &header) ? header.e_entry : 0;
}

bool object_is_pie(const struct object *object)
{
	return object->ehdr.e_type == ET_DYN;
}

const char *object_interp(const struct object *object)
{
	return object->interp;
}

int object_foffset_to_vaddr(const struct object *object, uint64_t foffset,
			    uint64_t *ret_elf_vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (foffset < s->foffset || foffset - s->foffset >= s->file_len)
			continue;
		if (!found || (s->is_exec && !found->is_exec))
			found = s;
	}
	if (!found)
		return -ENOENT;
	*ret_elf_vaddr = found->elf_vaddr + (foffset - found->foffset);
	return 0;
}

const struct segment *object_segment_of(const struct object *object, uint64_t elf_vaddr)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (elf_vaddr >= s->elf_vaddr && elf_vaddr - s->elf_vaddr < s->file_len)
			return s;
	}
	return NULL;
}

int object_vaddr_to_foffset(const struct object *object, uint64_t elf_vaddr,
			    uint64_t *ret_foffset)
{
	const struct segment *s = object_segment_of(object, elf_vaddr);

	if (!s)
		return -ENOENT;
	*ret_foffset = s->foffset + (elf_vaddr - s->elf_vaddr);
	return 0;
}

int object_data_foffset(const struct object *object, uint64_t elf_vaddr, uint64_t *ret_foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (elf_vaddr < s->elf_vaddr || elf_vaddr - s->elf_vaddr >= s->mem_len ||
		    s->is_exec)
			continue;
		*ret_foffset = s->foffset + (elf_vaddr - s->elf_vaddr);
		return 0;
	}
	return -ENOENT;
}

bool object_is_bss(const struct object *object, uint64_t foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (!s->is_exec && foffset >= s->foffset &&
		    foffset - s->foffset >= s->file_len && foffset - s->foffset < s->mem_len)
			return true;
	}
	return false;
}

bool object_is_executable(const struct object *object, uint64_t foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (s->is_exec && foffset >= s->foffset && foffset - s->foffset < s->file_len)
			return true;
	}
	return false;
}

ssize_t object_read(const struct object *object, uint64_t foffset, void *buf, size_t len)
{
	size_t done = 0;

	if (foffset > INT64_MAX || len > INT64_MAX - foffset)
		return -EINVAL;
	while (done < len) {
		ssize_t n = pread(object->fd, (char *)buf + done, len - done,
				  (off_t)(foffset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Does a segment other than @own use memory in [@from, @to)? */
static bool is_used_by_another(const struct object *object, const struct segment *own,
			       uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (s != own && s->mem_len != 0 && s->elf_vaddr < to &&
		    s->elf_vaddr + s->mem_len > from)
			return true;
	}
	return false;
}

/* The cave behind one segment: its start, and its length (0: none). */
static uint64_t cave_behind(const struct object *object, const struct segment *s,
			    uint64_t *ret_elf_vaddr)
{
	uint64_t end = s->elf_vaddr + s->file_len, start, page_end, foffset;
	uint8_t bytes[CAVE_PAGE] = { 0 };
	size_t len, n;

	if (!s->is_exec || s->file_len == 0 || s->file_len != s->mem_len ||
	    end > UINT64_MAX - CAVE_PAGE)
		return 0;
	start = (end + CAVE_ALIGN - 1) & ~(CAVE_ALIGN - 1);
	page_end = (end + CAVE_PAGE - 1) & ~(CAVE_PAGE - 1);
	if (start >= page_end || is_used_by_another(object, s, start, page_end))
		return 0;
	len = page_end - start;
	foffset = s->foffset + s->file_len + (start - end);
	/* Behind the end of the file the kernel fills the page with zeroes. */
	if (foffset < object->size && object_read(object, foffset, bytes, len) < 0)
		return 0;
	for (n = 0; n < len && bytes[n] == 0; n++)
		;
	*ret_elf_vaddr = start;
	return n;
}

int object_find_bytes_slack(const struct object *object, uint64_t need, uint64_t *ret_elf_vaddr,
			    uint64_t *ret_len)
{
	uint64_t best = 0, best_vaddr = 0;

	for (size_t i = 0; i < object->n_segments; i++) {
		uint64_t vaddr = 0;
		uint64_t len = cave_behind(object, &object->segments[i], &vaddr);

		if (len > best) {
			best = len;
			best_vaddr = vaddr;
		}
	}
	if (best == 0 || best < need)
		return -ENOSPC;
	*ret_elf_vaddr = best_vaddr;
	*ret_len = best;
	return 0;
}

uint64_t object_number(const struct object *object, const uint8_t *bytes, size_t len)
{
	bool is_lsb = object->ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++)
		number = number << 8 | bytes[is_lsb ? len - 1 - i : i];
	return number;
}
