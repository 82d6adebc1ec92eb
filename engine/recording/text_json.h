/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names and paths as JSON. */

#ifndef UBP_RECORDING_TEXT_JSON_H
#define UBP_RECORDING_TEXT_JSON_H

#include <jansson.h>
#include <stdlib.h>

#include "engine/base/escape.h"

/* A new reference; NULL: memory is short. What is not UTF-8 is escaped: JSON has no other bytes. */
static inline json_t *text_to_json(const char *text)
{
	json_t *json = json_string(text);
	char *plain = json ? NULL : escape_line(text);

	if (plain)
		json = json_string(plain);
	free(plain);
	return json;
}

#endif
