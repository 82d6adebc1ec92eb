/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Sites of probes are counted where they are planted (struct uprobe_stats), each as what it is just now. Those that a child
 * has from its parent are not.
 */

#ifndef UBP_PLANT_SITE_COUNTS_H
#define UBP_PLANT_SITE_COUNTS_H

#include <stdbool.h>

struct site;
struct uprobe;

/* @probe has @site now. @is_exit: as a place where its function is left. */
void count_site(const struct site *site, struct uprobe *probe, bool is_exit);
/* The site's jump was written, or (not @up) has become a breakpoint: for the probes that it was made for. */
void count_jump(const struct site *site, bool up);

#endif
