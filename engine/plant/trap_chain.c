/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/trap_chain.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/plant/action.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

#define DATA(member) offsetof(struct guard_data, member)

/* As they stand in the target, which may have written anything there. */
struct table {
	uint64_t n;
	struct guard_sharer v[UBP_GUARD_SHARERS];
};

_Static_assert(DATA(sharers) == DATA(n_sharers) + offsetof(struct table, v), "read at once");

static uint64_t data_of(const struct space *space)
{
	return guard_data(space->plant);
}

static uint64_t place(const struct space *space, int i)
{
	return data_of(space) + DATA(sharers) + (uint64_t)i * sizeof(struct guard_sharer);
}

/* False: there are none, or nobody knows. */
static bool read_table(const struct space *space, struct table *ret_table)
{
	const struct trace_mem *mem = &space->mem;
	uint64_t at = data_of(space) + DATA(n_sharers);

	return mem_peek(mem, at, &ret_table->n, sizeof(ret_table->n)) == sizeof(ret_table->n) &&
	       ret_table->n &&
	       mem_peek(mem, at, ret_table, sizeof(*ret_table)) == sizeof(*ret_table);
}

static int find(const struct table *table, uint64_t owner)
{
	int i = UBP_GUARD_SHARERS;

	while (--i >= 0 && table->v[i].owner != owner)
		;
	return i;
}

static int place_of(const struct process *p, struct table *table)
{
	return read_table(p->space, table) ? find(table, (uint64_t)task_own_pid(p->pid)) : -1;
}

/* What counts of the two actions behind @vaddr, where what begins as struct guard_data does stands. */
static uint64_t current(const struct space *space, uint64_t vaddr)
{
	uint64_t which = 0;

	(void)mem_peek(&space->mem, vaddr, &which, sizeof(which));
	return vaddr + DATA(chain) + (which & 1) * sizeof(struct action);
}

uint64_t chain_vaddr(const struct process *p)
{
	struct table table;
	int i = place_of(p, &table);

	return current(p->space, i < 0 ? data_of(p->space) : place(p->space, i));
}

bool chain_is_kept(const struct process *p)
{
	struct table table;

	return place_of(p, &table) >= 0;
}

/* One that nobody has, or somebody who lives here no more. */
static int find_free(const struct space *space, const struct table *table)
{
	bool taken[UBP_GUARD_SHARERS] = { false };
	int i;

	for (const struct process *p = space->processes; p; p = p->next) {
		i = find(table, (uint64_t)task_own_pid(p->pid));
		if (i >= 0)
			taken[i] = true;
	}
	for (i = 0; i < UBP_GUARD_SHARERS && taken[i]; i++)
		;
	return i < UBP_GUARD_SHARERS ? i : -ENOSPC;
}

int chain_keep(const struct process *p, const struct action *action)
{
	const struct space *space = p->space;
	struct guard_sharer own = { .owner = (uint64_t)task_own_pid(p->pid) };
	const uint64_t nobody = 0, n = 1;
	struct action now = { { 0 } };
	struct table table = { 0 };
	uint64_t vaddr;
	int i, rc;

	if (!action && mem_peek(&space->mem, chain_vaddr(p), &now, sizeof(now)) != sizeof(now))
		return -EFAULT;
	memcpy(own.chain[0], action ? action : &now, sizeof(now));
	i = place_of(p, &table);
	if (i < 0)
		i = find_free(space, &table);
	if (i < 0)
		return i;
	/* Nobody may find itself there before all of it stands. */
	vaddr = place(space, i);
	rc = mem_write(&space->mem, p->pid, vaddr + offsetof(struct guard_sharer, owner),
		       &nobody, sizeof(nobody));
	if (rc == 0)
		rc = mem_write(&space->mem, p->pid, vaddr, &own,
			       offsetof(struct guard_sharer, owner));
	if (rc == 0)
		rc = mem_write(&space->mem, p->pid,
			       vaddr + offsetof(struct guard_sharer, owner), &own.owner,
			       sizeof(own.owner));
	return rc == 0 ? mem_write(&space->mem, p->pid, data_of(space) + DATA(n_sharers), &n,
				   sizeof(n))
		       : rc;
}

void chain_drop(const struct process *p)
{
	const uint64_t nobody = 0;
	struct table table;
	int i = 0, own = place_of(p, &table);

	if (own < 0)
		return;
	(void)mem_write(&p->space->mem, p->pid,
			place(p->space, own) + offsetof(struct guard_sharer, owner), &nobody,
			sizeof(nobody));
	table.v[own].owner = 0;
	while (i < UBP_GUARD_SHARERS && !table.v[i].owner)
		i++;
	if (i == UBP_GUARD_SHARERS)
		(void)mem_write(&p->space->mem, p->pid, data_of(p->space) + DATA(n_sharers),
				&nobody, sizeof(nobody));
}

void chain_copied(const struct space *child, pid_t mother, const struct process *p)
{
	uint64_t owner = (uint64_t)task_own_pid(p->pid), nobody = 0, main;
	const struct trace_mem *mem = &child->mem;
	struct action now;
	struct table table;
	int i = -1;

	if (read_table(child, &table)) {
		i = mother ? find(&table, (uint64_t)task_own_pid(mother)) : -1;
		(void)mem_write(mem, 0, data_of(child) + DATA(n_sharers), &nobody,
				sizeof(nobody));
	}
	main = current(child, data_of(child));
	if (i >= 0 &&
	    mem_peek(mem, current(child, place(child, i)), &now, sizeof(now)) == sizeof(now))
		(void)mem_write(mem, 0, main, &now, sizeof(now));
	(void)mem_write(mem, 0, data_of(child) + DATA(owner), &owner, sizeof(owner));
}

void chain_born(const struct process *p)
{
	const struct plant_space *ps = p->space->plant;

	if (p->probes->is_guarded && !p->is_vforked && ps && guard_data(ps))
		(void)chain_keep(p, NULL);
}
