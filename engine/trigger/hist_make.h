/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A histogram from its text: values, variables, keys, sorting; then, once it is known to be a new one, its handlers. */

#ifndef UBP_TRIGGER_HIST_MAKE_H
#define UBP_TRIGGER_HIST_MAKE_H

#include "engine/trigger/hist.h"

/* @text is cut. NULL: *ret_rc says why. */
struct hist *hist_make(struct trigger_set *set, struct trigger_event *event, char *text,
		       bool removes, int *ret_rc);
/* Its inner histograms stay: hist_undo_doers() takes them away. NULL is fine. */
void hist_free(struct hist *hist);

/* The texts of handlers; what they are carried out with; and back. */
int hist_parse_doers(struct hist *hist);
int hist_make_doers(struct hist *hist);
void hist_undo_doers(struct hist *hist);

/* Are they the same to the kernel, which does not look at all of them? */
bool hist_is_same(const struct trigger *a, const struct trigger *b, const struct trigger *named,
		  bool ignore_filter);
/* hist:TEXT, or its removal, that nobody wrote. */
int hist_command_inner(struct trigger_set *set, struct trigger_event *event, const char *text,
		       bool removes);

#endif
