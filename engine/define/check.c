/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is looked at of a place before it is probed. */

#include "engine/define/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/code/boundary.h"
#include "engine/code/exits.h"
#include "engine/code/refusals.h"
#include "engine/code/unwinder.h"
#include "engine/define/spawn.h"
#include "engine/elf/object.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/space/uprobe.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"

static unsigned long ul(uint64_t n)
{
	return (unsigned long)n;
}

struct defined_probe *check_new_probe(void)
{
	struct defined_probe *p = calloc(1, sizeof(*p));

	if (p)
		p->uprobe = uprobe_new();
	if (!p || !p->uprobe) {
		free(p);
		return NULL;
	}
	p->uprobe->origin = p;
	return p;
}

void check_free_probe(struct defined_probe *p)
{
	if (!p)
		return;
	uprobe_put(p->uprobe);
	free(p->symbol);
	free(p->listing);
	free(p->format);
	free(p->explain);
	free(p->no_definition);
	free(p);
}

/* --- what patterns have found -------------------------------------------------------------- */

void check_keep(struct definitions *defs, struct definition_file *file, uint64_t foffset,
		struct defined_probe *p)
{
	struct checked *c = &defs->checked;

	if (VEC_DOUBLE(c->v, c->n) < 0) {
		check_free_probe(p);
		return;
	}
	p->file = file;
	p->uprobe->foffset = foffset;
	c->v[c->n++] = p;
}

struct defined_probe *check_take(struct definitions *defs, const struct spec_probe *spec,
				 const struct definition_file *file)
{
	struct checked *c = &defs->checked;
	struct defined_probe *p = c->n_taken < c->n ? c->v[c->n_taken] : NULL;

	if (!p || p->file != file || p->uprobe->foffset != spec->offset ||
	    spec->kind == PROBE_RETURN)
		return NULL;
	c->n_taken++;
	return p;
}

void check_forget(struct definitions *defs)
{
	struct checked *c = &defs->checked;

	while (c->n > c->n_taken)
		check_free_probe(c->v[--c->n]);
	free(c->v);
	*c = (struct checked){ 0 };
}

/* --- places --------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int check_arch(const struct definitions *defs, const struct definition_file *file,
	       const char *path, struct ubp_err *err)
{
	const struct ubp_arch *arch = object_arch(file->object);

	if (arch && (defs->opt.files_only || defs->opt.traces(arch)))
		return 0;
	if (defs->opt.files_only)
		return ubp_fail(err, ENOTSUP,
				"%s is for %s%s: of that machine's programs ubp knows nothing",
				path, object_is_64bit(file->object) ? "" : "32-bit ",
				object_machine_name(file->object));
	return ubp_fail(err, ENOTSUP, "%s is for %s%s: ubp traces no such programs on %s", path,
			object_is_64bit(file->object) ? "" : "32-bit ",
			object_machine_name(file->object), defs->opt.arch->name);
}

/*
 * Functions whose return address is more than the way back: kept in a buffer, to
 * be returned to again when the trampoline knows of nothing any more.
 */
static bool keeps_return_address(const char *symbol)
{
	static const char *const names[] = { "setjmp", "_setjmp", "__setjmp", "sigsetjmp",
					     "__sigsetjmp", "getcontext", "__getcontext",
					     "swapcontext", "__swapcontext",
					     /* of libunwind, and of LLVM's */
					     "unw_getcontext", "__unw_getcontext" };
	static const char suffix[] = "_getcontext";
	size_t len = symbol ? strlen(symbol) : 0, end = sizeof(suffix) - 1;

	/* Of libunwind, with the machine between: _Ux86_64_getcontext(). */
	if (len > end + 2 && strncmp(symbol, "_U", 2) == 0 &&
	    strcmp(symbol + len - end, suffix) == 0)
		return true;
	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(symbol, names[i]) == 0)
			return true;
	return false;
}

/*
 * "NAME.cold", "NAME.cold.1", "NAME [clone .cold]": a part of a function that is jumped to. What lies
 * on top of the stack there is anything but a return address.
 */
static bool is_part(const char *symbol)
{
	const char *cold = symbol ? strstr(symbol, ".cold") : NULL;

	return cold && cold != symbol && (!cold[5] || strchr(".]+", cold[5]));
}

/* Where there is no return that could be caught. */
static int check_return(struct definition_file *file, const struct spec_probe *spec,
			const char *symbol, struct ubp_err *err)
{
	uint64_t elf_vaddr = 0;
	const char *why;

	if (object_foffset_to_vaddr(file->object, spec->offset, &elf_vaddr) == 0 &&
	    elf_vaddr == object_entry(file->object))
		return ubp_fail(
			err, ENOTSUP,
			"%s is entered at 0x%lx: there is no return address on the stack "
			"(--force plants anyway)",
			spec->path, ul(spec->offset));
	why = object_refuse_return_at(file->object, spec->offset);
	if (why)
		return ubp_fail(
			err, ENOTSUP,
			"the return of %s cannot be probed from 0x%lx: %s (--force plants "
			"anyway)",
			symbol ? symbol : spec->path, ul(spec->offset), why);
	if (is_part(symbol))
		return ubp_fail(
			err, ENOTSUP,
			"%s is a part of a function, jumped to and not called: there is no "
			"return address on top of the stack (--force plants anyway)",
			symbol);
	if (keeps_return_address(symbol))
		return ubp_fail(err, ENOTSUP,
				"%s keeps its return address for longjmp(), setcontext() or an "
				"unwinder, "
				"which would find a hijacked one (--force plants anyway)",
				symbol);
	return 0;
}

static int read_code(const struct object *object, uint64_t foffset, struct file_code *ret_code)
{
	ssize_t n = object_read(object, foffset, ret_code->bytes, UBP_INSN_MAX);

	ret_code->len = n > 0 ? (uint8_t)n : 0;
	return n > 0 ? 0 : n < 0 ? (int)n : -EINVAL;
}

static int take_exits(struct uprobe *u, const struct definition_file *file,
		      const struct object_exits *found, struct ubp_err *err)
{
	size_t n_rets = 0;

	u->exits = calloc(found->n + 1, sizeof(*u->exits));
	if (!u->exits)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < found->n; i++) {
		struct uprobe_exit *e = &u->exits[u->n_exits];

		/* Mostly the table of a switch; what leaves that way is not seen. */
		if (found->exits[i].kind == EXIT_JUMP_TO)
			continue;
		e->foffset = found->exits[i].foffset;
		e->is_jump = found->exits[i].kind == EXIT_JUMP;
		if (read_code(file->object, e->foffset, &e->code) < 0)
			return ubp_fail(err, EIO, "cannot read %s", object_path(file->object));
		e->run_up = found->exits[i].run_up;
		e->several = found->exits[i].several;
		e->may_fault = found->exits[i].may_fault;
		e->jump_due = true;
		n_rets += !e->is_jump;
		u->n_exits++;
	}
	if (n_rets)
		return 0;
	u->n_exits = 0;
	return ubp_fail(err, ENODATA, "it has no ret instruction%s",
			found->n ? ": it ends in a jump to another function" : "");
}

static int look_for_exits(struct uprobe *u, const struct definition_file *file,
			  uint64_t foffset, struct ubp_err *why_not)
{
	struct object_exits found;
	int rc = object_find_exits(file->object, foffset, &found, why_not);

	u->jumps_out = rc < 0;
	if (rc == 0) {
		for (size_t i = 0; i < found.n; i++)
			u->jumps_out |= found.exits[i].kind != EXIT_RET;
		rc = take_exits(u, file, &found, why_not);
		free(found.exits);
	}
	if (rc == 0)
		return 0;
	u->no_exits = strdup(why_not->text);
	return rc;
}

void check_find_exits(struct uprobe *probe)
{
	const struct defined_probe *p = probe->origin;
	struct definition_file *file = p->file;
	struct ubp_err why_not;

	ubp_err_reset(&why_not);
	probe->exits_due = false;
	(void)look_for_exits(probe, file, probe->foffset, &why_not);
}

/*
 * Where the function is left. Every process decides by itself whether it needs to
 * know; it takes a millisecond for a long function, so it is asked only then. Where the
 * file says so, not to know is an error.
 */
static int find_exits(struct definitions *defs, struct defined_probe *p,
		      struct definition_file *file, const struct spec_probe *spec,
		      struct ubp_err *err)
{
	struct return_facts *facts = &p->uprobe->facts;
	struct ubp_err why_not;
	const char *why;

	if (!file->has_facts) {
		file->facts.is_go = object_is_go(file->object);
		file->facts.hides_unwinder = object_hides_unwinder(file->object);
		file->facts.walks_stacks = object_walks_stacks(file->object);
		file->has_facts = true;
	}
	*facts = file->facts;
	facts->takes_return =
		p->uprobe->arch->insn.takes_return &&
		p->uprobe->arch->insn.takes_return(p->uprobe->code.bytes, p->uprobe->code.len);
	facts->uses_return = return_way_uses_return(p->symbol);
	p->uprobe->exits_due = return_way_of(facts, &why) == RETURN_HIJACKED;
	ubp_err_reset(&why_not);
	if (p->uprobe->exits_due ||
	    look_for_exits(p->uprobe, file, spec->offset, &why_not) == 0 || defs->opt.force)
		return 0;
	return ubp_fail(err, ENOTSUP,
			"the return of %s can only be probed at its ret instructions (%s), and "
			"%s",
			p->uprobe->what, why, why_not.text);
}

/* At ret instructions nobody knows when the function was entered, and with what. */
static int check_duration(const struct defined_probe *p, const struct spec_probe *spec,
			  struct ubp_err *err)
{
	bool is_wanted = false, is_entry = false;
	const char *why;

	for (size_t i = 0; i < spec->n_args; i++) {
		is_wanted |= spec->args[i].source == SPEC_DURATION || spec->args[i].at_entry;
		is_entry |= spec->args[i].at_entry;
	}
	if (!is_wanted || return_way_of(&p->uprobe->facts, &why) == RETURN_HIJACKED)
		return 0;
	return ubp_fail(err, ENOTSUP,
			"%s of %s cannot be told: its return can only be probed at its "
			"ret instructions (%s), where it is not known %s it was entered",
			is_entry ? "entry()" : "$duration", p->uprobe->what, why,
			is_entry ? "with what" : "when");
}

static int check_place(const struct spec_probe *spec, struct definition_file *file,
		       struct ubp_err *err)
{
	uint64_t foffset = spec->offset;

	if (foffset >= object_size(file->object))
		return ubp_fail(err, EINVAL,
				"offset 0x%lx is outside of %s, which has 0x%lx bytes",
				ul(foffset), spec->path, ul(object_size(file->object)));
	if (!object_is_executable(file->object, foffset))
		return ubp_fail(err, EINVAL,
				"offset 0x%lx of %s is not in an executable segment",
				ul(foffset), spec->path);
	if (spec->ref & 1)
		return ubp_fail(err, EINVAL, "reference counter offset 0x%lx is odd",
				ul(spec->ref));
	return 0;
}

/* "readline+0x4" or "ns::f+0x4" for an offset; NULL if no function is known there. */
static char *symbolise(struct object *object, uint64_t foffset)
{
	struct object_symbol symbol;
	char *brief, *text = NULL;
	int n;

	if (object_function_at(object, foffset, &symbol) < 0 || !symbol.name)
		return NULL;
	brief = demangle_short(symbol.name);
	/* printf() takes its time, and this is asked of ten thousand functions. */
	if (foffset == symbol.foffset)
		return brief ? brief : strdup(symbol.name);
	n = asprintf(&text, "%s+0x%lx", brief ? brief : symbol.name,
		     ul(foffset - symbol.foffset));
	free(brief);
	return n < 0 ? NULL : text;
}

/* The instruction that foffset falls into. */
static int refuse_inside(struct definition_file *file, const struct spec_probe *spec,
			 uint64_t start, struct ubp_err *err)
{
	const struct ubp_arch *arch = object_arch(file->object);
	struct displaced_insn insn = { 0 };
	uint8_t code[UBP_INSN_MAX];
	ssize_t n = object_read(file->object, start, code, sizeof(code));
	struct ubp_err ignored;
	char *at = symbolise(file->object, start);

	/* A refused instruction has its text as well. */
	if (n > 0)
		(void)arch->insn.analyze(code, (size_t)n, start, &insn, &ignored);
	ubp_fail(err, EINVAL,
		 "offset 0x%lx of %s is inside the instruction at 0x%lx (%s%s%s): a breakpoint "
		 "there would change it",
		 ul(spec->offset), spec->path, ul(start), at ? at : "", at ? ": " : "",
		 arch->insn.text(&insn).s);
	free(at);
	return -EINVAL;
}

static int check_boundary(struct definitions *defs, struct definition_file *file,
			  const struct spec_probe *spec, struct ubp_err *err)
{
	uint64_t start = 0;
	int rc = object_check_boundary(file->object, spec->offset, &start);

	if (rc == BOUNDARY_OK || defs->opt.force)
		return 0;
	if (rc == BOUNDARY_INSIDE)
		return refuse_inside(file, spec, start, err);
	if (rc == BOUNDARY_UNKNOWN)
		return ubp_fail(
			err, EINVAL,
			"offset 0x%lx of %s is in no function that is known: it cannot be "
			"told whether an instruction starts there (--force plants anyway)",
			ul(spec->offset), spec->path);
	return ubp_fail(
		err, EINVAL,
		"offset 0x%lx of %s lies behind bytes that are no instructions (--force "
		"plants anyway)",
		ul(spec->offset), spec->path);
}

static int check_insn(struct defined_probe *p, struct definition_file *file,
		      const struct spec_probe *spec, struct ubp_err *err)
{
	const struct ubp_arch *arch = object_arch(file->object);
	struct displaced_insn *insn = &p->uprobe->insn;
	uint64_t elf_vaddr = spec->offset;
	struct file_code *code = &p->uprobe->code;
	int rc = read_code(file->object, spec->offset, code);
	const char *why;

	if (rc < 0)
		return ubp_fail(err, -rc, "%s: cannot read at 0x%lx", spec->path,
				ul(spec->offset));
	(void)object_foffset_to_vaddr(file->object, spec->offset, &elf_vaddr);
	p->uprobe->arch = arch;
	rc = arch->insn.analyze(code->bytes, code->len, elf_vaddr, insn, err);
	why = rc < 0 ? NULL : object_refuse_at(file->object, spec->offset);
	if (why)
		rc = ubp_fail(err, EOPNOTSUPP, "can't probe '%s': %s", arch->insn.text(insn).s,
			      why);
	return rc < 0 ? ubp_context(err, "%s", p->uprobe->what) : 0;
}

/* "FILE:SYMBOL", without printf() as well. */
static char *join(const char *file, const char *symbol)
{
	size_t file_len = strlen(file), symbol_len = strlen(symbol);
	char *text = malloc(file_len + 1 + symbol_len + 1);

	if (!text)
		return NULL;
	memcpy(text, file, file_len);
	text[file_len] = ':';
	memcpy(text + file_len + 1, symbol, symbol_len);
	text[file_len + 1 + symbol_len] = '\0';
	return text;
}

static int name_probe(struct defined_probe *p, struct definition_file *file,
		      const struct spec_probe *spec, struct ubp_err *err)
{
	const char *base = base_name(spec->path);

	p->symbol = symbolise(file->object, spec->offset);
	if (p->symbol)
		p->uprobe->what = join(base, p->symbol);
	else if (asprintf(&p->uprobe->what, "%s:0x%lx", base, ul(spec->offset)) < 0)
		p->uprobe->what = NULL;
	return p->uprobe->what ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

int check_probe(struct definitions *defs, const struct spec_probe *spec,
		struct definition_file *file, struct defined_probe *p,
		enum place_refusal *ret_why, struct ubp_err *err)
{
	int rc = check_place(spec, file, err);

	*ret_why = REFUSED_PLACE;
	if (rc == 0)
		rc = name_probe(p, file, spec, err);
	if (rc == 0 && spec->kind == PROBE_RETURN && !defs->opt.force) {
		*ret_why = REFUSED_RETURN;
		rc = check_return(file, spec, p->symbol, err);
	}
	if (rc == 0) {
		*ret_why = REFUSED_SPAWN;
		rc = spawn_check(defs, file, spec, err);
	}
	if (rc == 0) {
		*ret_why = REFUSED_BOUNDARY;
		rc = check_boundary(defs, file, spec, err);
	}
	if (rc == 0) {
		*ret_why = REFUSED_INSN;
		rc = check_insn(p, file, spec, err);
	}
	if (rc == 0 && spec->kind == PROBE_RETURN) {
		*ret_why = REFUSED_EXITS;
		rc = find_exits(defs, p, file, spec, err);
	}
	if (rc == 0 && spec->kind == PROBE_RETURN) {
		*ret_why = REFUSED_DURATION;
		rc = check_duration(p, spec, err);
	}
	return rc;
}
