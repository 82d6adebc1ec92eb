/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/parts.h"

#include <stddef.h>

#include "engine/plant/areas.h"
#include "engine/plant/guard.h"
#include "engine/plant/jump.h"
#include "engine/plant/leftover_parts.h"
#include "engine/plant/rings.h"
#include "engine/plant/semaphore.h"
#include "engine/plant/site.h"
#include "engine/plant/watch.h"
#include "engine/returns/hijack.h"
#include "engine/returns/returns.h"
#include "engine/space/part.h"

/* clang-format off */
static const struct part parts[] = {
	/* take over             copied by fork    left               forgotten */
	{ NULL,                 sites_copy,       sites_leave,       sites_forget },
	{ leftover_areas,       areas_copy,       NULL,              areas_forget },
	{ leftover_guard,       guard_copy,       NULL,              NULL },
	{ leftover_rings,       rings_copy,       rings_leave,       rings_forget },
	{ NULL,                 jumps_copy,       jumps_leave,       jumps_forget },
	{ leftover_hijacks,     hijacks_copy,     NULL,              hijacks_forget },
	{ leftover_returns,     returns_copy,     returns_leave,     returns_free },
	{ leftover_watch,       watch_copy,       NULL,              NULL },
	{ leftover_semaphores,  semaphores_copy,  semaphores_leave,  semaphores_forget },
};
/* clang-format on */

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

int parts_take_over(struct adoption *a)
{
	int rc = 0;

	for (size_t i = 0; i < N_PARTS && rc == 0; i++)
		rc = parts[i].take_over ? parts[i].take_over(a) : 0;
	return rc;
}

int parts_copy(const struct part_copied *c)
{
	int rc = 0;

	for (size_t i = 0; i < N_PARTS && rc == 0; i++)
		rc = parts[i].copy ? parts[i].copy(c) : 0;
	return rc;
}

void parts_leave(struct part_left *l)
{
	for (size_t i = N_PARTS; i-- > 0;)
		if (parts[i].leave)
			parts[i].leave(l);
}

void parts_forget(struct plant_space *ps)
{
	for (size_t i = N_PARTS; i-- > 0;)
		if (parts[i].forget)
			parts[i].forget(ps);
}
