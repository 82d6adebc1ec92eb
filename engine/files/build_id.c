/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/build_id.h"

#include "engine/elf/object_priv.h"
#include "engine/files/debug_file.h"

void object_build_id(const struct object *object, char text[BUILD_ID_TEXT])
{
	_Static_assert(BUILD_ID_TEXT == 2 * BUILD_ID_MAX + 1, "two digits a byte");
	(void)debug_spell_id(debug_build_id(object->elf), text);
}
