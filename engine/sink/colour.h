/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Colours of text on a terminal: what stands in front of what, and behind all of it. */

#ifndef UBP_SINK_COLOUR_H
#define UBP_SINK_COLOUR_H

#define SINK_COLOUR_TASK   "\033[32m"
#define SINK_COLOUR_ENTRY  "\033[1;36m"
#define SINK_COLOUR_RETURN "\033[1;35m"
#define SINK_COLOUR_BAD    "\033[1;31m"
#define SINK_COLOUR_END    "\033[0m"

#endif
