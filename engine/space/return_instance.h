/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A return address that the tracer replaced, as engine/returns keeps it and a hit at the trampoline gets it. */

#ifndef UBP_SPACE_RETURN_INSTANCE_H
#define UBP_SPACE_RETURN_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/fetch_op.h"
#include "engine/space/uprobe.h"

struct return_list;
struct site;

/* What the return probes of a site keep of one entry, each in a place of its own. */
struct return_kept {
	unsigned n;
	struct return_kept_one {
		unsigned
			since; /* uprobe.life.since: whoever takes the probe's place has it, too */
		struct entry_values values;
	} v[];
};

/* A function that was entered and has not returned. */
struct return_entry {
	struct site *site;
	uint64_t entered_ns; /* in CLOCK_KIND_MONO */
	unsigned
		n_numbers; /* probes that came later (uprobe_is_since()) do not tell its return */
	struct return_kept *kept; /* its own; NULL: nothing */
};

/* A hijacked return address. */
struct return_instance {
	uint64_t slot_vaddr;    /* its stack word (arch/guard.h) */
	uint64_t real;          /* what stood there */
	pid_t tid;              /* who entered; 0: a thread that is gone */
	uint64_t serial;        /* counts up: the newest of a thread is the highest */
	uint64_t disarm_sp;     /* put back for an unwinder that was entered with this
			      * stack pointer; 0: hijacked */
	uint64_t outer;         /* stack word put back further out on its stack; 0: none */
	bool far;               /* put back, and on another stack than the unwinder's */
	enum missed_why missed; /* counted as missed for that; MISSED_N: not counted */
	bool uncounted;         /* the parent process entered: counted there */
	uint64_t index;         /* of its entry in the target's return table, + 1; 0: none */
	/* In a register at entry (RETURN_IN_REGISTER), and put back: the word where it was found, what
	 * stood there, what was put there. 0: it was in the register still. */
	uint64_t word_vaddr, word_was, word_is;
	bool is_sure; /* the frame record says that it is that word */
	/* An instance of the same stack pointer that was entered before, and is not left yet; in no list. */
	struct return_instance *under;
	struct return_list *list;
	struct return_instance *newer, *older;
	uint32_t n_entries, cap;
	struct return_entry *entries; /* functions that return there; a tail call adds one */
};

#endif
