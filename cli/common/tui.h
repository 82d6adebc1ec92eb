/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --tui: a table of what is traced, on a terminal, in place of lines: how many a second, how long they take, the newest lines. */

#ifndef UBP_CLI_COMMON_TUI_H
#define UBP_CLI_COMMON_TUI_H

#include <stdbool.h>

#include "cli/common/output.h"
#include "engine/ubp_event.h"

struct trace_options;
struct tui;

/* CLI_OK, or said what makes no sense with --tui. */
int tui_check(const struct trace_options *o);

/* Are standard input and output a terminal? */
bool tui_has_terminal(void);

/*
 * Take the terminal, which standard input and output are. CLI_OK, or said why not. Until tui_end(), which gives it back as it was, with the
 * table as it was last.
 */
int tui_begin(struct ubp_session *session, struct output *out, struct tui **ret_tui);
void tui_end(struct tui *tui); /* NULL is fine */

void tui_event(struct tui *tui, const struct ubp_event *event);
/* Draw, if it is time and the terminal has taken what was drawn before. Returns how many milliseconds there are until the next time. */
int tui_look(struct tui *tui);

/* To be polled for keys; -1: @tui is NULL. */
int tui_fd(const struct tui *tui);
/* True: the user wants it to end. */
bool tui_keys(struct tui *tui);

#endif
