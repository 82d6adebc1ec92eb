/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: the notes of static probes. The input is how the file is made (a byte of HOW_), what
 * the note's section claims to be long where that is a lie (8 bytes), and the section's bytes. All
 * strings of a note must end within the file, and operands be taken or refused.
 */

#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/elf/notes.h"
#include "engine/elf/object.h"
#include "engine/symbols/operand_symbol.h"

#define HOW_32       1  /* ELFCLASS32 */
#define HOW_BIG      2  /* big-endian */
#define HOW_SEGMENT  4  /* no sections, but PT_NOTE */
#define HOW_ALLOC    8  /* the section is one that is loaded */
#define HOW_ALIGN_8  16 /* aligned by 8, not by 4 */
#define HOW_BASE     32 /* with a .stapsdt.base */
#define HOW_LIE      64 /* about the length */
#define NOTES_AT     0x200
#define NAMES        "\0.note.stapsdt\0.stapsdt.base\0.shstrtab"
#define NAME_NOTES   1
#define NAME_BASE    15
#define NAME_STRINGS 29

/* A file in the making. */
struct made {
	uint8_t *bytes;
	size_t at;
	bool is_big, is_32;
};

static void put(struct made *made, uint64_t n, size_t len)
{
	for (size_t i = 0; i < len; i++)
		made->bytes[made->at++] = (uint8_t)(n >> 8 * (made->is_big ? len - 1 - i : i));
}

static void put_word(struct made *made, uint64_t n)
{
	put(made, n, made->is_32 ? 4 : 8);
}

static void put_header(struct made *made, bool has_sections, uint64_t sections_at)
{
	static const uint8_t magic[EI_NIDENT] = { 0x7f, 'E', 'L', 'F' };

	memcpy(made->bytes, magic, sizeof(magic));
	made->bytes[EI_CLASS] = made->is_32 ? ELFCLASS32 : ELFCLASS64;
	made->bytes[EI_DATA] = made->is_big ? ELFDATA2MSB : ELFDATA2LSB;
	made->bytes[EI_VERSION] = EV_CURRENT;
	made->at = EI_NIDENT;
	put(made, ET_DYN, 2);
	put(made, made->is_32 ? EM_386 : EM_X86_64, 2);
	put(made, EV_CURRENT, 4);
	put_word(made, 0);
	put_word(made, made->is_32 ? 52 : 64);
	put_word(made, has_sections ? sections_at : 0);
	put(made, 0, 4);
	put(made, made->is_32 ? 52 : 64, 2);
	put(made, made->is_32 ? 32 : 56, 2);
	put(made, 2, 2);
	put(made, has_sections ? (made->is_32 ? 40 : 64) : 0, 2);
	put(made, has_sections ? 4 : 0, 2);
	put(made, has_sections ? 3 : 0, 2);
}

static void put_segment(struct made *made, uint32_t type, uint64_t at, uint64_t len,
			uint64_t align)
{
	put(made, type, 4);
	if (!made->is_32)
		put(made, PF_R | PF_X, 4);
	put_word(made, at);
	put_word(made, at);
	put_word(made, at);
	put_word(made, len);
	put_word(made, len);
	if (made->is_32)
		put(made, PF_R | PF_X, 4);
	put_word(made, align);
}

static void put_section(struct made *made, uint32_t name, uint32_t type, uint64_t flags,
			uint64_t at, uint64_t len, uint64_t align)
{
	put(made, name, 4);
	put(made, type, 4);
	put_word(made, flags);
	put_word(made, at);
	put_word(made, at);
	put_word(made, len);
	put(made, 0, 8);
	put_word(made, align);
	put_word(made, 0);
}

/* Returns the length; the bytes are allocated. */
static size_t make_file(uint8_t how, uint64_t lie, const struct fuzz_input *notes,
			uint8_t **ret_bytes)
{
	size_t names_at = NOTES_AT + notes->left, sections_at = names_at + sizeof(NAMES);
	size_t len = sections_at + (how & HOW_SEGMENT ? 0 : 4 * 64);
	struct made made = { .is_big = how & HOW_BIG, .is_32 = how & HOW_32 };
	uint64_t claimed = how & HOW_LIE ? lie : notes->left, align = how & HOW_ALIGN_8 ? 8 : 4;

	made.bytes = calloc(1, len + 64);
	CLAIM(made.bytes);
	put_header(&made, !(how & HOW_SEGMENT), sections_at);
	put_segment(&made, PT_LOAD, 0, len, 1);
	put_segment(&made, PT_NOTE, NOTES_AT, claimed, align);
	CLAIM(made.at <= NOTES_AT);
	memcpy(made.bytes + NOTES_AT, notes->at, notes->left);
	memcpy(made.bytes + names_at, NAMES, sizeof(NAMES));
	*ret_bytes = made.bytes;
	if (how & HOW_SEGMENT)
		return len;
	made.at = sections_at;
	put_section(&made, 0, SHT_NULL, 0, 0, 0, 0);
	put_section(&made, NAME_NOTES, SHT_NOTE, how & HOW_ALLOC ? SHF_ALLOC : 0, NOTES_AT,
		    claimed, align);
	put_section(&made, how & HOW_BASE ? NAME_BASE : 0, SHT_PROGBITS, SHF_ALLOC, 0x100, 1,
		    1);
	put_section(&made, NAME_STRINGS, SHT_STRTAB, 0, names_at, sizeof(NAMES), 1);
	return len;
}

struct looking {
	struct object *object;
	uint16_t machine;
	uint64_t probe;
	unsigned n;
};

static void ask_operands(const struct looking *looking, const char *at)
{
	while (*at) {
		const char *start = at;
		struct operand operand;
		struct ubp_err err;
		uint64_t value = 0;

		ubp_err_reset(&err);
		if (operand_parse(looking->machine, &at, &operand, &err) < 0) {
			at = start;
			operand_skip(looking->machine, &at);
		} else if (operand.symbol) {
			(void)object_operand_symbol(looking->object, &operand, looking->probe,
						    &value, &err);
		}
		CLAIM(at > start);
	}
}

static int see_note(void *ctx, const struct object_note *note)
{
	struct looking *looking = ctx;

	CLAIM(strlen(note->provider) < 1u << 20 && strlen(note->name) < 1u << 20);
	looking->probe = note->elf_vaddr;
	ask_operands(looking, note->args);
	/* Some callers have enough of it. */
	return ++looking->n == 7;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct fuzz_input in = { data, size };
	uint8_t how = (uint8_t)fuzz_number(&in, 1), *bytes;
	uint64_t lie = how & HOW_LIE ? fuzz_number(&in, 8) : 0;
	size_t len = make_file(how, lie, &in, &bytes);
	struct looking looking = { .machine = how & HOW_32 ? EM_386 : EM_X86_64 };
	struct ubp_err err;

	if (fd < 0) {
		fd = memfd_create("notes", MFD_CLOEXEC);
		CLAIM(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CLAIM(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, len, 0) == (ssize_t)len);
	free(bytes);
	ubp_err_reset(&err);
	if (object_open(path, &looking.object, &err) < 0) {
		CLAIM(err.text[0]);
		return 0;
	}
	CLAIM(object_each_note(looking.object, see_note, &looking) == (looking.n == 7));
	object_free(looking.object);
	return 0;
}
