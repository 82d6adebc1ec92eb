/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The probes of a session, in versions. A list never changes: adding and retiring probes makes another one, which
 * is what the tracing thread goes by from then on. Others (who looks for new processes) take the current one for as long
 * as they need it. A list is freed when nobody has it, and holds a reference to each of its probes.
 */

#ifndef UBP_SPACE_PROBE_LIST_H
#define UBP_SPACE_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plant;
struct uprobe;

struct probe_list {
	unsigned refs;      /* atomic */
	unsigned version;   /* of the first that is not empty: 1 */
	unsigned n_numbers; /* all numbers that there were so far are below this */
	size_t n;
	struct uprobe **v; /* by file, offset, and number */
	bool has_returns;  /* one of them is a return probe */
	bool has_refs;     /* one of them has a reference counter */
};

/* Zeroed memory is an empty one. On the tracing thread, or before that is there; 0 or -ENOMEM. */
int probe_lists_init(struct plant *plant);
/* Nobody has a list any more. */
void probe_lists_free(struct plant *plant);

/*
 * On the tracing thread (or before it is there): the next version has @added, too, and those with the numbers in
 * @retired no more. Each of @added gets a reference of the list's. Returns 0, or -ENOMEM: it stays as it is.
 */
int probe_list_change(struct plant *plant, struct uprobe *const *added, size_t n_added,
		      const unsigned *retired, size_t n_retired);

/* The tracing thread's, until it changes it. Never NULL: without probes it is empty. */
const struct probe_list *probe_list(const struct plant *plant);
/* From any thread: the same, to be given back. */
struct probe_list *probe_list_get(struct plant *plant);
void probe_list_put(struct probe_list *list);

/* The first in this file that is not below @foffset: an index. */
size_t probe_list_first(const struct probe_list *list, uint64_t dev, uint64_t ino,
			uint64_t foffset);
/* Is something in this file probed? */
bool probe_list_has_file(const struct probe_list *list, uint64_t dev, uint64_t ino);

#endif
