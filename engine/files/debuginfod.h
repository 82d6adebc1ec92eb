/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Debug files from a server (DEBUGINFOD_URLS). libdebuginfod is loaded when it is wanted, which
 * a static program cannot do: of debuginfod.c and debuginfod_static.c the makefile takes one.
 */

#ifndef UBP_FILES_DEBUGINFOD_H
#define UBP_FILES_DEBUGINFOD_H

#include <stddef.h>

/*
 * Where libdebuginfod put the debug file with this build-id, having asked the servers if it had
 * not before; the caller frees it. NULL: nobody wants that, nobody can, or nobody has it.
 */
char *debuginfod_find(const void *build_id, size_t len);

/* For messages: behind what else can be used to name a debug file. */
extern const char debuginfod_advice[];

#endif
