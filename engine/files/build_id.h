/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a file is known by, wherever it is: the number that its linker gave it. */

#ifndef UBP_FILES_BUILD_ID_H
#define UBP_FILES_BUILD_ID_H

/* Room for one as text. */
#define BUILD_ID_TEXT 129

struct object;

/* In hexadecimal digits; "": it has none. */
void object_build_id(const struct object *object, char text[BUILD_ID_TEXT]);

#endif
