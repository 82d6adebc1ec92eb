/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: call frame information, and stacks that it is applied to. The input: how (bit 0:
 * .debug_frame instead of .eh_frame), words of a stack, the section. A program is made around that;
 * its code is asked about at many places, and each answer is carried out.
 */

#include "engine/trace/process.h"
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/elf/cfi.h"
#include "engine/elf/object.h"
#include "engine/stack/caller.h"

#define SECTION_AT 0x1000
#define FRAMES     12

static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";

static void put_sections(uint8_t *file, size_t at, size_t len, bool is_debug)
{
	Elf64_Shdr *headers = (Elf64_Shdr *)(file + at);

	headers[1] = (Elf64_Shdr){
		.sh_name = is_debug ? 11 : 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = is_debug ? 0 : SHF_ALLOC,
		.sh_addr = is_debug ? 0 : SECTION_AT,
		.sh_offset = SECTION_AT,
		.sh_size = len,
		.sh_addralign = 8,
	};
	headers[2] = (Elf64_Shdr){
		.sh_name = 24,
		.sh_type = SHT_STRTAB,
		.sh_offset = 0x800,
		.sh_size = sizeof(names),
		.sh_addralign = 1,
	};
}

/* Allocated. */
static uint8_t *make_file(const uint8_t *section, size_t len, bool is_debug, size_t *ret_len)
{
	size_t headers_at = (SECTION_AT + len + 15) & ~(size_t)15;
	uint8_t *file = calloc(1, headers_at + 3 * sizeof(Elf64_Shdr));
	Elf64_Ehdr *head = (Elf64_Ehdr *)file;

	CLAIM(file);
	*ret_len = headers_at + 3 * sizeof(Elf64_Shdr);
	*head = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(*head),
		.e_shoff = headers_at,
		.e_ehsize = sizeof(*head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	*(Elf64_Phdr *)(file + sizeof(*head)) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = *ret_len,
		.p_memsz = *ret_len,
		.p_align = 0x1000,
	};
	memcpy(file + 0x800, names, sizeof(names));
	memcpy(file + SECTION_AT, section, len);
	put_sections(file, headers_at, len, is_debug);
	return file;
}

/* Steps from frame to frame as long as there is a row; never too many. */
static void walk(struct cfi *cfi, const struct space *space, uint64_t *stack, size_t n_words,
		 uint64_t pc)
{
	static struct stack_memory memory;
	const struct ubp_arch *arch = space->arch;
	struct ubp_regs regs = { 0 };
	struct stack_frame frame;
	unsigned n = 0;

	for (unsigned i = 0; i < arch->unwind.n_regs; i++)
		regs.r[arch->unwind.regs[i]] = stack[i % n_words];
	regs.r[arch->reg.pc] = pc;
	regs.r[arch->reg.sp] = regs.r[arch->reg.fp] = (uint64_t)(uintptr_t)stack;
	stack_memory_begin(&memory, NULL, getpid(), regs.r[arch->reg.sp]);
	stack_frame_begin(&frame, space, &memory, &regs);
	while (n++ < FRAMES) {
		struct cfi_row *row = cfi_row_at(cfi, frame.pc - frame.is_call);
		bool more;

		if (row) {
			CLAIM(row->n_rules <= arch->unwind.n_regs &&
			      row->ret_reg < arch->unwind.n_regs);
			for (unsigned i = 0; i < row->n_rules; i++)
				CLAIM(row->rules[i].reg < arch->unwind.n_regs);
		}
		more = row ? stack_frame_by_row(&frame, row)
			   : stack_frame_by_frame_pointer(&frame);
		free(row);
		if (!more)
			break;
	}
	CLAIM(memory.n_reads <= STACK_READS);
	(void)stack_frame_by_signal(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	bool is_debug = fuzz_number(&in, 1) & 1;
	size_t n_words = 32 + fuzz_number(&in, 1), len;
	uint64_t *stack = calloc(n_words, sizeof(*stack));
	struct space space = { .arch = ubp_host_arch() };
	struct object *object = NULL;
	static char path[64];
	static int fd = -1;
	struct ubp_err err;
	struct cfi *cfi;
	uint8_t *file;

	CLAIM(stack);
	for (size_t i = 0; i < n_words; i++) {
		uint16_t word = (uint16_t)fuzz_number(&in, 2);

		/* Code, or another place on this stack. */
		stack[i] = word & 1 ? (uint64_t)(uintptr_t)&stack[word % n_words] : word;
	}
	if (fd < 0) {
		fd = memfd_create("unwind", MFD_CLOEXEC);
		CLAIM(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	file = make_file(in.at, in.left, is_debug, &len);
	CLAIM(ftruncate(fd, 0) == 0 && pwrite(fd, file, len, 0) == (ssize_t)len);
	CLAIM(object_open(path, &object, &err) == 0);
	cfi = cfi_new(object, space.arch->unwind.n_regs);
	CLAIM(cfi);
	for (uint64_t pc = 0; pc < 0x10000; pc += pc < 0x60 ? 1 : 0xbf3)
		walk(cfi, &space, stack, n_words, pc);
	walk(cfi, &space, stack, n_words, UINT64_MAX);
	cfi_free(cfi);
	object_free(object);
	free(file);
	free(stack);
	return 0;
}
