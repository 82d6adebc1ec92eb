/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A probe's handler (engine/ubp_handler.h) runs: the session has it, the hit is here. */

#ifndef UBP_HIT_HANDLE_H
#define UBP_HIT_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/hit/moment.h"
#include "engine/hit/state.h"
#include "engine/space/uprobe.h"

struct ubp_session;

struct hit_reach;

/* What a handler gets, and asks of the session by its functions: on the tracing thread, or in a host whose engine is apart (.reach is another then). */
struct ubp_hit {
	const struct hit_reach *reach; /* the session's: how memory and stack are got at */
	const struct ubp_arch *arch;
	struct uprobe_handler its;
	const struct ubp_regs *regs; /* as the probe sees them */
	struct hit_change *change;   /* NULL: nothing is to be changed */
	size_t id;                   /* by which the caller knows the probe: the session's */
	uint64_t addr;               /* of the probe */
	uint64_t now_ns;
	pid_t pid, tid;
	bool is_return;
	bool has_changed;   /* anything */
	uint64_t n_refused; /* so often it was not to change something */
	/* Of the thread; in a host these are NULL. */
	struct hit *hit;
	struct moment *m;
	const struct uprobe *probe;
	/* In a host: its session. */
	struct ubp_session *session;
};

/* Whatever .filter says is done. Returns whether the hit is to be recorded. */
bool hit_handle(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t addr,
		bool is_return);

#endif
