/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a function is left: which jump can stand there? */

#ifndef UBP_DEFINE_EXIT_JUMPS_H
#define UBP_DEFINE_EXIT_JUMPS_H

struct uprobe;

/* At which of its exits, which are known, jumps can stand: on the ret or on a run-up to it. See definitions_find_exit_jumps(). */
void exit_jumps_find(struct uprobe *probe);

#endif
