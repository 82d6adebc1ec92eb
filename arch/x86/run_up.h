/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions of a run-up (arch/detour.h). */

#ifndef UBP_ARCH_X86_RUN_UP_H
#define UBP_ARCH_X86_RUN_UP_H

#include <stdbool.h>

struct displaced_insn;

/* struct arch_jump, .runs_anywhere. */
bool x86_runs_anywhere(const struct displaced_insn *insn);
bool x86_runs_or_faults(const struct displaced_insn *insn);

#endif
