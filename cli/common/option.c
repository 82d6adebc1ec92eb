/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/option.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"

#define OPTIONS_MAX 128
#define LONG_ONLY   256 /* getopt's value of option i without a letter: this + i */

/* getopt's two views of the table. */
struct views {
	char letters[2 * OPTIONS_MAX + 3];
	struct option longs[OPTIONS_MAX + 1];
};

static size_t n_options(const struct cli_syntax *syntax)
{
	return syntax->n_options + syntax->n_common;
}

const struct cli_option *cli_option_at(const struct cli_syntax *syntax, size_t i)
{
	if (i >= n_options(syntax))
		return NULL;
	return i < syntax->n_options ? &syntax->options[i]
				     : &syntax->common[i - syntax->n_options];
}

const struct cli_option *cli_option_called(const struct cli_syntax *syntax, const char *name,
					   size_t len)
{
	const struct cli_option *o;

	for (size_t i = 0; (o = cli_option_at(syntax, i)); i++)
		if (o->name && strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static int option_value(const struct cli_syntax *syntax, size_t i)
{
	int letter = cli_option_at(syntax, i)->letter;

	return letter ? letter : LONG_ONLY + (int)i;
}

static const struct cli_option *option_of(const struct cli_syntax *syntax, int value)
{
	for (size_t i = 0; i < n_options(syntax); i++) {
		if (option_value(syntax, i) == value)
			return cli_option_at(syntax, i);
	}
	return NULL;
}

static void make_views(const struct cli_syntax *syntax, struct views *views)
{
	char *letter = views->letters;
	struct option *l = views->longs;

	assert(n_options(syntax) <= OPTIONS_MAX);
	/* '-': words come in order, as value 1, so that "--" can be told from them.
	 * ':': a missing argument is told from an unknown option. */
	*letter++ = '-';
	*letter++ = ':';
	for (size_t i = 0; i < n_options(syntax); i++) {
		const struct cli_option *o = cli_option_at(syntax, i);

		if (o->letter) {
			*letter++ = (char)o->letter;
			if (o->arg && !o->is_optional)
				*letter++ = ':';
		}
		if (o->name) {
			l->name = o->name;
			l->has_arg = !o->arg                            ? no_argument
				     : o->is_optional || o->is_attached ? optional_argument
									: required_argument;
			l->flag = NULL;
			l->val = option_value(syntax, i);
			l++;
		}
	}
	*letter = '\0';
	memset(l, 0, sizeof(*l));
}

/* getopt returned '?' or ':' for @word. */
static int refuse(const struct cli_syntax *syntax, int code, const char *word)
{
	if (code == ':')
		return cli_usage_error("option '%s' needs an argument", word);
	if (option_of(syntax, optopt))
		return cli_usage_error("option '%s' takes no argument", word);
	return cli_option_refuse(syntax, word, word[1] == '-' ? 0 : optopt);
}

static int apply(const struct cli_syntax *syntax, const struct cli_option *o, void *into,
		 const char *arg)
{
	if (syntax->see)
		syntax->see(into, o);
	if (o->is_flag) {
		*(bool *)((char *)into + o->flag) = true;
		return CLI_OK;
	}
	return o->choose ? o->choose(into, o->name) : o->set(into, arg);
}

/* Of the option that getopt has just returned. */
static const char *argument(const struct cli_syntax *syntax, int value, int argc, char **argv)
{
	const struct cli_option *o = option_of(syntax, value);
	uint64_t number;

	if (o && o->is_attached && !optarg && optind < argc &&
	    cli_number(argv[optind], 0, UINT64_MAX, &number))
		return argv[optind++];
	if (!o || !o->is_optional || optarg || optind >= argc || argv[optind][0] == '-')
		return optarg;
	return argv[optind++];
}

int cli_parse(const struct cli_syntax *syntax, int argc, char **argv, void *into,
	      char ***ret_rest)
{
	struct views views = { 0 };
	int value, status = CLI_OK;

	make_views(syntax, &views);
	*ret_rest = NULL;
	opterr = 0;
	optind = 0; /* glibc: start afresh */
	while (status == CLI_OK) {
		/* where getopt goes on: in the middle of several letters, too */
		const char *word = argv[optind ? optind : 1];

		value = getopt_long(argc, argv, views.letters, views.longs, NULL);
		if (value == -1)
			break;
		if (value == 1)
			status = syntax->positional(into, optarg);
		else if (value == '?' || value == ':')
			status = refuse(syntax, value, word);
		else
			status = apply(syntax, option_of(syntax, value), into,
				       argument(syntax, value, argc, argv));
		if (status != CLI_OK && value < LONG_ONLY && value > 1)
			cli_option_hint_dash(syntax, word);
	}
	if (status == CLI_OK && optind > 1 && strcmp(argv[optind - 1], "--") == 0)
		*ret_rest = argv + optind;
	return status;
}

static void print_option(const struct cli_option *o)
{
	char left[64];
	const char *help = o->help;
	int n = 0;

	n += snprintf(left, sizeof(left), o->letter ? "  -%c" : "    ", o->letter);
	if (o->name)
		n += snprintf(left + n, sizeof(left) - n, "%s--%s", o->letter ? ", " : "  ",
			      o->name);
	if (o->arg)
		(void)snprintf(left + n, sizeof(left) - n, "%s%s", o->name ? "=" : " ", o->arg);
	for (;;) {
		int len = (int)strcspn(help, "\n");

		printf("%-26s %.*s\n", left, len, help);
		if (!help[len])
			break;
		help += len + 1;
		left[0] = '\0';
	}
}

/* One that a command has a row of its own for. */
static bool is_replaced(const struct cli_syntax *syntax, const struct cli_option *o)
{
	return o->name && cli_option_called(syntax, o->name, strlen(o->name)) != o;
}

void cli_print_help(const struct cli_syntax *syntax)
{
	printf("Usage: %s %s\n", cli_program, syntax->usage);
	for (size_t i = 0; i < n_options(syntax); i++)
		if (!is_replaced(syntax, cli_option_at(syntax, i)))
			print_option(cli_option_at(syntax, i));
	printf("\n%s", syntax->about);
}

bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

bool cli_seconds(const char *text, uint64_t *ret_ns)
{
	double value;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	value = strtod(text, &end);
	if (end == text || *end || !(value > 0) || value > 1e9)
		return false;
	*ret_ns = (uint64_t)(value * 1e9);
	return true;
}
