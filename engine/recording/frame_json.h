/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What stands for an address of a stack, as JSON (RECORDING_NAMES). */

#ifndef UBP_RECORDING_FRAME_JSON_H
#define UBP_RECORDING_FRAME_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash.h"
#include "engine/sink/frame.h"

/* What names are kept by: an address means one thing in a set of mappings, and another one where it is no stack's first. */
static inline uint64_t frame_key(uint32_t maps, uint64_t vaddr, bool is_first)
{
	return hash_number(hash_number(is_first, maps), vaddr);
}

/* A new reference; NULL: memory is short. */
json_t *frames_to_json(uint32_t maps, uint64_t vaddr, bool is_first,
		       const struct sink_frame *frames, size_t n);

/* Of JSON that may say anything: how many frames, 1 at least. Strings are @json's. NULL: nothing is known of the address. */
size_t frames_of_json(const json_t *json, uint64_t vaddr,
		      struct sink_frame frames[SINK_FRAMES_MAX]);

#endif
