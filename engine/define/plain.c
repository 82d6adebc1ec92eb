/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/plain.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/probes.h"
#include "engine/define/state.h"
#include "engine/sink/buf.h"
#include "engine/spec/chars.h"

/* The text of a definition, and which of its bytes were made from what. */
struct made {
	struct sink_buf text;
	size_t place_at;               /* the second word */
	size_t word_at[SPEC_ARGS_MAX]; /* of each arg */
	size_t arg_at[SPEC_ARGS_MAX];  /* behind its '=' */
};

/* @name as an event's name: "ns::f<int>" as ns_f_int. */
static void add_event(struct sink_buf *text, const char *name, bool is_name_typed)
{
	size_t len = strnlen(name, SPEC_NAME_MAX + 1);
	bool is_word = true;

	/* A typed one has the right to be refused. */
	if (is_name_typed) {
		sink_buf_add_text(text, name);
		return;
	}
	if (isdigit((unsigned char)name[0]))
		sink_buf_add(text, "_", 1);
	for (size_t i = 0; i < len && i < SPEC_NAME_MAX - 1; i++) {
		bool was_word = is_word;

		is_word = char_is_name(name[i]) && !((unsigned char)name[i] & 0x80);
		if (is_word && !was_word && i > 0)
			sink_buf_add(text, "_", 1);
		if (is_word)
			sink_buf_add(text, name + i, 1);
	}
}

static int make(const struct plain_probe *probe, struct made *m, struct ubp_err *err)
{
	struct sink_buf *text = &m->text;

	text->len = 0;
	if (probe->n_args > SPEC_ARGS_MAX)
		return ubp_fail(err, E2BIG, "Too many arguments are specified");
	sink_buf_printf(text, "%c:", probe_kind_letter(probe->kind));
	if (probe->group)
		sink_buf_printf(text, "%s/", probe->group);
	add_event(text, probe->event, probe->is_name_typed);
	sink_buf_add(text, " ", 1);
	m->place_at = text->len;
	sink_buf_printf(text, "%s:0x%" PRIx64, probe->path, probe->offset);
	if (probe->ref)
		sink_buf_printf(text, "(0x%" PRIx64 ")", probe->ref);
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct plain_arg *arg = &probe->args[i];

		m->word_at[i] = text->len + 1;
		if (arg->name)
			sink_buf_printf(text, " %s=", arg->name);
		else
			sink_buf_printf(text, " arg%zu=", i + 1);
		m->arg_at[i] = text->len;
		sink_buf_add_text(text, arg->text);
	}
	sink_buf_add(text, "", 1);
	return text->failed ? ubp_fail(err, ENOMEM, "out of memory") : 0;
}

/* Column of the origin that column @col of the text was made from. */
static unsigned origin_col(const struct plain_probe *probe, const struct made *m, size_t col)
{
	for (size_t i = probe->n_args; i-- > 0;) {
		const struct plain_arg *arg = &probe->args[i];

		if (col < m->word_at[i])
			continue;
		return arg->col + (arg->is_verbatim && col > m->arg_at[i]
					   ? (unsigned)(col - m->arg_at[i])
					   : 0);
	}
	return col >= m->place_at ? probe->col : 0;
}

static void show_origin(const struct plain_probe *probe, const struct made *m,
			const struct plain_origin *origin, struct ubp_err *err)
{
	size_t len = strlen(origin->text);
	unsigned col = err->has_caret ? origin_col(probe, m, err->caret) : probe->col;

	ubp_err_caret(err, origin->text, len, col <= len ? col : (unsigned)len);
	err->line = origin->line;
}

static int add_one(struct definitions *defs, const struct plain_probe *probe, struct made *m,
		   const struct plain_origin *origin, struct ubp_err *err)
{
	size_t n = spec_table_count(defs->table);
	int rc = make(probe, m, err);

	if (rc == 0)
		rc = spec_table_add_made(defs->table, m->text.data, !probe->is_name_typed,
					 origin->text, origin->line, err);
	if (rc < 0) {
		show_origin(probe, m, origin, err);
		return rc;
	}
	for (size_t i = 0; i < probe->n_args; i++)
		if (probe->args[i].names)
			spec_table_set_names(defs->table, n, i, probe->args[i].names);
	if (probe->past_entry)
		spec_table_set_past_entry(defs->table, n, probe->past_entry);
	return 0;
}

int plain_add(struct definitions *defs, const struct plain_probe *probes, size_t n,
	      const struct plain_origin *origin, struct ubp_err *err)
{
	size_t before = spec_table_count(defs->table);
	struct made m = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_one(defs, &probes[i], &m, origin, err);
	sink_buf_free(&m.text);
	if (rc < 0) {
		probes_forget(defs, before);
		return rc;
	}
	return probes_take_up(defs, before, origin->filter, err);
}
