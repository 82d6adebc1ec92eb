/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: the record (struct gen_records). */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_RECORD_H
#define UBP_ARCH_X86_COMMON_DETOUR_RECORD_H

#include "arch/x86/common_gen.h"

/* Member of struct ring_thread, of struct ring_record. */
struct emit_mem x86_thread_mem(const struct gen *g, size_t member);
struct emit_mem x86_record_mem(const struct gen *g, size_t member);
/* .unless_off; no register is clobbered. */
void x86_unless_off(struct gen *g, uint32_t number, label_t off);
/* .find_thread, once .regs.thread has the hash's offset, and the register @key the key. */
void x86_find_entry(struct gen *g, int key);
/* Where struct ring_thread is: a register, @to if need be. */
int x86_load_thread(struct gen *g, int to);
void x86_record_head(struct gen *g);
void x86_note_length(struct gen *g);
void x86_store_size(struct gen *g, uint32_t size);
void x86_commit(struct gen *g);
/* .give_back of what is no longer the last: it becomes void. */
void x86_void(struct gen *g, uint32_t max, label_t then);
void x86_count_lost(struct gen *g);
void x86_count_dropped(struct gen *g);

#endif
