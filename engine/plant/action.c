/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/action.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"

#define TRIES    10 /* of a program that sets the same action all the time */
#define TRAP_BIT TASK_SIG_BIT(SIGTRAP)

uint64_t action_handler(const struct action *a, const struct space *space)
{
	return space->arch->addr_size == sizeof(uint32_t) ? (uint32_t)a->words[0] : a->words[0];
}

static size_t length(const struct space *space)
{
	return space->arch->guard.action_len ? space->arch->guard.action_len
					     : sizeof(struct action);
}

int action_swap(struct remote *remote, int sig, uint64_t act, struct action *ret_old,
		struct ubp_err *err)
{
	const struct space *space = remote->t->process->space;
	uint64_t buffer = remote->sp + space->arch->stub.buffer_at;
	uint64_t args[6] = { (uint64_t)sig, act, buffer, SIGSET_LEN };
	size_t len = length(space);
	int64_t result;
	int rc = remote_call(remote, space->arch->call.nr_rt_sigaction, args, &result, err);

	if (rc < 0)
		return rc;
	if (result < 0)
		return ubp_fail(err, (int)-result,
				"process %d cannot install a signal handler: %s",
				(int)remote->t->process->pid, strerror((int)-result));
	buffer = remote->sp + space->arch->stub.buffer_at; /* it may have moved */
	*ret_old = (struct action){ 0 };
	if (mem_peek(&space->mem, buffer, ret_old, len) != len)
		return ubp_fail(err, EFAULT, "cannot read the stack of process %d",
				(int)remote->t->process->pid);
	return 0;
}

/* The mask is what it ends in. */
static uint64_t mask_of(const struct action *a, const struct space *space)
{
	uint64_t mask;

	memcpy(&mask, (const char *)a + length(space) - SIGSET_LEN, SIGSET_LEN);
	return mask;
}

static void set_mask(struct action *a, const struct space *space, uint64_t mask)
{
	memcpy((char *)a + length(space) - SIGSET_LEN, &mask, SIGSET_LEN);
}

static bool is_handled(const struct action *a, const struct space *space)
{
	uint64_t handler = action_handler(a, space);

	return handler != (uint64_t)(uintptr_t)SIG_DFL &&
	       handler != (uint64_t)(uintptr_t)SIG_IGN;
}

/* The mask with SIGTRAP in it, or without. */
static struct action changed(const struct action *a, const struct space *space, bool open)
{
	struct action to = *a;
	uint64_t mask = mask_of(a, space);

	set_mask(&to, space, open ? mask & ~TRAP_BIT : mask | TRAP_BIT);
	return to;
}

static int install(struct remote *remote, int sig, const struct action *a,
		   struct action *ret_old, struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	const struct plant_space *ps = t->process->space->plant;
	uint64_t vaddr = guard_data(ps) + offsetof(struct guard_data, action);
	int rc = mem_write(&t->process->space->mem, t->tid, vaddr, a, sizeof(*a));

	return rc < 0 ? ubp_fail(err, -rc, "cannot write to process %d", (int)t->process->pid)
		      : action_swap(remote, sig, vaddr, ret_old, err);
}

static int note(const struct remote *remote, uint64_t masked, struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	const struct plant_space *ps = t->process->space->plant;
	int rc = mem_write(&t->process->space->mem, t->tid,
			   guard_data(ps) + offsetof(struct guard_data, masked), &masked,
			   sizeof(masked));

	return rc < 0 ? ubp_fail(err, -rc, "cannot write to process %d", (int)t->process->pid)
		      : 0;
}

static int noted(const struct remote *remote, uint64_t *ret_masked, struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	const struct plant_space *ps = t->process->space->plant;

	return mem_peek(&t->process->space->mem,
			guard_data(ps) + offsetof(struct guard_data, masked), ret_masked,
			sizeof(*ret_masked)) == sizeof(*ret_masked)
		       ? 0
		       : ubp_fail(err, EFAULT, "cannot read process %d", (int)t->process->pid);
}

/*
 * Have the mask of @sig's action @open. Another thread may set the action between our look and our call:
 * then its own is what that returns, and is set, in turn. Noted before: a note too many is harmless.
 */
static int change(struct remote *remote, int sig, bool open, struct ubp_err *err)
{
	const struct space *space = remote->t->process->space;
	struct action seen = { 0 }, old = { 0 }, to;
	uint64_t masked;
	int rc = action_swap(remote, sig, 0, &seen, err);

	if (rc < 0 || !is_handled(&seen, space) ||
	    ((mask_of(&seen, space) & TRAP_BIT) != 0) != open)
		return rc;
	if (open) {
		rc = noted(remote, &masked, err);
		if (rc == 0)
			rc = note(remote, masked | TASK_SIG_BIT(sig), err);
		if (rc < 0)
			return rc;
	}
	to = changed(&seen, space, open);
	for (int i = 0; i < TRIES; i++) {
		rc = install(remote, sig, &to, &old, err);
		if (rc < 0 || memcmp(&old, &seen, sizeof(old)) == 0)
			break;
		seen = to;
		to = is_handled(&old, space) ? changed(&old, space, open) : old;
	}
	return rc;
}

int action_open_masks(struct remote *remote, struct ubp_err *err)
{
	uint64_t caught = task_caught(remote->t->tid) & ~TRAP_BIT;
	int rc = 0;

	for (int sig = 1; sig <= 64 && rc == 0; sig++)
		if (caught & TASK_SIG_BIT(sig))
			rc = change(remote, sig, true, err);
	return rc;
}

int action_close_masks(struct remote *remote, bool is_last, struct ubp_err *err)
{
	uint64_t masked;
	int rc = noted(remote, &masked, err);

	for (int sig = 1; sig <= 64 && rc == 0; sig++)
		if (masked & TASK_SIG_BIT(sig))
			rc = change(remote, sig, false, err);
	return rc == 0 && masked && is_last ? note(remote, 0, err) : rc;
}
