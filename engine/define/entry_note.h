/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A word to who reads a register of arguments where a function returns. */

#ifndef UBP_DEFINE_ENTRY_NOTE_H
#define UBP_DEFINE_ENTRY_NOTE_H

struct definitions;

/*
 * Tell, once for all return probes, what a register has by then that had an argument at the entry: whatever the function has left
 * there. By .opt.tell, if there is one; not in the kernel's grammar, nor of what variables became.
 */
void entry_note_tell(const struct definitions *defs);

#endif
