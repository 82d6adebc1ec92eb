/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/spec/conflict.h"
#include "engine/spec/index.h"
#include "engine/spec/parse.h"
#include "engine/spec/probe.h"
#include "engine/spec/remove.h"

struct spec_table {
	struct spec_env env;
	struct spec_probe **probes;
	size_t n, capacity;
	uint64_t n_ever;         /* probes, deleted ones too */
	struct spec_index index; /* of .others, and of the first .index.n; see index_all() */
	const struct spec_probe *const *others;
	size_t n_others;
};

struct spec_table *spec_table_new(const struct spec_env *env)
{
	struct spec_table *table = calloc(1, sizeof(*table));

	if (table)
		table->env = *env;
	return table;
}

void spec_table_tell_faults(struct spec_table *table)
{
	table->env.tells_faults = true;
}

static void free_probes(struct spec_table *table)
{
	spec_index_clear(&table->index);
	for (size_t i = 0; i < table->n; i++)
		spec_probe_free(table->probes[i]);
	free(table->probes);
}

void spec_table_free(struct spec_table *table)
{
	if (!table)
		return;
	free_probes(table);
	free(table);
}

static bool reserve(struct spec_table *table, size_t n)
{
	while (table->capacity < n)
		if (VEC_ROOM(table->probes, &table->capacity, table->capacity) < 0)
			return false;
	return true;
}

void spec_table_set_others(struct spec_table *table, const struct spec_probe *const *others,
			   size_t n)
{
	spec_index_clear(&table->index);
	table->others = others;
	table->n_others = n;
}

/* They are in it already, unless it is new. */
static bool index_others(struct spec_table *table)
{
	if (table->index.made)
		return true;
	for (size_t i = 0; i < table->n_others; i++)
		if (spec_index_add(&table->index, table->others[i]) < 0)
			return false;
	table->index.n = 0;
	return true;
}

/* Index what was added since the last time. */
static bool index_all(struct spec_table *table)
{
	if (!index_others(table)) {
		spec_index_clear(&table->index);
		return false;
	}
	while (table->index.n < table->n)
		if (spec_index_add(&table->index, table->probes[table->index.n]) < 0) {
			spec_index_clear(&table->index);
			return false;
		}
	return true;
}

/* Take over a parsed probe, or free it when it must not be added. */
static int add_probe(struct spec_table *table, const struct spec_parse *p,
		     struct spec_probe *probe, bool may_rename)
{
	int rc = index_all(table) ? 0 : spec_fail_memory(p);

	if (rc == 0 && may_rename && probe->auto_event)
		spec_conflict_rename(&table->index, probe);
	if (rc == 0)
		rc = spec_conflict_check(p, &table->index, probe);
	if (rc == 0 && !reserve(table, table->n + 1))
		rc = spec_fail_memory(p);
	if (rc < 0) {
		spec_probe_free(probe);
		return rc;
	}
	probe->serial = ++table->n_ever;
	table->probes[table->n++] = probe;
	return 0;
}

/* A pattern at work. */
struct expansion {
	struct spec_table *table;
	const struct spec_parse *p;
	const struct spec_probe *pattern;
};

static int add_match(void *ctx, const char *symbol, uint64_t offset)
{
	struct expansion *x = ctx;
	struct spec_probe *probe = spec_probe_copy(x->pattern);
	bool may_join = x->pattern->is_name && !spec_name_is_pattern(x->pattern->symbol);

	if (!probe)
		return spec_fail_memory(x->p);
	free(probe->symbol);
	probe->symbol = NULL;
	probe->is_pattern = probe->is_name = false;
	probe->is_resolved = true;
	probe->offset = offset + probe->symbol_off;
	if (spec_name_match(probe, symbol, &may_join) < 0 || !index_all(x->table)) {
		spec_probe_free(probe);
		return spec_fail_memory(x->p);
	}
	if (probe->auto_event && may_join)
		spec_conflict_rename(&x->table->index, probe);
	else if (probe->auto_event)
		spec_conflict_number(&x->table->index, probe);
	return add_probe(x->table, x->p, probe, false);
}

static int add_matches(struct spec_table *table, const struct spec_parse *p,
		       struct spec_probe *pattern)
{
	const struct spec_env *env = &table->env;
	struct expansion x = { table, p, pattern };
	size_t col = pattern->symbol_col, n = table->n;
	int rc;

	rc = env->match ? env->match(env->ctx, pattern, add_match, &x, p->err)
			: ubp_fail(p->err, EINVAL, "Patterns are not known here");
	if (rc < 0 && !p->err->has_caret && rc != -ENOMEM)
		ubp_err_caret(p->err, p->words->text, p->words->len, (unsigned)col);
	if (rc < 0)
		spec_table_truncate(table, n);
	spec_probe_free(pattern);
	return rc;
}

/* What a line has come to. */
static int add_parsed(struct spec_table *table, const struct spec_parse *p,
		      struct spec_probe *probe, bool may_rename)
{
	probe->takes_units = !table->env.strict;
	if (spec_probe_tell_faults(probe, table->env.tells_faults) < 0) {
		spec_probe_free(probe);
		return spec_fail(p, E2BIG, 0, "Event too big (too many fields?)");
	}
	return probe->is_pattern ? add_matches(table, p, probe)
				 : add_probe(table, p, probe, may_rename);
}

static int run_short(struct spec_table *table, const struct spec_parse *p)
{
	struct spec_probe *probe;
	int rc = spec_parse_short(p, &probe);

	return rc < 0 ? rc : add_parsed(table, p, probe, true);
}

static int run_words(struct spec_table *table, const struct spec_parse *p, bool is_delete)
{
	struct spec_probe *probe;
	int rc;

	if (p->words->n == 0)
		return 0;
	if (is_delete)
		spec_index_clear(&table->index);
	if (is_delete)
		return spec_remove(p, table->probes, &table->n);
	if (!table->env.strict && spec_is_short(p))
		return run_short(table, p);
	rc = spec_parse_line(p, &probe);
	if (rc < 0)
		return rc;
	/* What the kernel's grammar names keeps that name. */
	return add_parsed(table, p, probe, probe->symbol != NULL);
}

/* One line without its newline. */
static int run_line(struct spec_table *table, const char *line, size_t len, struct ubp_err *err)
{
	const char *comment = spec_find_comment(line, len, !table->env.strict);
	struct spec_words words;
	struct spec_parse p = { &table->env, &words, err, table->env.arch };
	int rc;

	if (comment)
		len = (size_t)(comment - line);
	rc = table->env.strict ? spec_words_cut(line, len, &words, err)
			       : spec_words_cut_extended(line, len, &words, err);
	/* A deletion is known by the line's first byte: blanks before it hide it. */
	if (rc == 0)
		rc = run_words(table, &p, len > 0 && line[0] == '-');
	spec_words_free(&words);
	return rc;
}

/* Length of the line at the start of @text, and of it with its newline. */
static int cut_line(const char *text, size_t len, size_t *ret_line, size_t *ret_step,
		    struct ubp_err *err)
{
	size_t window = len < SPEC_LINE_MAX - 1 ? len : SPEC_LINE_MAX - 1;
	const char *nul = memchr(text, '\0', window);
	size_t usable = nul ? (size_t)(nul - text) : window;
	const char *newline = memchr(text, '\n', usable);

	if (newline) {
		*ret_line = (size_t)(newline - text);
		*ret_step = *ret_line + 1;
		return 0;
	}
	if (nul)
		return ubp_fail(err, EINVAL, "NUL byte in a definition");
	if (usable < len)
		return ubp_fail(err, EINVAL, "Line is longer than %d bytes", SPEC_LINE_MAX - 2);
	*ret_line = *ret_step = len;
	return 0;
}

int spec_table_write(struct spec_table *table, const char *text, size_t len,
		     struct ubp_err *err)
{
	for (unsigned number = 1; len > 0; number++) {
		size_t line = 0, step = 0, n = table->n;
		int rc = cut_line(text, len, &line, &step, err);

		if (rc == 0)
			rc = run_line(table, text, line, err);
		if (rc < 0) {
			err->line = number;
			return rc;
		}
		for (; n < table->n; n++)
			table->probes[n]->line = number;
		text += step;
		len -= step;
	}
	return 0;
}

/* The probes of @from into an empty @to. */
static bool copy_probes(const struct spec_table *from, struct spec_table *to)
{
	if (!reserve(to, from->n))
		return false;
	for (; to->n < from->n; to->n++) {
		to->probes[to->n] = spec_probe_copy(from->probes[to->n]);
		if (!to->probes[to->n])
			return false;
	}
	return true;
}

/* Does a line delete? Then undoing the write takes more than forgetting what it added. */
static bool has_deletion(const char *text, size_t len)
{
	for (const char *end = text + len; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (text[0] == '-')
			return true;
		text = newline ? newline + 1 : end;
	}
	return false;
}

static int write_or_forget(struct spec_table *table, const char *text, size_t len,
			   struct ubp_err *err)
{
	size_t n = table->n;
	int rc = spec_table_write(table, text, len, err);

	if (rc < 0)
		spec_table_truncate(table, n);
	return rc;
}

int spec_table_write_all(struct spec_table *table, const char *text, size_t len,
			 struct ubp_err *err)
{
	struct spec_table trial = { .env = table->env, .n_ever = table->n_ever };
	int rc;

	if (!has_deletion(text, len))
		return write_or_forget(table, text, len, err);
	if (!copy_probes(table, &trial))
		rc = ubp_fail(err, ENOMEM, "out of memory");
	else
		rc = spec_table_write(&trial, text, len, err);
	if (rc < 0) {
		free_probes(&trial);
		return rc;
	}
	free_probes(table);
	*table = trial;
	return 0;
}

int spec_table_add_short(struct spec_table *table, const char *text, struct ubp_err *err)
{
	size_t len = strlen(text);
	struct spec_env env = table->env;
	struct spec_words words;
	struct spec_parse p = { &env, &words, err, env.arch };
	int rc;

	env.strict = false; /* there is no such form in the kernel's grammar */
	if (len >= SPEC_LINE_MAX)
		return ubp_fail(err, EINVAL, "Definition is longer than %d bytes",
				SPEC_LINE_MAX - 1);
	rc = spec_words_cut_extended(text, len, &words, err);
	if (rc == 0)
		rc = run_short(table, &p);
	spec_words_free(&words);
	return rc;
}

static int parse_made(struct spec_table *table, const struct spec_parse *p, bool may_number,
		      const char *command, unsigned line)
{
	struct spec_probe *probe;
	char *shown = strdup(command);
	int rc;

	if (!shown)
		return spec_fail_memory(p);
	rc = spec_parse_line(p, &probe);
	if (rc < 0) {
		free(shown);
		return rc;
	}
	free(probe->command);
	probe->command = shown;
	probe->line = line;
	probe->auto_event = may_number;
	probe->takes_units = !table->env.strict;
	return add_probe(table, p, probe, may_number);
}

int spec_table_add_made(struct spec_table *table, const char *text, bool may_number,
			const char *command, unsigned line, struct ubp_err *err)
{
	struct spec_words words;
	struct spec_parse p = { &table->env, &words, err, table->env.arch };
	int rc = spec_words_cut(text, strlen(text), &words, err);

	if (rc == 0)
		rc = parse_made(table, &p, may_number, command, line);
	spec_words_free(&words);
	return rc;
}

size_t spec_table_count(const struct spec_table *table)
{
	return table->n;
}

const struct spec_probe *spec_table_probe(const struct spec_table *table, size_t i)
{
	return table->probes[i];
}

void spec_table_truncate(struct spec_table *table, size_t n)
{
	if (table->index.n > n)
		spec_index_clear(&table->index);
	while (table->n > n)
		spec_probe_free(table->probes[--table->n]);
}

void spec_table_resolve(struct spec_table *table, size_t i, uint64_t offset)
{
	table->probes[i]->offset = offset;
	table->probes[i]->is_resolved = true;
	if (i < table->index.n && spec_index_resolved(&table->index, table->probes[i]) < 0)
		spec_index_clear(&table->index);
}

void spec_table_set_past_entry(struct spec_table *table, size_t i, uint32_t past_entry)
{
	table->probes[i]->past_entry = past_entry;
}

void spec_table_set_names(struct spec_table *table, size_t i, size_t arg,
			  const struct value_names *names)
{
	table->probes[i]->args[arg].names = names;
}
