/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The description (TSDL) of what the way "ctf" writes. */

#ifndef UBP_SINK_CTF_H
#define UBP_SINK_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/sink/buf.h"

struct spec_arg;
struct spec_probe;

#define CTF_MAGIC 0xc1fc1fc1U

/*
 * Bytes are in no order but this machine's, and nothing is aligned. Fields of a probe are its args, in their order; a weight stands in front of them, in a
 * context of such events alone.
 */
void ctf_metadata_begin(struct sink_buf *to, bool has_host);
/* Instead, where there are no events: babeltrace2 2.0 fails on a context that nothing has. */
void ctf_metadata_none(struct sink_buf *to);
void ctf_metadata_event(struct sink_buf *to, uint32_t id, const struct spec_probe *probe,
			bool has_weight);

/* Is a value of @arg a text in the stream, with a NUL at its end, and no number? */
bool ctf_is_text(const struct spec_arg *arg);

#endif
