/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* An option that a command does not have: which one was meant? */

#ifndef UBP_CLI_COMMON_OPTION_UNKNOWN_H
#define UBP_CLI_COMMON_OPTION_UNKNOWN_H

struct cli_syntax;

/*
 * Say that @word, an argument as it was typed, has an option that @syntax lacks: @letter, or a long one if that is 0. Then what was meant, where
 * that can be told. Returns CLI_USAGE.
 */
int option_refuse_unknown(const struct cli_syntax *syntax, const char *word, int letter);

/* @word, as -duration, was taken as a letter and its argument, which is refused: say so if it is a long option's name. */
void option_hint_dash(const struct cli_syntax *syntax, const char *word);

#endif
