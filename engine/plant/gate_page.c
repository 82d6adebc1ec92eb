/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/gate_page.h"

#include <string.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"

static int advise(const struct held *held, int advice, struct ubp_err *err)
{
	const struct space *space = held->t->process->space;
	const struct plant_space *ps = space->plant;
	const uint64_t args[6] = { guard_gate(ps), UBP_GUARD_DATA_LEN - UBP_GUARD_GATE,
				   (uint64_t)advice };
	int64_t result;
	int rc = area_call(held, ps->stub, space->arch->call.nr_madvise, args, &result, err);

	if (rc < 0 || result == 0)
		return rc;
	return ubp_fail(err, (int)-result, "madvise(%d): %s", advice, strerror((int)-result));
}

int gate_page_wipe(const struct held *held, struct ubp_err *err)
{
	int rc = advise(held, MADV_WIPEONFORK, err);

	/* The process may be gone. */
	if (rc == 0)
		held->t->process->probes->is_wiped = true;
	return rc;
}

void gate_page_keep(const struct held *held)
{
	struct process_probes *probes = held->t->process->probes;
	struct ubp_err ignored;

	if (probes->is_wiped && advise(held, MADV_KEEPONFORK, &ignored) == 0)
		probes->is_wiped = false;
}
