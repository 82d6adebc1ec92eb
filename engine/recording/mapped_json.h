/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Mappings of code, as JSON (RECORDING_MAPPED). */

#ifndef UBP_RECORDING_MAPPED_JSON_H
#define UBP_RECORDING_MAPPED_JSON_H

#include <jansson.h>

#include "engine/files/mapped_code.h"

/* A new reference; NULL: memory is short. */
json_t *mapped_code_to_json(const struct mapped_code *code);

/* The code that a process had mapped, by ascending addresses. */
struct mapped_set;

/* Of JSON that may say anything, whose "mappings" it has then; the reference is shared. NULL: memory is short. */
struct mapped_set *mapped_set_of_json(json_t *json);
void mapped_set_free(struct mapped_set *set); /* NULL is fine */
/* What @vaddr is in; strings are the set's. NULL: nothing is known. */
const struct mapped_code *mapped_set_at(const struct mapped_set *set, uint64_t vaddr);

#endif
