/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/state.h"

#include <stdio.h>

void plant_note_unread(struct plant *plant, const char *path)
{
	if (!plant->unread[0])
		(void)snprintf(plant->unread, sizeof(plant->unread), "%.255s", path);
}
