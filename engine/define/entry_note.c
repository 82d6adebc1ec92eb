/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/entry_note.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/escape.h"
#include "engine/define/probes.h"
#include "engine/define/state.h"
#include "engine/spec/spec.h"

static bool had_argument(const struct arch_reg *reg, uint16_t number)
{
	if (number == reg->retval)
		return false;
	for (unsigned i = 0; i < reg->n_args; i++)
		if (reg->args[i] == number)
			return true;
	return false;
}

/* The first arg of @spec that a person wrote so, and may have meant what the function was given. */
static const struct spec_arg *find(const struct ubp_arch *arch, const struct spec_probe *spec)
{
	for (size_t i = 0; i < spec->n_args; i++) {
		const struct spec_arg *arg = &spec->args[i];

		if (arg->source == SPEC_REG && !arg->at_entry && !arg->is_sum &&
		    had_argument(&arch->reg, arg->reg) && strchr(arg->text, '%') &&
		    strstr(spec->command, arg->text))
			return arg;
	}
	return NULL;
}

static void tell(const struct definitions *defs, const struct spec_probe *spec,
		 const struct spec_arg *arg)
{
	const char *reg = strchr(arg->text, '%');
	int len = (int)strcspn(reg, "):");
	char raw[512], text[512];

	(void)snprintf(raw, sizeof(raw),
		       "r:%s: %.*s is what the register has when the function returns; "
		       "entry(%.*s) is what it had at the entry",
		       spec->event, len, reg, len, reg);
	escape_line_cut(text, sizeof(text), raw);
	defs->opt.tell(defs->opt.warn_ctx, text);
}

void entry_note_tell(const struct definitions *defs)
{
	for (size_t i = 0; defs->opt.tell && !defs->opt.strict && i < defs->n_probes; i++) {
		const struct spec_probe *spec = probes_spec(defs, i);
		const struct spec_arg *arg = spec->kind == PROBE_RETURN
						     ? find(defs->probes[i]->uprobe->arch, spec)
						     : NULL;

		if (arg) {
			tell(defs, spec, arg);
			return;
		}
	}
}
