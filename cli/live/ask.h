/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Something is asked of a session that runs, or of all. */

#ifndef UBP_CLI_LIVE_ASK_H
#define UBP_CLI_LIVE_ASK_H

struct trace_options;

/* What the options ask, printed. @form: what definitions are, "uprobe" or "usdt". Exit status. */
int live_ask(const struct trace_options *o, const char *form);

#endif
