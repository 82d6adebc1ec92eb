/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where the jumps of probes begin. */

#ifndef UBP_DEFINE_WINDOWS_H
#define UBP_DEFINE_WINDOWS_H

struct defined_probe;
struct definitions;
struct uprobe;

/* Can a jump stand there, and where does it begin? If it can't that is no error. 0 or -ENOMEM. */
int windows_find(struct definitions *defs, struct defined_probe *p);
/* definitions_settle() */
int windows_settle(struct definitions *defs);
/* definitions_find_lead() */
void windows_find_lead(const struct definitions *defs, struct uprobe *probe);

#endif
