/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What detours make of a hit that is told of, or counted: a part of arch/gen.h. */

#ifndef UBP_ARCH_GEN_RECORD_H
#define UBP_ARCH_GEN_RECORD_H

#include "arch/gen.h"

/* --- gen_record.c --------------------------------------------------------------------- */

/* What is made of the data of a hit that the filter lets through; on, or to @done. The room for a record is reserved, its head not written. */
typedef void gen_end_fn(struct gen *g, label_t done);

/* From the filter's yes on, for probe @i of the plan; to @trap where it can't be done. @counted: in place of a record; or NULL. */
void gen_record(struct gen *g, label_t trap, size_t i, gen_end_fn *counted);

/* Behind it, all of it but its data. */
void gen_record_end(struct gen *g, uint32_t max);
/* What comes to @at gives back the room, and goes to @on. */
void gen_record_undo(struct gen *g, label_t at, label_t on);
/* What it reserves. */
uint32_t gen_record_max(const struct gen *g);

/* --- gen_sample.c --------------------------------------------------------------------- */

/* Does the code tell which hits of @probe are taken? Is it asked before there is a record? */
bool gen_samples(const struct gen *g, const struct detour_probe *probe);
bool gen_sample_is_early(const struct gen *g, const struct detour_probe *probe);
/* With early registers saved: the thread is known then. What is not taken goes to @skip. */
void gen_sample_early(struct gen *g, label_t skip);
/* Then, with all saved: where what can't be recorded goes, in place of @trap. */
label_t gen_sample_back(struct gen *g, label_t trap);
/* The data is in the record, and the filter has said yes. What is not taken goes to @done; gen.fail puts back from here on. */
void gen_sample_late(struct gen *g, label_t done);
/* The record, whose head is written, tells of a hit that was taken. */
void gen_sample_mark(struct gen *g);

/* --- gen_tally.c ---------------------------------------------------------------------- */

/* With the early registers saved, in front of the trap of a hit of @probe: tally_place.asks_when_full. */
void gen_tally_ask(struct gen *g, const struct detour_probe *probe);
/* As gen_record(), for a probe that counts. False: it records its hits. */
bool gen_tally(struct gen *g, label_t trap, size_t i);
/* Does it do nothing but count? */
bool gen_tally_is_bare(const struct gen *g, const struct detour_probe *probe);
/* What makes the value of a field without the program's memory, where all args of the plan are such. NULL: it is in the record. */
const struct fetch_op *gen_tally_source(const struct gen *g, const struct tally_field *field);

#endif
