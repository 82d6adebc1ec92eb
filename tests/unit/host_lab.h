/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The laboratory (lab.h) of the machine that this is built for, or no LAB_SITE. */

#ifndef UBP_TESTS_HOST_LAB_H
#define UBP_TESTS_HOST_LAB_H

#if defined(__x86_64__)
#include "tests/unit/x86_lab.h"
#elif defined(__aarch64__) && !defined(RUN_BITS)
#include "tests/unit/arm64_lab.h"
#endif

#endif
