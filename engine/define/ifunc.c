/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * IFUNCs: a symbol whose address is a resolver, which the loader runs once to
 * choose an implementation. The choice stands in the GOTs of the processes that
 * use the function. It is read from there; a resolver is never run.
 */

#include "engine/define/ifunc.h"
#include "engine/base/proc.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/define/state.h"
#include "engine/elf/ifunc_slots.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/os/maps.h"
#include "engine/symbols/functions.h"
#include "engine/trace/mem.h"
#include "engine/trace/task.h"

#define SLOTS_MAX 64

struct look {
	const struct definition_file *file;
	const struct object_symbol *symbol;
	pid_t pid;
	struct trace_mem mem; /* its */
	const struct maps *maps;
	uint64_t foffset; /* found */
};

/* Is this word an address in the code of the file, but not the resolver's? */
static bool is_choice(struct look *look, uint64_t word)
{
	const struct mapping *m = maps_at(look->maps, word);
	uint64_t foffset;

	if (!m || !m->exec || m->ino != look->file->maps_ino || m->dev != look->file->maps_dev)
		return false;
	foffset = m->foffset + (word - m->start);
	if (foffset == look->symbol->foffset)
		return false;
	look->foffset = foffset;
	return true;
}

/* Where elf_vaddr 0 of the file of @m is in the process. */
static bool load_bias(const struct object *object, const struct mapping *m, uint64_t *ret_bias)
{
	uint64_t elf_vaddr;

	if (object_foffset_to_vaddr(object, m->foffset, &elf_vaddr) < 0)
		return false;
	*ret_bias = m->start - elf_vaddr;
	return true;
}

static bool look_in(struct look *look, struct object *object, const struct mapping *m,
		    bool is_own)
{
	const struct ubp_arch *arch = object_arch(object);
	uint64_t slots[SLOTS_MAX], bias, word = 0;
	size_t n, len = arch ? arch->addr_size : sizeof(word);

	if (!load_bias(object, m, &bias))
		return false;
	n = object_ifunc_slots(object, look->symbol->name, is_own ? look->symbol->elf_vaddr : 0,
			       slots, SLOTS_MAX);
	if (n > SLOTS_MAX)
		n = SLOTS_MAX;
	for (size_t i = 0; i < n; i++)
		if (mem_read(&look->mem, look->pid, bias + slots[i], &word, len) == len &&
		    is_choice(look, word))
			return true;
	return false;
}

/* The GOT of the file itself, then those of everything else that is mapped. */
static bool look_in_process(struct look *look, struct definition_file *file)
{
	for (int own = 1; own >= 0; own--) {
		for (size_t i = 0; i < look->maps->n; i++) {
			const struct mapping *m = &look->maps->v[i];
			struct object *object;
			struct ubp_err err;
			char path[4352];
			bool found;

			if (!m->exec || !m->ino ||
			    (m->ino == file->maps_ino && m->dev == file->maps_dev) !=
				    (own == 1))
				continue;
			if (own) {
				if (look_in(look, file->object, m, true))
					return true;
				continue;
			}
			snprintf(path, sizeof(path), "/proc/%d/root%s", (int)look->pid,
				 m->path);
			if (object_open(path, &object, &err) < 0)
				continue;
			found = look_in(look, object, m, false);
			object_free(object);
			if (found)
				return true;
		}
	}
	return false;
}

static bool ask_process(struct definition_file *file, const struct object_symbol *symbol,
			pid_t pid, uint64_t *ret_foffset)
{
	/* /proc knows nothing of a process by the name of an ended leader. */
	pid_t live = task_live_thread(pid);
	struct stand_in stand_in = { 0 };
	struct mem_care care = { .stand_in = &stand_in, .serial = 1 };
	struct look look = {
		.file = file,
		.symbol = symbol,
		.pid = live,
		.mem = { .file = { .fd = -1, .pid = live }, .care = &care },
	};
	struct ubp_err err;
	struct maps maps;
	bool found = false;

	care.file = &look.mem.file;
	if (maps_read(live, &maps, &err) == 0) {
		look.maps = &maps;
		found = look_in_process(&look, file);
	}
	maps_free(&maps);
	stand_in_end(&stand_in);
	*ret_foffset = look.foffset;
	return found;
}

struct each {
	struct definition_file *file;
	const struct object_symbol *symbol;
	uint64_t foffset;
};

static int ask_each(void *ctx, pid_t pid)
{
	struct each *each = ctx;
	struct ubp_err err;
	struct maps maps;
	int rc = 0;

	if (maps_read(task_live_thread(pid), &maps, &err) == 0 &&
	    maps_has_file(&maps, each->file->maps_dev, each->file->maps_ino))
		rc = ask_process(each->file, each->symbol, pid, &each->foffset);
	maps_free(&maps);
	return rc;
}

int ifunc_choice(struct definitions *defs, struct definition_file *file,
		 const struct object_symbol *symbol, uint64_t *ret_foffset, struct ubp_err *err)
{
	struct each each = { .file = file, .symbol = symbol };

	for (size_t i = 0; i < defs->opt.n_pids; i++)
		if (ask_process(file, symbol, defs->opt.pids[i], ret_foffset))
			return 0;
	/* The choice depends on the processor: any process will do, ubp itself too. */
	if (ask_process(file, symbol, getpid(), ret_foffset))
		return 0;
	if (proc_each(ask_each, &each) == 1) {
		*ret_foffset = each.foffset;
		return 0;
	}
	return ubp_fail(err, ENOENT,
			"%s in %s is an indirect function (IFUNC) and no running process shows "
			"which implementation was chosen; start the program first, or name an "
			"implementation",
			symbol->name, object_path(file->object));
}
