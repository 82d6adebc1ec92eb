/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/trace_word.h"

#include <stdbool.h>
#include <string.h>

#include "cli/common/message.h"

/* bpftrace's form of a probe, with a path behind it. */
int trace_word_check_form(const char *word)
{
	static const struct {
		const char *there, *here;
	} forms[] = { { "uprobe:", "p:" }, { "uretprobe:", "r:" }, { "usdt:", "" } };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = strlen(forms[i].there);

		if (strncmp(word, forms[i].there, len) != 0 ||
		    (word[len] != '/' && word[len] != '.'))
			continue;
		return cli_usage_error("'%.*s' is bpftrace's; here it is '%s%.*s'",
				       (int)strcspn(word, " {"), word, forms[i].here,
				       (int)strcspn(word + len, " {"), word + len);
	}
	return CLI_OK;
}

/* "name=...", but not "name==..." or "name=~...". */
static bool is_assignment(const char *word)
{
	size_t len =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len && word[len] == '=' && word[len + 1] && !strchr("=~ ", word[len + 1]);
}

/*
 * What is no filter, but was typed as one: arguments outside of the definition's quotes, or a command
 * without "--" in front. A filter has an operator behind a name.
 */
int trace_word_check_filter(const char *word, const char *definition)
{
	if (strchr("+-%$@\\", *word) || strspn(word, "&*") || is_assignment(word))
		return cli_usage_error("'%s' is no filter; arguments stand in the definition's "
				       "quotes: '%s %s'",
				       word, definition, word);
	if (*word && !strpbrk(word, "=!<>~&()"))
		return cli_usage_error("'%s' is no filter; arguments stand in the definition's "
				       "quotes, a command behind '--'",
				       word);
	return CLI_OK;
}
