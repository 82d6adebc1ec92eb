/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A probe's handler (engine/ubp_handler.h) runs: the session has it, the hit is here. */

#ifndef UBP_HIT_HANDLE_H
#define UBP_HIT_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/hit/moment.h"
#include "engine/hit/state.h"

struct uprobe;

/* What a handler gets, and asks of the session by its functions. */
struct ubp_hit {
	struct hit *hit;
	struct moment *m;
	const struct uprobe *probe;
	size_t id;     /* by which the caller knows it: the session's */
	uint64_t addr; /* of the probe */
	bool is_return;
	bool has_changed;   /* anything */
	uint64_t n_refused; /* so often it was not to change something */
};

/* Whatever .filter says is done. Returns whether the hit is to be recorded. */
bool hit_handle(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t addr,
		bool is_return);

#endif
