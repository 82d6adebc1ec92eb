/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/mirrors.h"
#include "engine/code/window.h"
#include "engine/define/check.h"
#include "engine/define/exit_jumps.h"
#include "engine/define/files.h"
#include "engine/define/probes.h"
#include "engine/define/windows.h"
#include "engine/spec/format.h"
#include "engine/symbols/demangle.h"

/* Text of @print, as long as it turns out to be. */
static const char *keep_text(char **keep, const struct spec_probe *spec, unsigned number,
			     int (*print)(const struct spec_probe *, unsigned, char *, size_t))
{
	int len;

	if (!*keep) {
		len = print(spec, number, NULL, 0);
		*keep = malloc((size_t)len + 1);
		if (*keep)
			(void)print(spec, number, *keep, (size_t)len + 1);
	}
	return *keep ? *keep : "";
}

static int print_listing(const struct spec_probe *spec, unsigned number, char *buf, size_t size)
{
	(void)number;
	return spec_probe_listing(spec, buf, size);
}

static int print_format(const struct spec_probe *spec, unsigned number, char *buf, size_t size)
{
	return spec_format_text(spec, number + 1, buf, size);
}

const char *describe_listing(struct definitions *defs, size_t i)
{
	return keep_text(&defs->probes[i]->listing, probes_spec(defs, i), (unsigned)i,
			 print_listing);
}

const char *describe_format(struct definitions *defs, size_t i)
{
	return keep_text(&defs->probes[i]->format, probes_spec(defs, i), (unsigned)i,
			 print_format);
}

/* As it was defined, without version or file behind '@'; else the one that the place is in, without an offset. */
char *describe_function(const struct definitions *defs, size_t i)
{
	const struct spec_probe *spec = probes_spec(defs, i);
	const char *name = spec->symbol ? spec->symbol : defs->probes[i]->symbol, *end;
	char *cut, *brief, *text = NULL;

	if (!name)
		return asprintf(&text, "0x%lx", (unsigned long)spec->offset) < 0 ? NULL : text;
	end = spec->symbol ? strchr(name, '@') : strstr(name, "+0x");
	cut = end && end > name ? strndup(name, (size_t)(end - name)) : strdup(name);
	brief = cut ? demangle_short(cut) : NULL;
	if (!brief)
		return cut;
	free(cut);
	return brief;
}

/* How a return is caught; @no_jumps: without any. Allocated; NULL: no return probe. */
static char *explain_return(const struct defined_probe *p, bool no_jumps)
{
	const struct uprobe *u = p->uprobe;
	size_t n_rets = 0, n_jumps = 0;
	const char *why;
	char *text = NULL;

	if (u->kind != PROBE_RETURN)
		return NULL;
	if (return_way_of(&u->facts, &why) == RETURN_HIJACKED)
		return strdup("; the return address is replaced at entry");
	if (!no_jumps)
		exit_jumps_find(p->uprobe);
	for (size_t i = 0; i < u->n_exits; i++) {
		n_rets += !u->exits[i].is_jump;
		n_jumps += (u->exits[i].padding || u->exits[i].n_hops || u->exits[i].run_up) &&
			   !no_jumps;
	}
	if (asprintf(
		    &text,
		    "; returns: breakpoints on %zu ret instruction%s (%s), at %zu of which, or "
		    "right in front of them, jumps stand; %zu jump%s to other functions count "
		    "as missed",
		    n_rets, n_rets == 1 ? "" : "s", why, n_jumps, u->n_exits - n_rets,
		    u->n_exits - n_rets == 1 ? "" : "s") < 0)
		return NULL;
	return text;
}

static bool is_at_rets(const struct uprobe *u)
{
	const char *why;

	return u->kind == PROBE_RETURN && return_way_of(&u->facts, &why) != RETURN_HIJACKED;
}

/* The rung that its sites will get, and why not a better one. Allocated, or NULL. */
static char *explain_rung(const struct definitions *defs, const struct uprobe *u)
{
	const char *why = defs->opt.no_jumps ? defs->opt.no_jumps
			  : is_at_rets(u)    ? "returns are caught at ret instructions"
					     : u->window.why;
	const char *rung = defs->opt.steps && !u->insn.no_step
				   ? "stepped (breakpoint, single-stepped copy: two stops)"
				   : "boosted (breakpoint, copy that jumps back: one stop)";
	char *text = NULL;
	int n;

	if ((why || !u->window.len) && uprobe_behind(u) && !is_at_rets(u))
		n = asprintf(&text, "%s, behind the first %u bytes, not a jump: %s", rung,
			     uprobe_behind(u), why ? why : "not known");
	else if (why || !u->window.len)
		n = asprintf(&text, "%s, not a jump: %s", rung, why ? why : "not known");
	else if (uprobe_behind(u))
		n = asprintf(&text,
			     "jump (over %u bytes behind the first %u, to a detour: no stop)",
			     u->window.len, uprobe_behind(u));
	else if (u->window.n_hops)
		n = asprintf(
			&text,
			"jump (short, over %u bytes, to another in unused bytes near by, and "
			"from there to a detour: no stop; not safe beside a kernel's uprobe "
			"there: %s)",
			u->window.len, u->window.no_lead ? u->window.no_lead : "?");
	else if (u->window.pun.n_fixed)
		n = asprintf(
			&text,
			"jump (over %u bytes, of which the next %u are a part, to another in "
			"memory "
			"that is mapped for it, and from there to a detour: no stop; not safe "
			"beside a kernel's uprobe there: %s)",
			(unsigned)u->window.pun.n_prefix + UBP_HOP_LEN - u->window.pun.n_fixed,
			u->window.pun.n_fixed, u->window.no_lead ? u->window.no_lead : "?");
	else
		n = asprintf(&text,
			     "jump (over %u bytes, to a detour: no stop; not safe beside a "
			     "kernel's uprobe there: %s)",
			     u->window.len, u->window.no_lead ? u->window.no_lead : "?");
	return n < 0 ? NULL : text;
}

const char *describe_explain(struct definitions *defs, size_t i)
{
	const struct spec_probe *spec = probes_spec(defs, i);
	struct defined_probe *p = defs->probes[i];
	int settled = p->explain ? 0 : windows_settle(defs);
	char *way = p->explain
			    ? NULL
			    : explain_return(p, defs->opt.no_jumps || defs->opt.beside_kernel);
	char *rung = p->explain ? NULL : explain_rung(defs, p->uprobe);

	if (settled == 0 && !p->explain &&
	    asprintf(&p->explain, "%s/%s %s at %s:0x%lx: %s [%s]%s", spec->group, spec->event,
		     p->symbol ? p->symbol : "-", spec->path, (unsigned long)spec->offset,
		     rung ? rung : "?", p->uprobe->arch->insn.text(&p->uprobe->insn).s,
		     way ? way : "") < 0)
		p->explain = NULL;
	free(way);
	free(rung);
	return p->explain ? p->explain : "";
}

const char *describe_stop(struct definitions *defs, size_t i)
{
	const struct uprobe *u = defs->probes[i]->uprobe;

	if (is_at_rets(u))
		return "returns are caught at instructions of a function";
	if (defs->opt.no_jumps || windows_settle(defs) < 0 || u->window.why || !u->window.len)
		return "not all of the places are jumps";
	return NULL;
}

const char *describe_break(struct definitions *defs, size_t i, bool *ret_perhaps)
{
	const struct defined_probe *p = defs->probes[i];
	const struct uprobe *u = p->uprobe;
	enum mirrors_answer answer = MIRRORS_SERVE;
	struct window window;
	struct lead lead;
	struct ubp_err ignored;
	int rc = -1;

	ubp_err_reset(&ignored);
	if (!describe_stop(defs, i))
		rc = u->window.is_behind
			     ? object_window_behind(p->object, u->foffset, &lead, &window,
						    &ignored)
			     : object_window_first(p->object, u->foffset, &window, &ignored);
	if (rc == 0)
		answer = mirrors_ask(p->object, &window);
	*ret_perhaps = answer == MIRRORS_PERHAPS;
	return answer == MIRRORS_SERVE
		       ? NULL
		       : "a debugger's breakpoint could break one of its jumps (--force)";
}

/* The parser knows what is the kernel's: that is what --strict is for. */
static int parse_strictly(struct definitions *defs, const char *line, struct ubp_err *err)
{
	struct spec_env env = {
		.arch = defs->opt.arch,
		.strict = true,
		.find_file = files_find,
		.arch_of = files_arch,
		.ctx = defs,
	};
	struct spec_table *table = spec_table_new(&env);
	int rc = table ? spec_table_write(table, line, strlen(line), err)
		       : ubp_fail(err, ENOMEM, "out of memory");

	spec_table_free(table);
	return rc;
}

const char *describe_for_kernel(struct definitions *defs, size_t i, const char **ret_why)
{
	struct defined_probe *p = defs->probes[i];
	const char *line = describe_listing(defs, i);
	struct ubp_err err;

	ubp_err_reset(&err);
	*ret_why = NULL;
	if (parse_strictly(defs, line, &err) == 0)
		return line;
	free(p->no_definition);
	if (asprintf(&p->no_definition, "%s: %s", line, err.text) < 0)
		p->no_definition = NULL;
	*ret_why = p->no_definition ? p->no_definition : "out of memory";
	return NULL;
}
