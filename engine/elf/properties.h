/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What compilers and linkers have marked a file as. */

#ifndef UBP_ELF_PROPERTIES_H
#define UBP_ELF_PROPERTIES_H

#include <stdbool.h>

struct object;

/* Made by the Go compiler: its runtime moves stacks, and reads return addresses. */
bool object_is_go(const struct object *object);
/*
 * Is the thread's variable of Go's runtime, where it keeps which goroutine runs (runtime.tlsg), right below the thread pointer? It is in programs that have
 * no other.
 */
bool object_has_go_variable(const struct object *object);
/* Is it marked as made for shadow stacks (GNU_PROPERTY_X86_FEATURE_1_SHSTK)? */
bool object_wants_shadow_stack(const struct object *object);
/*
 * Is it marked so that indirect branches may lead to landing pads alone
 * (GNU_PROPERTY_AARCH64_FEATURE_1_BTI)?
 */
bool object_needs_landings(const struct object *object);

#endif
