/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The set of probes defined so far: what writes to uprobe_events build up. A
 * table takes whole writes (several lines, comments, deletions) and refuses
 * what the kernel refuses, with its message and caret.
 */

#ifndef UBP_SPEC_TABLE_H
#define UBP_SPEC_TABLE_H

#include "engine/spec/env.h"
#include "engine/spec/spec.h"

struct ubp_err;

struct spec_table;

/* Of a .symbol that .is_name: is it a pattern of names? '*' also ends types. */
bool spec_name_is_pattern(const char *name);

/* Returns NULL when memory is short. */
struct spec_table *spec_table_new(const struct spec_env *env);
void spec_table_free(struct spec_table *table);
/* As spec_env.tells_faults, from now on. */
void spec_table_tell_faults(struct spec_table *table);

/*
 * Probes of elsewhere that what is added from now on must not collide with, as if they were of the table. Array and probes are borrowed until the next
 * call.
 */
void spec_table_set_others(struct spec_table *table, const struct spec_probe *const *others,
			   size_t n);

/*
 * Carry out one write(2) of @len bytes, as uprobe_events does: lines run in
 * order, the first failing line ends the write and earlier lines stay in force.
 * Returns 0 or a negative errno; *err then holds the kernel's message with
 * caret, or a text of ours where the kernel logs nothing
 * (err->has_caret is false then), and the number of the line.
 */
int spec_table_write(struct spec_table *table, const char *text, size_t len,
		     struct ubp_err *err);

/*
 * spec_table_write() where a failing line leaves nothing of the write in force: for the
 * command line, where half a file of definitions must never be planted.
 */
int spec_table_write_all(struct spec_table *table, const char *text, size_t len,
			 struct ubp_err *err);

/*
 * Add one definition in the perf-tools form, extended grammar:
 *   p|r[:ALIAS] TARGET:PLACE[%return] [ARG...]     (ALIAS may be [GRP/]EVENT)
 *   p|r:TARGET:PLACE[%return] [ARG...]
 *   TARGET:PLACE[%return] [ARG...]
 * PLACE is SYMBOL, SYMBOL+OFF, a number, or a pattern (*, ?, [...]) of symbols: one
 * probe for each function, named [ALIAS_]SYMBOL. cpp:NAME[+OFF], and every NAME with "::", is a
 * function of C++ or Rust, with parameters or without, and may be in quotes; all functions of
 * that name are probed, and so are those of NAME@*. They join one event. TARGET is a path, a program or a
 * library name. Without ALIAS the event is named like the symbol, or
 * BASE_0xOFF. Errors as for spec_table_write; carets point into @text with
 * its words joined by one blank.
 */
int spec_table_add_short(struct spec_table *table, const char *text, struct ubp_err *err);

/*
 * Add one definition in the kernel's form, whatever it was made from: its event is numbered
 * (_1, _2, ...) where it can't join one of that name, if @may_number. @command (copied) is
 * what messages show instead of @text. Errors as for spec_table_write; carets point into @text.
 */
int spec_table_add_made(struct spec_table *table, const char *text, bool may_number,
			const char *command, unsigned line, struct ubp_err *err);

/* Probes in order of definition. The pointers live until the next change. */
size_t spec_table_count(const struct spec_table *table);
const struct spec_probe *spec_table_probe(const struct spec_table *table, size_t i);

/* Forget the probes from index @n on: undoes the last definitions. */
void spec_table_truncate(struct spec_table *table, size_t n);

/*
 * Once a symbol is resolved by whoever opened the file: the probe gets its file
 * offset (symbol_off added already), and the listing shows a number. @i as for
 * spec_table_probe().
 */
void spec_table_resolve(struct spec_table *table, size_t i, uint64_t offset);

/* Of probe @i: so far behind its function's entry it stands (struct spec_probe). */
void spec_table_set_past_entry(struct spec_table *table, size_t i, uint32_t past_entry);

/* Names for the values of arg @arg of probe @i. */
void spec_table_set_names(struct spec_table *table, size_t i, size_t arg,
			  const struct value_names *names);

/*
 * One line of the uprobe_events listing, without newline, into @buf. A symbol
 * that is not resolved yet stands as PATH:SYMBOL[+0xOFF], which extended
 * grammar reads back. Returns the length it has or would have (as snprintf).
 */
int spec_probe_listing(const struct spec_probe *probe, char *buf, size_t size);

#endif
