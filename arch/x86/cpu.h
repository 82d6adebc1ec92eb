/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What code in a program may ask of the processor. */

#ifndef UBP_ARCH_X86_CPU_H
#define UBP_ARCH_X86_CPU_H

/* detour_plan.has */
#define X86_HAS_FSGSBASE (1U << 0) /* rdfsbase, rdgsbase in programs */
#define X86_HAS_RDTSCP   (1U << 1)
#define X86_HAS_PREFETCHW (1U << 2)

/* A segment whose limit tells the processor, in the lowest 12 bits, under a 64-bit kernel. */
#define X86_CPU_SEGMENT 0x7b

#endif
