/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/process.h"

struct tracee *space_next(const struct space *space, const struct tracee *t)
{
	const struct process *p = t ? t->process->next : space->processes;

	if (t && t->next)
		return t->next;
	while (p && !p->tracees)
		p = p->next;
	return p ? p->tracees : NULL;
}

bool space_is_shared(const struct space *space)
{
	return space->processes && space->processes->next;
}
