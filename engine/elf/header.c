/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/header.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/os/untrusted_file.h"

/* The kernel runs no program with more (load_elf_phdrs()). */
#define PHDRS_LEN_MAX 65536

/* Linkers write a few dozen; what is not loaded costs memory all the same. */
#define SECTIONS_MAX 262144

/* By what names messages call machines, those that have no table (arch/arch.h), too; others are called as their table. */
static const struct {
	uint16_t machine;
	uint8_t elf_class; /* ELFCLASSNONE: any */
	const char *name;
	uint8_t order; /* ELFDATA2LSB, ...; ELFDATANONE: any */
} machines[] = {
	{ EM_X86_64, ELFCLASS64, "x86_64", ELFDATANONE },
	{ EM_X86_64, ELFCLASS32, "x32", ELFDATANONE },
	{ EM_386, ELFCLASSNONE, "i386", ELFDATANONE },
	{ EM_AARCH64, ELFCLASS64, "aarch64", ELFDATANONE },
	{ EM_ARM, ELFCLASSNONE, "arm", ELFDATANONE },
	{ EM_RISCV, ELFCLASS64, "riscv64", ELFDATANONE },
	{ EM_RISCV, ELFCLASS32, "riscv32", ELFDATANONE },
	{ EM_PPC64, ELFCLASSNONE, "ppc64le", ELFDATA2LSB },
	{ EM_PPC64, ELFCLASSNONE, "ppc64", ELFDATANONE },
	{ EM_PPC, ELFCLASSNONE, "ppc", ELFDATANONE },
	{ EM_S390, ELFCLASS64, "s390x", ELFDATANONE },
	{ EM_S390, ELFCLASS32, "s390", ELFDATANONE },
	{ EM_MIPS, ELFCLASS64, "mips64", ELFDATANONE },
	{ EM_MIPS, ELFCLASS32, "mips", ELFDATANONE },
	{ EM_SPARCV9, ELFCLASSNONE, "sparc64", ELFDATANONE },
	{ EM_SPARC, ELFCLASSNONE, "sparc", ELFDATANONE },
	{ EM_IA_64, ELFCLASSNONE, "ia64", ELFDATANONE },
	{ 258 /* EM_LOONGARCH */, ELFCLASSNONE, "loongarch", ELFDATANONE },
};

static void set_machine(struct object *object)
{
	const GElf_Ehdr *ehdr = &object->ehdr;
	uint8_t elf_class = ehdr->e_ident[EI_CLASS];
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]) && !name; i++)
		if (machines[i].machine == ehdr->e_machine &&
		    (machines[i].elf_class == elf_class ||
		     machines[i].elf_class == ELFCLASSNONE) &&
		    (machines[i].order == ehdr->e_ident[EI_DATA] ||
		     machines[i].order == ELFDATANONE))
			name = machines[i].name;
	/* All back-ends are little-endian. */
	if (ehdr->e_ident[EI_DATA] == ELFDATA2LSB)
		object->arch = ubp_arch_find(ehdr->e_machine, elf_class);
	if (!name && object->arch)
		name = object->arch->name;
	if (name)
		snprintf(object->machine_name, sizeof(object->machine_name), "%s", name);
	else
		snprintf(object->machine_name, sizeof(object->machine_name), "ELF machine %u",
			 ehdr->e_machine);
}

/* Reads numbers one after the other. */
struct cursor {
	const struct object *object;
	const uint8_t *at;
};

static uint64_t next_number(struct cursor *c, size_t len)
{
	uint64_t number = object_number(c->object, c->at, len);

	c->at += len;
	return number;
}

static void decode_header(struct object *object, const uint8_t *raw)
{
	GElf_Ehdr *ehdr = &object->ehdr;
	struct cursor c = { .object = object, .at = raw + EI_NIDENT };
	size_t word = raw[EI_CLASS] == ELFCLASS64 ? 8 : 4;

	memcpy(ehdr->e_ident, raw, EI_NIDENT);
	ehdr->e_type = (uint16_t)next_number(&c, 2);
	ehdr->e_machine = (uint16_t)next_number(&c, 2);
	ehdr->e_version = (uint32_t)next_number(&c, 4);
	ehdr->e_entry = next_number(&c, word);
	ehdr->e_phoff = next_number(&c, word);
	ehdr->e_shoff = next_number(&c, word);
	ehdr->e_flags = (uint32_t)next_number(&c, 4);
	ehdr->e_ehsize = (uint16_t)next_number(&c, 2);
	ehdr->e_phentsize = (uint16_t)next_number(&c, 2);
	ehdr->e_phnum = (uint16_t)next_number(&c, 2);
	ehdr->e_shentsize = (uint16_t)next_number(&c, 2);
	ehdr->e_shnum = (uint16_t)next_number(&c, 2);
	ehdr->e_shstrndx = (uint16_t)next_number(&c, 2);
}

static int not_elf(const struct object *object, const uint8_t *raw, size_t len,
		   struct ubp_err *err)
{
	size_t n = 0;

	if (object->size == 0)
		return ubp_fail(err, ENOEXEC, "%s: empty, not an ELF file", object->path);
	if (len >= 2 && memcmp(raw, "#!", 2) == 0)
		return ubp_fail(err, ENOEXEC, "%s: a script, not an ELF file", object->path);
	while (n < len && (raw[n] >= ' ' || raw[n] == '\n' || raw[n] == '\t'))
		n++;
	return ubp_fail(err, ENOEXEC, "%s: %snot an ELF file", object->path,
			n == len ? "a text, " : "");
}

static int check_type(const struct object *object, struct ubp_err *err)
{
	switch (object->ehdr.e_type) {
	case ET_EXEC:
	case ET_DYN:
		return 0;
	case ET_REL:
		return ubp_fail(err, ENOEXEC,
				"%s: an object file (not linked), no program or library",
				object->path);
	case ET_CORE:
		return ubp_fail(err, ENOEXEC, "%s: a core dump, no program or library",
				object->path);
	default:
		return ubp_fail(err, ENOEXEC, "%s: ELF type %u, no program or library",
				object->path, object->ehdr.e_type);
	}
}

/* Does a table of @n entries lie in the file? */
static int check_table(const struct object *object, const char *what, uint64_t foffset,
		       uint64_t n, size_t entry, size_t want_entry, struct ubp_err *err)
{
	if (entry != want_entry)
		return ubp_fail(err, ENOEXEC,
				"%s: corrupt ELF file: %s have %zu bytes each, not %zu",
				object->path, what, entry, want_entry);
	if (foffset > object->size || n > (object->size - foffset) / entry)
		return ubp_fail(
			err, ENOEXEC,
			"%s: ELF file is cut short: %s at 0x%llx, file has 0x%llx bytes",
			object->path, what, (unsigned long long)foffset,
			(unsigned long long)object->size);
	return 0;
}

/*
 * Counts too large for the header stand in section 0: sh_size for sections,
 * sh_info for segments (gABI, "ELF header").
 */
static int large_counts(const struct object *object, uint64_t *n_sections, uint64_t *n_segments,
			struct ubp_err *err)
{
	bool is_64 = object->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	uint8_t raw[sizeof(Elf64_Shdr)];
	size_t len = is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	ssize_t n = object_read(object, object->ehdr.e_shoff, raw, len);

	if (n < 0)
		return ubp_fail(err, (int)-n, "%s: read: %s", object->path, strerror((int)-n));
	if ((size_t)n < len)
		return check_table(object, "section headers", object->ehdr.e_shoff, 1, len, len,
				   err);
	if (*n_sections == 0)
		*n_sections = is_64 ? object_number(object, raw + 32, 8)
				    : object_number(object, raw + 20, 4);
	if (*n_segments == PN_XNUM)
		*n_segments = object_number(object, raw + (is_64 ? 44 : 28), 4);
	return 0;
}

static int check_tables(const struct object *object, struct ubp_err *err)
{
	const GElf_Ehdr *ehdr = &object->ehdr;
	bool is_64 = ehdr->e_ident[EI_CLASS] == ELFCLASS64;
	uint64_t n_sections = ehdr->e_shnum, n_segments = ehdr->e_phnum;
	int rc = 0;

	if (ehdr->e_shoff != 0 && (n_sections == 0 || n_segments == PN_XNUM))
		rc = large_counts(object, &n_sections, &n_segments, err);
	if (rc == 0 && n_segments * ehdr->e_phentsize > PHDRS_LEN_MAX)
		rc = ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: 0x%llx program headers",
			      object->path, (unsigned long long)n_segments);
	if (rc == 0 && ehdr->e_shoff != 0 && n_sections > SECTIONS_MAX)
		rc = ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: 0x%llx section headers",
			      object->path, (unsigned long long)n_sections);
	if (rc == 0 && n_segments != 0)
		rc = check_table(object, "program headers", ehdr->e_phoff, n_segments,
				 ehdr->e_phentsize,
				 is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), err);
	if (rc == 0 && ehdr->e_shoff != 0 && n_sections != 0)
		rc = check_table(object, "section headers", ehdr->e_shoff, n_sections,
				 ehdr->e_shentsize,
				 is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), err);
	return rc;
}

static int read_header(struct object *object, struct ubp_err *err)
{
	uint8_t raw[sizeof(Elf64_Ehdr)] = { 0 };
	ssize_t n = object_read(object, 0, raw, sizeof(raw));
	size_t want;

	if (n < 0)
		return ubp_fail(err, (int)-n, "%s: read: %s", object->path, strerror((int)-n));
	if (n < SELFMAG || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return not_elf(object, raw, (size_t)n, err);
	want = n > EI_CLASS && raw[EI_CLASS] == ELFCLASS32 ? sizeof(Elf32_Ehdr)
							   : sizeof(Elf64_Ehdr);
	if ((size_t)n < want)
		return ubp_fail(
			err, ENOEXEC,
			"%s: ELF file is cut short: ELF header of 0x%zx bytes, file has "
			"0x%zx bytes",
			object->path, want, (size_t)n);
	if ((raw[EI_CLASS] != ELFCLASS32 && raw[EI_CLASS] != ELFCLASS64) ||
	    (raw[EI_DATA] != ELFDATA2LSB && raw[EI_DATA] != ELFDATA2MSB) ||
	    raw[EI_VERSION] != EV_CURRENT)
		return ubp_fail(err, ENOEXEC,
				"%s: corrupt ELF file: class %u, byte order %u, version %u",
				object->path, raw[EI_CLASS], raw[EI_DATA], raw[EI_VERSION]);
	/* The byte order must be known before numbers can be read. */
	memcpy(object->ehdr.e_ident, raw, EI_NIDENT);
	decode_header(object, raw);
	return 0;
}

int header_check(struct object *object, struct ubp_err *err)
{
	int rc = read_header(object, err);

	if (rc < 0)
		return rc;
	set_machine(object);
	rc = check_type(object, err);
	return rc < 0 ? rc : check_tables(object, err);
}

int header_check_tables(struct object *object, struct ubp_err *err)
{
	int rc = read_header(object, err);

	return rc < 0 ? rc : check_tables(object, err);
}

int header_peek(const char *path, struct elf_ident *ret_ident)
{
	uint8_t raw[EI_NIDENT + 4];
	struct stat st;
	ssize_t n;
	int fd = file_open(path, &st), saved;

	if (fd < 0)
		return fd;
	n = pread(fd, raw, sizeof(raw), 0);
	saved = errno;
	close(fd);
	if (n < 0)
		return -saved;
	if (n != sizeof(raw) || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	ret_ident->elf_class = raw[EI_CLASS];
	ret_ident->machine = raw[EI_DATA] == ELFDATA2MSB ? (uint16_t)(raw[18] << 8 | raw[19])
							 : (uint16_t)(raw[19] << 8 | raw[18]);
	return 0;
}
