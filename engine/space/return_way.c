/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/return_way.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"

enum return_way return_way_of(const struct return_facts *facts, const char **ret_why)
{
	const char *why = NULL;

	if (facts->is_go)
		why = "a Go program, whose runtime reads return addresses";
	else if (facts->shadow_stack)
		why = "its return addresses are guarded by a shadow stack";
	/* The loader switches it on after the first breakpoints are planted. */
	else if (facts->wants_shadow_stack && facts->can_shadow_stack)
		why = "its return addresses will be guarded by a shadow stack";
	else if (facts->cannot_sign)
		why = "its seccomp filter lets nobody sign return addresses for unwinders";
	else if (facts->takes_return)
		why = "it takes its return address off the stack, where it could not be put "
		      "back";
	else if (facts->uses_return)
		why = "it asks its return address who has called it";
	else if (facts->walks_stacks)
		why = "its runtime walks its own stacks, by return addresses";
	else if (facts->hides_unwinder)
		why = "exceptions may pass, by an unwinder that has no name (stripped)";
	if (ret_why)
		*ret_why = why;
	return why ? RETURN_AT_RETS : RETURN_HIJACKED;
}

bool return_way_uses_return(const char *symbol)
{
	static const char *const names[] = {
		/* the caller's object: which one comes next, its search path, its namespace */
		"dlsym",
		"dlvsym",
		"dlopen",
		"dlmopen",
		"dl_iterate_phdr",
		/* the caller, for a profile */
		"mcount",
	};

	/* In the C library they have more names, with underscores in front. */
	while (symbol && *symbol == '_')
		symbol++;
	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(symbol, names[i]) == 0)
			return true;
	return false;
}

/* Is @word among the words behind "@label" on its line? */
static bool line_has_word(const char *text, const char *label, const char *word)
{
	const char *at = strstr(text, label), *end;
	size_t len = strlen(word);

	if (!at || (at != text && at[-1] != '\n'))
		return false;
	at += strlen(label);
	end = at + strcspn(at, "\n");
	while (at < end) {
		size_t n;

		at += strspn(at, " \t:");
		n = strcspn(at, " \t\n");
		if (n == len && strncmp(at, word, len) == 0)
			return true;
		if (n == 0)
			return false;
		at += n;
	}
	return false;
}

bool return_way_tells(const char *text, const struct arch_text *of)
{
	return of->label && line_has_word(text, of->label, of->word);
}
