/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The page of struct guard_gate (arch/guard.h): a child of fork() may find it wiped, so that its detours do nothing. */

#ifndef UBP_PLANT_GATE_PAGE_H
#define UBP_PLANT_GATE_PAGE_H

struct held;
struct ubp_err;

/* The kernel is asked for that, by @held's thread. Returns 0 or -errno. */
int gate_page_wipe(const struct held *held, struct ubp_err *err);
/* Where that was done, the page is as others again, and in no mapping of its own. */
void gate_page_keep(const struct held *held);

#endif
