/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions, and events that belong to none: what is counted apart. */

#ifndef UBP_PICTURE_KEYS_H
#define UBP_PICTURE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/picture/names.h"

#define PICTURE_KEYS_MAX 4096

struct spec_probe;

struct picture_key {
	uint32_t name;
	bool has_entry; /* .name is that of its entry's event */
};

/* Number 0 stands for what did not fit: keys_begin(). */
struct picture_keys {
	struct picture_key *v;
	size_t n, cap;
	struct map by_place;
};

/* 0 or -ENOMEM. */
int keys_begin(struct picture_keys *keys);
/* A function is a place in a file, as for the room of calls; what has no place is told by its name. */
uint16_t keys_find(struct picture_keys *keys, struct names *names,
		   const struct spec_probe *probe);
void keys_free(struct picture_keys *keys);

/* The number of the name of an event, which the caller of a library may have chosen: escaped. */
uint32_t keys_name(struct names *names, const char *text);

#endif
