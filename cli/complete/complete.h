/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the word may become that somebody types in a shell. Completions of shells (cli/complete/shells) ask the command itself, so that
 * they know its options as they are:
 *
 *     NAME --complete [WORD]...      the words behind NAME, up to the one that is typed, which may be empty
 *
 * prints a line for each candidate: the whole word, and perhaps a tab and what it is. A line that begins with a tab tells what the shell knows
 * itself: a tab, "files", "folders" or "commands", a tab, and what of the word stands in front of such a name.
 */

#ifndef UBP_CLI_COMPLETE_COMPLETE_H
#define UBP_CLI_COMPLETE_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

struct cli_syntax;

/* A word, or a part of one, that is typed. */
struct completion {
	const char *kind;   /* what --help calls it: "PID[,PID]", "DEF" */
	const char *option; /* whose argument it is, by its long name; NULL: of none */
	const char *lead; /* of the word, what stands in front of .text, and stays: "--pid=" */
	size_t lead_len;
	const char *text; /* so far */
	char *const *words;
	size_t n_words; /* in front of it */
};

/* Do the arguments ask for that? Then it was printed. */
bool complete(const struct cli_syntax *syntax, int argc, char **argv);

/* For cli_syntax.complete: @value may stand in place of c->text, if it begins with that. @help may be NULL; its first line counts. */
void complete_say(const struct completion *c, const char *value, const char *help);
/* So may what the shell knows: "files", "folders". */
void complete_by_shell(const struct completion *c, const char *what);
/* The part of c->text that is behind its first @n bytes is what is completed. */
struct completion complete_behind(const struct completion *c, size_t n);

/* cli_syntax.complete of commands that trace: processes, sessions, definitions, what these name. */
void complete_names(const struct completion *c);

#endif
