/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Command lines from a table: one table of options parses the arguments and
 * prints the help, so that the two cannot disagree.
 */

#ifndef UBP_CLI_COMMON_OPTION_H
#define UBP_CLI_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_option {
	int letter;         /* short option, 0: none */
	const char *name;   /* long option, NULL: none */
	const char *arg;    /* what --help calls its argument, NULL: it takes none */
	const char *values; /* all that may be in it, "auto jump trap"; NULL: much */
	bool is_optional; /* .arg is the next word, unless that begins with '-' or is missing: NULL */
	bool is_attached; /* .arg stands behind '=' or is missing: NULL. (A number may be the next word.) */
	const char *help; /* lines after the first are printed below it */
	/* Exactly one of these. The flag is a bool in the caller's structure. */
	bool is_flag;
	size_t flag; /* its offsetof() */
	/* Returns CLI_OK, or the exit status after it said what is wrong. */
	int (*set)(void *into, const char *arg);
	/* Is handed the option's own name: one of several that exclude each other. */
	int (*choose)(void *into, const char *name);
};

struct completion;

struct cli_syntax {
	const char *usage; /* after "Usage: NAME ", newline-ended lines */
	const char *about; /* below the options */
	const struct cli_option *options;
	size_t n_options;
	const struct cli_option
		*common; /* those that other commands have, too, behind the others; of
			  * the same names, those above count */
	size_t n_common;
	/* A word that is no option. As .set above. */
	int (*positional)(void *into, const char *word);
	/* For shells that complete words (cli/complete): what words are called that are no options, as arguments are; NULL: there are none.
	 * Whether a command may follow "--". What of such words and arguments no table knows; NULL: nothing. */
	const char *word;
	bool has_command;
	void (*complete)(const struct completion *completion);
	/* Is told of each option that was given, before that is taken; or NULL. */
	void (*see)(void *into, const struct cli_option *option);
};

/*
 * Parse. Options may stand before and after other words; "--" ends them.
 * *ret_rest: the arguments after "--" (ending in NULL), or NULL if there was no
 * "--". Returns CLI_OK, or the exit status after it said what is wrong.
 */
int cli_parse(const struct cli_syntax *syntax, int argc, char **argv, void *into,
	      char ***ret_rest);

/* Its row @i, of its own ones and then of the common ones; NULL: there are no more. */
const struct cli_option *cli_option_at(const struct cli_syntax *syntax, size_t i);
/* The first row with this long name, which is the one that counts; NULL: none has it. */
const struct cli_option *cli_option_called(const struct cli_syntax *syntax, const char *name,
					   size_t len);

/* Usage, options and about, on standard output. */
void cli_print_help(const struct cli_syntax *syntax);

/* A decimal number in min..max and nothing else; false: it is not. */
bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* "1.5": seconds, more than 0, as nanoseconds. */
bool cli_seconds(const char *text, uint64_t *ret_ns);

/* --- what was meant (option_unknown.c) ------------------------------------------------ */

/*
 * Say that @word, an argument as it was typed, has an option that @syntax lacks: @letter, or a long one if that is 0. Then what was meant, where
 * that can be told. Returns CLI_USAGE.
 */
int cli_option_refuse(const struct cli_syntax *syntax, const char *word, int letter);

/* @word, as -duration, was taken as a letter and its argument, which is refused: say so if it is a long option's name. */
void cli_option_hint_dash(const struct cli_syntax *syntax, const char *word);

#endif
