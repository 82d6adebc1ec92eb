/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/code/window.h"
#include "engine/elf/object.h"
#include "engine/session/definitions.h"
#include "engine/session/inside.h"
#include "engine/symbols/functions.h"
#include "engine/ubp_files.h"

int explaining_begin(const struct ubp_target *target, const char *name, struct explaining *x,
		     struct ubp_err *err)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	uint64_t dev = 0, ino = 0;
	int rc;

	opt.pids = &target->pid;
	opt.n_pids = target->pid != 0;
	opt.debug = target->debug;
	opt.files_only = true;
	rc = ubp_session_new(&opt, &x->session, err);
	if (rc == 0)
		rc = files_find(x->session, name, &dev, &ino, &x->path, err);
	if (rc < 0)
		return rc;
	x->file = files_by_id(x->session, dev, ino);
	if (!x->path)
		x->path = strdup(name);
	if (!x->file || !x->path)
		return ubp_fail(err, ENOMEM, "out of memory");
	return define_check_arch(x->session, x->file, x->path, err);
}

const char *explaining_text(struct explaining *x, uint64_t foffset,
			    const struct object_symbol *symbol)
{
	struct spec_probe spec = { .path = x->path, .is_resolved = true };
	struct session_probe *p = define_new_probe();
	enum place_refusal why;
	struct window window;
	struct lead lead;
	struct ubp_err err;
	int rc = p ? 0 : -ENOMEM;

	ubp_err_reset(&err);
	spec.offset = foffset + (symbol ? symbol->entry_off : 0);
	if (rc == 0 && symbol && symbol->is_ifunc)
		rc = ifunc_choice(x->session, x->file, symbol, &spec.offset, &err);
	if (rc == 0)
		rc = define_check(x->session, &spec, x->file, p, &why, &err);
	define_free_probe(p);
	if (rc < 0) {
		snprintf(x->text, sizeof(x->text), "refused: %s", err.text);
		return x->text;
	}
	if (!object_arch(x->file->object)->detour.build)
		return "breakpoint: there are no jumps in programs of this kind";
	if (object_window_behind(x->file->object, spec.offset, &lead, &window, &err) == 0)
		return "jump";
	ubp_err_reset(&err);
	if (object_window(x->file->object, spec.offset, &window, &err) == 0)
		return "jump (at the first instruction: not safe beside a kernel's uprobe)";
	snprintf(x->text, sizeof(x->text), "breakpoint: %s", err.text);
	return x->text;
}

void explaining_end(struct explaining *x)
{
	ubp_session_free(x->session);
	free(x->path);
}
