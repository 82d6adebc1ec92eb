/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/leaf.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "arch/leaf.h"
#include "engine/base/err.h"
#include "engine/code/landing_set.h"
#include "engine/code/landings.h"
#include "engine/code/led_to.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/gopclntab.h"

struct function {
	struct object *object;
	uint64_t start, end; /* elf_vaddrs */
	const struct leaf *leaf;
};

/* The kernel takes a thread out of a sequence if it is interrupted between two addresses: it would not be in a copy. */
static bool has_sequences(const struct object *object)
{
	GElf_Shdr header;

	/* Without sections nobody knows. */
	return !object->n_sections ||
	       (object->elf && section_named(object->elf, NULL, "__rseq_cs", &header));
}

/* Is nothing on the stack but the return address, wherever a thread may be in the copy? */
static bool is_frameless(const struct function *f)
{
	for (size_t i = 0; i < f->leaf->n; i++) {
		uint64_t at = f->start + f->leaf->insns[i].from;

		if (!gopclntab_is_frameless(f->object, at, at + f->leaf->insns[i].len))
			return false;
	}
	return true;
}

/* In a program with cgo: it runs on stacks that are made for C, and no goroutine is preempted in it. */
static bool is_of_c(const struct function *f)
{
	struct go_function ignored;

	return gopclntab_is_there(f->object) &&
	       gopclntab_at(f->object, f->start, &ignored) == -ENOENT;
}

/*
 * In a copy nobody is preempted, and who walks a stack finds an address that no table has: the return address must be what is right above that.
 */
static const char *why_not_go(const struct function *f)
{
	if (is_of_c(f))
		return NULL;
	if (!is_frameless(f))
		return "its Go function has a frame";
	if (f->leaf->has_loop &&
	    !gopclntab_never_parks(f->object, f->start, f->start + f->leaf->len))
		return "its Go function may be preempted in a loop";
	return NULL;
}

static int check(const struct function *f, struct ubp_err *err)
{
	const unsigned kinds = 1u << LANDING_NAME | 1u << LANDING_PAD;
	const struct landings *landings;
	const char *why = NULL;
	int rc = landings_get(f->object, &landings, err);

	if (rc < 0)
		return rc;
	if (landings_first(landings, kinds, f->start + 1, f->start + f->leaf->len))
		why = "a place in it has a name";
	else if (has_sequences(f->object))
		why = "its file has restartable sequences";
	else if (f->object->is_go)
		why = why_not_go(f);
	return why ? ubp_fail(err, EOPNOTSUPP, "%s", why) : 0;
}

static int find(struct function *f, const uint8_t *code, size_t len, struct leaf **ret_leaf,
		struct ubp_err *err)
{
	struct leaf *leaf = NULL;
	int rc = f->object->arch->jump.find_leaf(code, len, f->start, &leaf, err);

	f->leaf = leaf;
	if (rc == 0)
		rc = check(f, err);
	if (rc == 0)
		*ret_leaf = leaf;
	else
		free(leaf);
	return rc;
}

int object_find_leaf(struct object *object, uint64_t foffset, struct leaf **ret_leaf,
		     struct ubp_err *err)
{
	struct function f = { .object = object };
	uint64_t elf_vaddr;
	uint8_t *code;
	ssize_t len;
	int rc;

	if (!object->arch || !object->arch->jump.find_leaf)
		return ubp_fail(err, EOPNOTSUPP, "no copies of functions");
	if (object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0 ||
	    object_extent(object, foffset, &f.start, &f.end) < 0 || f.start != elf_vaddr ||
	    f.end <= f.start)
		return ubp_fail(err, EOPNOTSUPP, "no function is known to start there");
	code = malloc(UBP_LEAF_CODE_MAX);
	if (!code)
		return ubp_fail(err, ENOMEM, "out of memory");
	len = code_read(object, f.start, code,
			f.end - f.start < UBP_LEAF_CODE_MAX ? f.end - f.start
							    : UBP_LEAF_CODE_MAX);
	rc = len > 0 ? find(&f, code, (size_t)len, ret_leaf, err)
		     : ubp_fail(err, EIO, "cannot read the code of %s", object->path);
	free(code);
	return rc;
}
