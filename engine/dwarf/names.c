/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by name. */

#include <stdlib.h>

#include "engine/dwarf/priv.h"

void dw_free_names(struct dwarf *d)
{
	free(d->names);
}
