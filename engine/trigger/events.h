/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The list of events of a set. For the files of this room. */

#ifndef UBP_TRIGGER_EVENTS_H
#define UBP_TRIGGER_EVENTS_H

#include <stdbool.h>

struct spec_probe;
struct trigger_event;
struct trigger_set;

int events_add(struct trigger_set *set, const char *group, const char *name,
	       const struct spec_probe *probe, bool probed, struct trigger_event **ret);
/* It is not in use. */
void events_remove(struct trigger_set *set, struct trigger_event *event);

#endif
