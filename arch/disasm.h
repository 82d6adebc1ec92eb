/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions as capstone writes them. */

#ifndef UBP_ARCH_DISASM_H
#define UBP_ARCH_DISASM_H

#include <capstone/capstone.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * capstone sorts tables of its own on first use, without a lock, whatever handle is used.
 * The handle is dear to open and is kept.
 */
struct disasm {
	cs_arch arch;
	cs_mode mode;
	pthread_mutex_t lock;
	csh handle; /* 0: not open yet */
	cs_insn *insn;
};

#define DISASM(arch_, mode_)                                                                   \
	{                                                                                      \
		.arch = (arch_), .mode = (mode_), .lock = PTHREAD_MUTEX_INITIALIZER            \
	}

/* The instruction of @len bytes that stands at @vaddr. False: capstone does not know it. */
bool disasm_text(struct disasm *disasm, const uint8_t *code, size_t len, uint64_t vaddr,
		 char *text, size_t size);

#endif
