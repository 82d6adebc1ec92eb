/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/unwinder.h"

#include <string.h>

#include "engine/base/err.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/object_priv.h"
#include "engine/symbols/symtab.h"

/* In the file itself: whoever follows unwinders looks nowhere else. */
static bool has_symbol(const struct symtab *symtab, const char *name)
{
	for (const struct sym *sym = symtab_first(symtab, name, strlen(name)); sym;
	     sym = symtab_next(symtab, sym))
		if ((size_t)(sym - symtab->syms) < symtab->n_own)
			return true;
	return false;
}

bool object_hides_unwinder(struct object *object)
{
	/* Defined here they are found; imported they are in a library. */
	static const char *const unwinders[] = { "_Unwind_RaiseException", "_Unwind_Resume",
						 "__gxx_personality_v0", "__gcc_personality_v0",
						 "__cxa_begin_catch" };
	/* C libraries ask libgcc_s, under names that are their own. */
	static const char *const libc[] = { "__libc_start_main", "pthread_create" };
	const struct symtab *symtab;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (!eh_frame_has_personality(object) || symtab_get(object, &symtab, &ignored) < 0)
		return false;
	for (size_t i = 0; i < sizeof(unwinders) / sizeof(unwinders[0]); i++)
		if (has_symbol(symtab, unwinders[i]))
			return false;
	for (size_t i = 0; object->soname && i < sizeof(libc) / sizeof(libc[0]); i++)
		if (has_symbol(symtab, libc[i]))
			return false;
	return true;
}

bool object_walks_stacks(struct object *object)
{
	/* What these define, for those who use them. */
	static const char *const theirs[] = { "JNI_CreateJavaVM", "_ZN2v87Isolate8AllocateEv" };
	const struct symtab *symtab;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (symtab_get(object, &symtab, &ignored) < 0)
		return false;
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (has_symbol(symtab, theirs[i]))
			return true;
	return false;
}
