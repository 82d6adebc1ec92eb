/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/return.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

/* How far above its word a callee may leave the stack pointer ("ret 16"). */
#define RET_POPS_MAX 4096

/* No frame is as large as this. */
#define OTHER_STACK 0x100000

static int read_word(const struct tracee *t, uint64_t vaddr, uint64_t *ret_word)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, t->tid, vaddr, 0);
	if (word == -1 && errno)
		return -errno;
	*ret_word = (uint64_t)word;
	return 0;
}

static int write_word(const struct tracee *t, uint64_t vaddr, uint64_t word)
{
	return ptrace(PTRACE_POKEDATA, t->tid, vaddr, word) < 0 ? -errno : 0;
}

static void count_missed(const struct site *site)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->is_return)
			uprobe_count(&site->probes[i]->stats.missed);
}

static void count_all_missed(const struct return_instance *ri)
{
	for (uint32_t i = 0; i < ri->n_entries; i++)
		count_missed(ri->entries[i]);
}

static int add_entry(struct return_instance *ri, struct site *site)
{
	if (ri->n_entries == ri->cap) {
		uint32_t cap = ri->cap ? ri->cap * 2 : 2;
		struct site **bigger = realloc(ri->entries, cap * sizeof(struct site *));

		if (!bigger)
			return -ENOMEM;
		ri->entries = bigger;
		ri->cap = cap;
	}
	ri->entries[ri->n_entries++] = site;
	return 0;
}

void return_free(struct return_instance *ri)
{
	if (ri)
		free(ri->entries);
	free(ri);
}

/* An instance for the word at @sp, empty; one left by a longjmp() is reused. */
static struct return_instance *instance_at(struct plant_space *ps, uint64_t sp)
{
	struct return_instance *ri = map_get(&ps->returns, sp);

	if (ri) {
		count_all_missed(ri);
		ri->n_entries = 0;
		return ri;
	}
	ri = calloc(1, sizeof(*ri));
	if (!ri || map_put(&ps->returns, sp, ri) < 0) {
		free(ri);
		return NULL;
	}
	ri->slot_vaddr = sp;
	return ri;
}

void return_hijack(struct tracee *t, struct site *site, uint64_t sp)
{
	struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri;
	uint64_t real = 0;

	if (!ps->trampoline || read_word(t, sp, &real) < 0) {
		count_missed(site);
		return;
	}
	if (real == ps->trampoline) {
		ri = map_get(&ps->returns, sp);
		if (!ri || add_entry(ri, site) < 0)
			count_missed(site);
		return;
	}
	ri = instance_at(ps, sp);
	if (!ri || add_entry(ri, site) < 0) {
		count_missed(site);
		return;
	}
	ri->real = real;
	ri->tid = t->tid;
	ri->serial = ++ps->n_returns;
	ri->disarmed = false;
	if (returns_arm(t->process->space, ri, t->tid) < 0) {
		count_missed(site);
		ri->n_entries = 0;
	}
}

/* A callee that pops its arguments returns with the stack pointer further up. */
static struct return_instance *find_popped(struct plant_space *ps, uint64_t sp, size_t word)
{
	for (uint64_t down = 2 * word; down <= RET_POPS_MAX; down += word) {
		struct return_instance *ri = map_get(&ps->returns, sp - down);

		if (ri)
			return ri;
	}
	return NULL;
}

/* The function took its return address from the stack and jumped there by itself. */
static struct return_instance *find_newest(const struct plant_space *ps, pid_t tid)
{
	struct return_instance *newest = NULL;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->returns, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		if (ri->tid == tid && !ri->disarmed && (!newest || ri->serial > newest->serial))
			newest = ri;
	}
	return newest;
}

static struct return_instance *copy_instance(const struct return_instance *ri)
{
	struct return_instance *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *ri;
	copy->index = 0;
	copy->entries = malloc((ri->cap + 1) * sizeof(struct site *));
	if (!copy->entries) {
		free(copy);
		return NULL;
	}
	if (ri->n_entries)
		memcpy(copy->entries, ri->entries, ri->n_entries * sizeof(struct site *));
	return copy;
}

struct return_instance *return_take(struct tracee *t, uint64_t sp)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	size_t word = space->arch->addr_size;
	struct return_instance *ri = map_get(&ps->returns, sp - word);

	if (!ri)
		ri = find_popped(ps, sp, word);
	if (!ri)
		ri = find_newest(ps, t->tid);
	if (!ri || write_word(t, sp - word, ri->real) < 0)
		return NULL;
	/*
	 * A vfork() child that returns from the function its parent entered: the
	 * parent, which has the trampoline's address in a register, will too.
	 */
	if (space->refs > 1 && ri->tid != t->tid)
		return copy_instance(ri);
	map_remove(&ps->returns, ri->slot_vaddr);
	returns_forget(ps, ri);
	return ri;
}

void return_disarm(struct tracee *t, uint64_t sp)
{
	struct plant_space *ps = t->process->space->plant;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->returns, &pos, NULL, &value)) {
		struct return_instance *ri = value;
		uint64_t now = 0;

		if (ri->tid != t->tid || ri->slot_vaddr < sp || ri->disarmed ||
		    read_word(t, ri->slot_vaddr, &now) < 0 || now != ps->trampoline)
			continue;
		if (write_word(t, ri->slot_vaddr, ri->real) == 0)
			ri->disarmed = true;
		t->disarm_sp = sp;
	}
}

/* The highest word that was put back for @t. */
static uint64_t highest_disarmed(const struct plant_space *ps, pid_t tid)
{
	uint64_t highest = 0;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->returns, &pos, NULL, &value)) {
		const struct return_instance *ri = value;

		if (ri->tid == tid && ri->disarmed && ri->slot_vaddr > highest)
			highest = ri->slot_vaddr;
	}
	return highest;
}

/* One that was disarmed. False: its frame is gone. */
static bool rearm(struct tracee *t, struct return_instance *ri, uint64_t sp)
{
	const struct plant_space *ps = t->process->space->plant;
	uint64_t now = 0;

	return ri->slot_vaddr >= sp && read_word(t, ri->slot_vaddr, &now) == 0 &&
	       now == ri->real && write_word(t, ri->slot_vaddr, ps->trampoline) == 0;
}

void return_rearm(struct tracee *t, uint64_t sp)
{
	struct plant_space *ps = t->process->space->plant;
	size_t pos = 0;
	void *value;

	/* Far above: another stack, of a signal handler that interrupted it. */
	if (sp <= t->disarm_sp || sp > highest_disarmed(ps, t->tid) + OTHER_STACK)
		return;
	t->disarm_sp = 0;
	while (map_next(&ps->returns, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		if (ri->tid != t->tid || !ri->disarmed)
			continue;
		ri->disarmed = false;
		if (rearm(t, ri, sp))
			continue;
		count_all_missed(ri);
		map_remove(&ps->returns, ri->slot_vaddr);
		returns_forget(ps, ri);
		return_free(ri);
		pos = 0;
	}
}

void return_thread_ended(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	size_t pos = 0;
	void *value;

	if (!ps || !ps->returns.n)
		return;
	/*
	 * The entries stay known: a coroutine that this thread left may go on in
	 * another. They only count as missed, once.
	 */
	while (map_next(&ps->returns, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		if (ri->tid != t->tid)
			continue;
		count_all_missed(ri);
		ri->tid = 0;
	}
}
