/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Functions of the target that tell ubp something; breakpoints of its own stand
 * on them.
 *
 * - The dynamic loader calls an empty function, r_brk of struct r_debug, whenever
 *   it has mapped or unmapped libraries, for debuggers to break on. Both glibc
 *   and musl name it _dl_debug_state.
 * - Unwinders read return addresses from the stack. They must find real ones, or a
 *   C++ exception ends the program: before they look, hijacked ones are put back,
 *   and what is still there when the exception was caught, or the unwinder
 *   returns, is hijacked again.
 */

#include "engine/plant/hooks.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "engine/base/cancel.h"
#include "engine/base/err.h"
#include "engine/base/file_cost.h"
#include "engine/base/page.h"
#include "engine/base/proc.h"
#include "engine/code/exits.h"
#include "engine/code/unwinder.h"
#include "engine/elf/object.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"
#include "engine/space/probe_list.h"
#include "engine/space/return_way.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/symbols/functions.h"
#include "engine/trace/task.h"

static const struct {
	const char *name; /* %s: the machine, as libunwind calls it */
	unsigned watches;
} unwinders[] = {
	{ "_Unwind_RaiseException", WATCH_UNWIND | WATCH_OWN_STACK },
	{ "_Unwind_Resume", WATCH_UNWIND | WATCH_RESUME },
	{ "_Unwind_Resume_or_Rethrow", WATCH_UNWIND | WATCH_OWN_STACK },
	{ "_Unwind_ForcedUnwind", WATCH_UNWIND | WATCH_OWN_STACK },
	{ "_Unwind_Backtrace", WATCH_UNWIND | WATCH_OWN_STACK },
	/* What a handler calls at its start, and what gives an exception back. */
	{ "__cxa_begin_catch", WATCH_CATCH },
	{ "_Unwind_DeleteException", WATCH_CATCH },
	/* libunwind: of nongnu.org, as called from C, and of LLVM. */
	{ "_UL%s_init_local", WATCH_UNWIND },
	{ "_UL%s_init_local2", WATCH_UNWIND },
	{ "_UL%s_step", WATCH_UNWIND },
	{ "unw_backtrace", WATCH_UNWIND },
	{ "unw_backtrace2", WATCH_UNWIND },
	{ "__unw_init_local", WATCH_UNWIND },
	{ "__unw_step", WATCH_UNWIND },
};

#define N_UNWINDERS (sizeof(unwinders) / sizeof(unwinders[0]))

/* A file that could not be read is asked again so often: memory may have been short, or descriptors. */
#define UNREAD_MAX 3

/* What is known of one file; files are few and their answers never change. */
struct hook_file {
	uint64_t dev, ino;
	uint64_t loader;              /* file offset of the loader's function; 0: none */
	uint64_t unwind[N_UNWINDERS]; /* file offsets of unwinders; 0: none */
	struct object_exits exits[N_UNWINDERS];
	bool hides_unwinder, wants_shadow_stack, is_go;
	uint64_t unused_foffset, unused_len; /* zeros behind its code; 0: none */
	unsigned n_unread; /* so often it could not be read; 0 also when it was */
	bool is_costly;    /* file_cost_end() */
	struct hook_file *next;
};

/* The function of that machine's libunwind that @format stands for. False: there is none. */
static bool unwinder_name(const char *format, const struct ubp_arch *arch, char *name,
			  size_t size)
{
	const char *machine = strstr(format, "%s");
	const char *libunwind = arch ? arch->elf.libunwind : NULL;

	if (!machine)
		(void)snprintf(name, size, "%s", format);
	else if (libunwind)
		(void)snprintf(name, size, "%.*s%s%s", (int)(machine - format), format,
			       libunwind, machine + 2);
	return !machine || libunwind;
}

/* *ret_foffset is 0: there is none. Returns 0, or why the file can't be read. */
static int find_foffset(struct object *object, const char *name, uint64_t *ret_foffset)
{
	uint64_t elf_vaddr;
	int rc = object_symbol_value(object, name, &elf_vaddr);

	if (rc < 0 || object_vaddr_to_foffset(object, elf_vaddr, ret_foffset) < 0)
		*ret_foffset = 0;
	return rc == -ENOENT ? 0 : rc;
}

static void find_unused(struct hook_file *f, const struct object *object)
{
	uint64_t elf_vaddr, foffset, len;

	if (object_find_bytes_slack(object, 1, &elf_vaddr, &len) < 0 ||
	    object_vaddr_to_foffset(object, elf_vaddr & ~(PAGE - 1), &foffset) < 0)
		return;
	f->unused_foffset = foffset + (elf_vaddr & (PAGE - 1));
	f->unused_len = len;
}

/* Returns 0, or why not all of it could be read. */
static int ask_object(struct hook_file *f, struct object *object)
{
	int rc = find_foffset(object, "_dl_debug_state", &f->loader);
	struct ubp_err ignored;
	char name[64];

	f->hides_unwinder = object_hides_unwinder(object);
	f->wants_shadow_stack = object_wants_shadow_stack(object);
	f->is_go = object_is_go(object);
	find_unused(f, object);
	for (size_t i = 0; i < N_UNWINDERS && rc == 0; i++) {
		if (!unwinder_name(unwinders[i].name, object_arch(object), name, sizeof(name)))
			continue;
		rc = find_foffset(object, name, &f->unwind[i]);
		if (f->unwind[i] && unwinders[i].watches & WATCH_UNWIND &&
		    object_find_exits(object, f->unwind[i], &f->exits[i], &ignored) == -ENOMEM)
			rc = -ENOMEM;
	}
	return rc;
}

/* What was found in it, not what it is. */
static void clear_file(struct hook_file *f)
{
	for (size_t i = 0; i < N_UNWINDERS; i++)
		free(f->exits[i].exits);
	*f = (struct hook_file){
		.dev = f->dev, .ino = f->ino, .n_unread = f->n_unread, .next = f->next
	};
}

static void free_file(struct hook_file *f)
{
	clear_file(f);
	free(f);
}

static struct hook_file *find_file(struct plant *plant, const struct mapping *m)
{
	struct hook_file *f = plant->hook_files;

	while (f && (f->ino != m->ino || f->dev != m->dev))
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->dev = m->dev;
	f->ino = m->ino;
	f->n_unread = 1; /* nobody has tried */
	f->next = plant->hook_files;
	plant->hook_files = f;
	return f;
}

/* NULL: there is no memory for it, the session ends meanwhile, or @cost->is_late. */
static struct hook_file *ask_file(struct plant *plant, struct file_cost *cost, pid_t pid,
				  const struct mapping *m)
{
	struct hook_file *f = find_file(plant, m);
	struct object *object;
	bool is_read, is_costly = false;
	int rc = -ENOENT;

	if (!f || !f->n_unread || f->n_unread > UNREAD_MAX)
		return f;
	if (!file_cost_begin(cost, f->is_costly))
		return NULL;
	object = mapped_open(pid, m);
	if (object)
		rc = ask_object(f, object);
	object_free(object);
	is_read = file_cost_end(cost, &is_costly);
	if (rc < 0 || !is_read)
		clear_file(f);
	f->is_costly = is_costly;
	if (cancel_is_asked()) {
		plant_note_unread(plant, m->path);
		return NULL;
	}
	if (rc == -ENOMEM || !is_read)
		return NULL;
	f->n_unread = rc < 0 ? f->n_unread + 1 : 0;
	return f;
}

bool hooks_is_go(struct plant *plant, struct file_cost *cost, pid_t pid,
		 const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		const struct hook_file *f =
			m->exec && m->ino ? ask_file(plant, cost, pid, m) : NULL;

		if (f && f->is_go)
			return true;
	}
	return false;
}

bool hooks_unused_bytes(struct plant *plant, struct file_cost *cost, pid_t pid,
			const struct mapping *m, uint64_t *ret_vaddr, uint64_t *ret_len)
{
	const struct hook_file *f = m->exec && m->ino ? ask_file(plant, cost, pid, m) : NULL;

	if (!f || !f->unused_len || f->unused_foffset < m->foffset)
		return false;
	*ret_vaddr = m->start + (f->unused_foffset - m->foffset);
	*ret_len = f->unused_len;
	return *ret_vaddr < m->end && *ret_len <= m->end - *ret_vaddr;
}

void hooks_free(struct plant *plant)
{
	while (plant->hook_files) {
		struct hook_file *next = plant->hook_files->next;

		free_file(plant->hook_files);
		plant->hook_files = next;
	}
}

static bool has_return_probe(const struct plant *plant)
{
	return probe_list(plant)->has_returns;
}

/* May this file hold an unwinder? Libraries known to, and what links one in: the
 * program itself, and whatever is probed. */
static bool may_unwind(const struct plant *plant, const struct maps *maps,
		       const struct mapping *m)
{
	static const char *const names[] = { "libgcc_s", "libstdc++", "libunwind",
					     "libc++abi" };
	const char *slash = strrchr(m->path, '/');

	for (size_t i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
			return true;
	if (m->ino == maps->v[0].ino && m->dev == maps->v[0].dev)
		return true;
	return probe_list_has_file(probe_list(plant), m->dev, m->ino);
}

/* Is file byte @foffset in this mapping? */
static bool holds(const struct mapping *m, uint64_t foffset)
{
	return foffset && foffset >= m->foffset && foffset - m->foffset < m->end - m->start;
}

struct each {
	int (*call)(void *ctx, const struct mapping *m, uint64_t vaddr, unsigned watches);
	void *ctx;
	const struct mapping *m;
};

static int each_at(const struct each *each, uint64_t foffset, unsigned watches)
{
	const struct mapping *m = each->m;

	return holds(m, foffset)
		       ? each->call(each->ctx, m, m->start + (foffset - m->foffset), watches)
		       : 0;
}

static int each_unwinder(const struct each *each, const struct hook_file *f, size_t i)
{
	const struct object_exits *exits = &f->exits[i];
	int rc = each_at(each, f->unwind[i],
			 unwinders[i].watches | (exits->n ? WATCH_LANDS : 0));

	for (size_t k = 0; k < exits->n && rc == 0; k++)
		if (exits->exits[k].kind != EXIT_JUMP)
			rc = each_at(each, exits->exits[k].foffset, WATCH_UNWOUND);
	return rc;
}

int hooks_each(struct plant *plant, struct file_cost *cost, pid_t pid, const struct maps *maps,
	       bool has_returns,
	       int (*call)(void *ctx, const struct mapping *m, uint64_t vaddr,
			   unsigned watches),
	       void *ctx)
{
	const struct mapping *loader = maps_at(maps, task_auxv(pid, AT_BASE));
	bool unwind = has_returns || has_return_probe(plant);
	int rc = 0;

	for (size_t i = 0; i < maps->n && rc == 0; i++) {
		const struct mapping *m = &maps->v[i];
		bool is_loader = loader && loader->ino == m->ino && loader->dev == m->dev;
		struct each each = { call, ctx, m };
		const struct hook_file *f;

		if (!m->exec || !m->ino ||
		    !(is_loader || (unwind && may_unwind(plant, maps, m))))
			continue;
		if (cancel_is_asked())
			return -EINTR;
		f = ask_file(plant, cost, pid, m);
		if (!f)
			return cancel_is_asked() ? -EINTR : cost->is_late ? -ETIME : -ENOMEM;
		if (is_loader)
			rc = each_at(&each, f->loader,
				     WATCH_LOADER | (!plant->opt.stay ? WATCH_ASKS : 0));
		for (size_t k = 0; unwind && k < N_UNWINDERS && rc == 0; k++)
			rc = each_unwinder(&each, f, k);
	}
	return rc;
}

static bool can_shadow_stack(struct plant *plant)
{
	char text[8192];

	if (plant->cpu == CPU_NOT_ASKED) {
		(void)proc_read("/proc/cpuinfo", text, sizeof(text));
		plant->cpu = return_way_tells(text, &ubp_host_arch()->shadow.in_cpuinfo)
				     ? CPU_SHADOW_STACK
				     : CPU_PLAIN;
	}
	return plant->cpu == CPU_SHADOW_STACK;
}

void hooks_return_facts(struct plant *plant, struct file_cost *cost, pid_t pid,
			const struct maps *maps, struct return_facts *ret_facts)
{
	char *status = proc_read_status(pid);

	*ret_facts = (struct return_facts){ .can_shadow_stack = can_shadow_stack(plant) };
	ret_facts->shadow_stack =
		status && return_way_tells(status, &ubp_host_arch()->shadow.in_status);
	free(status);
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		const struct hook_file *f;

		if (!m->exec || !m->ino || !may_unwind(plant, maps, m))
			continue;
		f = ask_file(plant, cost, pid, m);
		if (!f)
			continue;
		ret_facts->hides_unwinder |= f->hides_unwinder;
		if (m->ino == maps->v[0].ino && m->dev == maps->v[0].dev)
			ret_facts->wants_shadow_stack = f->wants_shadow_stack;
	}
}
