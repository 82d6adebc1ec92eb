/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/code/window.h"
#include "engine/define/check.h"
#include "engine/define/definitions.h"
#include "engine/define/files.h"
#include "engine/define/ifunc.h"
#include "engine/define/target.h"
#include "engine/elf/object.h"
#include "engine/spec/probe.h"
#include "engine/symbols/functions.h"
#include "engine/trace/named_pids.h"

int explaining_begin(const struct define_target *target, const char *name, struct explaining *x,
		     struct ubp_err *err)
{
	pid_t pid = target->pid;
	struct definitions_options opt = {
		.files_only = true,
		.debug = target->debug,
		.pids = &pid,
		.n_pids = pid != 0,
	};
	uint64_t dev = 0, ino = 0;
	int rc = named_pids_take(&pid, &opt.n_pids, NULL, NULL, err);

	if (rc == 0)
		rc = definitions_new(&opt, &x->defs, err);
	if (rc == 0)
		rc = files_find(x->defs, name, &dev, &ino, &x->path, err);
	if (rc < 0)
		return rc;
	x->file = files_by_id(x->defs, dev, ino);
	if (!x->path)
		x->path = strdup(name);
	if (!x->file || !x->path)
		return ubp_fail(err, ENOMEM, "out of memory");
	x->object = x->file->object;
	return check_arch(x->defs, x->file, x->path, err);
}

const char *explaining_text(struct explaining *x, uint64_t foffset,
			    const struct object_symbol *symbol)
{
	struct spec_probe spec = { .path = x->path, .is_resolved = true };
	struct defined_probe *p = check_new_probe();
	enum place_refusal why;
	struct window window;
	struct lead lead;
	struct ubp_err err;
	int rc = p ? 0 : -ENOMEM;

	ubp_err_reset(&err);
	spec.offset = foffset + (symbol ? symbol->entry_off : 0);
	if (rc == 0 && symbol && symbol->is_ifunc)
		rc = ifunc_choice(x->defs, x->file, symbol, &spec.offset, &err);
	if (rc == 0)
		rc = check_probe(x->defs, &spec, x->file, p, &why, &err);
	check_free_probe(p);
	if (rc < 0) {
		snprintf(x->text, sizeof(x->text), "refused: %s", err.text);
		return x->text;
	}
	if (!object_arch(x->object)->detour.build)
		return "breakpoint: there are no jumps in programs of this kind";
	if (object_window_behind(x->object, spec.offset, &lead, &window, &err) == 0)
		return "jump";
	ubp_err_reset(&err);
	rc = object_window_first(x->object, spec.offset, &window, &err);
	if (rc == 0 && window.pun.n_fixed)
		return "jump (by a second one, in memory that is mapped for it; what follows "
		       "is a part "
		       "of the first: not safe beside a kernel's uprobe)";
	if (rc == 0)
		return window.n_hops
			       ? "jump (by a second one, in unused bytes near by; at the first "
				 "instruction: not safe beside a kernel's uprobe)"
			       : "jump (at the first instruction: not safe beside a kernel's "
				 "uprobe)";
	snprintf(x->text, sizeof(x->text), "breakpoint: %s", err.text);
	return x->text;
}

void explaining_end(struct explaining *x)
{
	definitions_free(x->defs);
	free(x->path);
}
