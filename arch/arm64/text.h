/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The words of an instruction, for people. */

#ifndef UBP_ARCH_ARM64_TEXT_H
#define UBP_ARCH_ARM64_TEXT_H

#include "arch/arch.h"

struct insn_text arm64_insn_text(const struct displaced_insn *insn);

#endif
