/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What each table of options tells. */

#include "cli/complete/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/common/option.h"
#include "engine/base/escape.h"

#define TEXT_MAX 4096

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Names of files, processes and functions are somebody else's: none is told that a terminal, which a shell hands it to, would obey. */
static bool is_plain(const char *text, size_t len)
{
	char shown[ESCAPE_BYTE_MAX * TEXT_MAX + 1];

	return len < TEXT_MAX && (size_t)(escape_put_line(shown, text, len) - shown) == len &&
	       memcmp(shown, text, len) == 0;
}

void complete_say(const struct completion *c, const char *value, const char *help)
{
	int len = help ? (int)strcspn(help, "\n") : 0;

	if (!begins(value, c->text) || strpbrk(value, "\t\n") ||
	    !is_plain(value, strlen(value)))
		return;
	if (help && !is_plain(help, (size_t)len))
		len = 0;
	printf("%.*s%s%s%.*s\n", (int)c->lead_len, c->lead, value, len ? "\t" : "", len,
	       help ? help : "");
}

void complete_by_shell(const struct completion *c, const char *what)
{
	printf("\t%s\t%.*s\n", what, (int)c->lead_len, c->lead);
}

struct completion complete_behind(const struct completion *c, size_t n)
{
	struct completion behind = *c;

	behind.lead_len += n;
	behind.text += n;
	return behind;
}

/* --- options ------------------------------------------------------------------------- */

/* The option at the end of @word, which may be several letters: "-Hp". */
static const struct cli_option *option_in(const struct cli_syntax *syntax, const char *word)
{
	const struct cli_option *o;

	if (begins(word, "--"))
		return cli_option_called(syntax, word + 2, strlen(word + 2));
	if (word[0] != '-' || !word[1])
		return NULL;
	for (const char *letter = word + 1; *letter; letter++) {
		for (size_t i = 0; (o = cli_option_at(syntax, i)); i++)
			if (o->letter == *letter)
				break;
		/* What is behind one that takes an argument is this. */
		if (!o || (o->arg && letter[1]))
			return NULL;
		if (!letter[1])
			return o;
	}
	return NULL;
}

static void say_options(const struct cli_syntax *syntax, const struct completion *c)
{
	const struct cli_option *o;
	char text[80];

	for (size_t i = 0; (o = cli_option_at(syntax, i)); i++) {
		/* One that the command has a row of its own for. */
		if (o->name && cli_option_called(syntax, o->name, strlen(o->name)) != o)
			continue;
		(void)snprintf(text, sizeof(text), "--%s%s", o->name ? o->name : "",
			       o->arg && !o->is_optional && !o->is_attached ? "=" : "");
		if (!o->name)
			(void)snprintf(text, sizeof(text), "-%c", o->letter);
		complete_say(c, text, o->help);
	}
}

/* --- values -------------------------------------------------------------------------- */

/* "A B C": each of them, behind the last comma of what is there. */
static void say_values(const struct completion *c, const char *values)
{
	const char *comma = strchr(c->kind, ',') ? strrchr(c->text, ',') : NULL;
	struct completion last = complete_behind(c, comma ? (size_t)(comma + 1 - c->text) : 0);
	char value[64];

	for (const char *p = values; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		(void)snprintf(value, sizeof(value), "%.*s", (int)len, p);
		complete_say(&last, value, NULL);
		p += len;
	}
}

static void say_value(const struct cli_syntax *syntax, const struct completion *c,
		      const char *values)
{
	if (values)
		say_values(c, values);
	else if (begins(c->kind, "FILE"))
		complete_by_shell(c, "files");
	else if (strcmp(c->kind, "DIR") == 0)
		complete_by_shell(c, "folders");
	else if (syntax->complete)
		syntax->complete(c);
}

static void say_argument(const struct cli_syntax *syntax, const struct completion *word,
			 const struct cli_option *o, size_t lead)
{
	struct completion c = complete_behind(word, lead);

	c.kind = o->arg;
	c.option = o->name;
	say_value(syntax, &c, o->values);
}

static bool is_command(const struct completion *c)
{
	for (size_t i = 0; i < c->n_words; i++)
		if (strcmp(c->words[i], "--") == 0)
			return true;
	return false;
}

static void say(const struct cli_syntax *syntax, const struct completion *c)
{
	const char *before = c->n_words ? c->words[c->n_words - 1] : "";
	const struct cli_option *o = option_in(syntax, before);
	const char *equals = begins(c->text, "--") ? strchr(c->text, '=') : NULL;

	if (is_command(c)) {
		if (syntax->has_command)
			complete_by_shell(c, strcmp(before, "--") == 0 ? "commands" : "files");
	} else if (o && o->arg && !o->is_attached && !(o->is_optional && c->text[0] == '-')) {
		say_argument(syntax, c, o, 0);
	} else if (equals) {
		o = cli_option_called(syntax, c->text + 2, (size_t)(equals - c->text - 2));
		if (o && o->arg)
			say_argument(syntax, c, o, (size_t)(equals + 1 - c->text));
	} else if (c->text[0] == '-') {
		say_options(syntax, c);
	} else if (syntax->word) {
		say_value(syntax, c, NULL);
	}
}

bool complete(const struct cli_syntax *syntax, int argc, char **argv)
{
	struct completion c = { .kind = syntax->word };

	if (argc < 2 || strcmp(argv[1], "--complete") != 0)
		return false;
	c.words = argv + 2;
	c.n_words = argc > 2 ? (size_t)argc - 3 : 0;
	c.lead = c.text = argc > 2 ? argv[argc - 1] : "";
	say(syntax, &c);
	return true;
}
