/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: the record (struct gen_records). */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_RECORD_H
#define UBP_ARCH_X86_COMMON_DETOUR_RECORD_H

#include "arch/x86/common_gen.h"

/* Member of struct ring_thread, of struct ring_record. */
struct emit_mem x86_thread_mem(const struct gen *g, size_t member);
struct emit_mem x86_record_mem(const struct gen *g, size_t member);
/* .find_thread, once rax has the thread pointer. */
void x86_find_thread_of(struct gen *g);
/* .unless_off; no register is clobbered. */
void x86_unless_off(struct gen *g, uint32_t number, label_t off);
/* .switch_off. */
void x86_switch_off(struct gen *g, uint32_t number);
/* Where struct ring_thread is: a register, @to if need be. */
int x86_load_thread(struct gen *g, int to);
/* Behind what was reserved: memory that will be next is asked for. */
void x86_fetch_ahead(struct gen *g);
void x86_record_head(struct gen *g);
void x86_note_length(struct gen *g);
void x86_store_size(struct gen *g, uint32_t size);
void x86_commit(struct gen *g);
/* .give_back of what is no longer the last: it becomes void. */
void x86_void(struct gen *g, uint32_t max, label_t then);
void x86_count_lost(struct gen *g);
void x86_count_dropped(struct gen *g);

/* --- common_detour_claim.c -------------------------------------------------------- */

/* The entry at .regs.thread is this thread's, or to @other. Clobbers rax. */
void x86_check_self(struct gen *g, label_t other);
/* struct arch_detour, .build_claim_code; for detours of @isa. */
int x86_claim_code(const struct gen_isa *isa, int32_t self_at, unsigned has, uint8_t *code,
		   size_t max, size_t *ret_len);

#endif
