/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/maker.h"

#include <stdlib.h>

#include "engine/define/definitions.h"
#include "engine/recording/probe_json.h"

struct session_maker *maker_new(void)
{
	struct session_maker *maker = calloc(1, sizeof(*maker));

	if (maker)
		maker->refs = 1;
	return maker;
}

struct session_maker *maker_get(struct session_maker *maker)
{
	if (maker)
		__atomic_fetch_add(&maker->refs, 1, __ATOMIC_RELAXED);
	return maker;
}

void maker_put(struct session_maker *maker)
{
	if (!maker || __atomic_sub_fetch(&maker->refs, 1, __ATOMIC_ACQ_REL))
		return;
	definitions_free(maker->defs);
	probe_of_json_free(maker->mirror);
	free(maker);
}
