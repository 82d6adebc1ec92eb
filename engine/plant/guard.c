/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's owner: installs the SIGTRAP handler (arch/guard.h) before the first
 * breakpoint, sees that it stays, and gives the process its own handler back
 * behind the last one.
 *
 * A breakpoint met while SIGTRAP is blocked makes the kernel reset the handler for
 * the whole process and unblock the signal in that thread, without a word to the
 * tracer: hence the looks at mask and SigCgt.
 */

#include "engine/plant/guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/action.h"
#include "engine/plant/area.h"
#include "engine/plant/rings.h"
#include "engine/plant/trap_chain.h"
#include "engine/returns/returns.h"
#include "engine/space/guard_part.h"
#include "engine/space/part.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define FRESH_NS   10000000ULL /* how long the handler is believed to be there */
#define STACK_LEN  0x20000     /* looked through for frames of signal handlers */
#define SIGSET_LEN 8           /* of the kernel's sigset_t */
#define TRAP_BIT   TASK_SIG_BIT(SIGTRAP)
/* What even sigfillset() leaves out: the kernel's two, the C library's two or three. */
#define NEVER_BLOCKED                                                                          \
	(TASK_SIG_BIT(SIGKILL) | TASK_SIG_BIT(SIGSTOP) | TASK_SIG_BIT(32) | TASK_SIG_BIT(33) | \
	 TASK_SIG_BIT(34))

static uint64_t own_action(const struct plant_space *ps)
{
	return ps->areas->vaddr + offsetof(struct guard_head, action);
}

static uint64_t own_handler(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps->areas->vaddr + UBP_AREA_GUARD + space->arch->guard.handler;
}

/* Has another process in the memory the guard? Then the chain and the notes of masks are its, too. */
static bool shares_guard(const struct process *p)
{
	const struct process *other = p->space->processes;

	while (other && (other == p || !other->probes->is_guarded))
		other = other->next;
	return other;
}

static int put_word(const struct space *space, pid_t tid, uint64_t vaddr, uint64_t value)
{
	return mem_write(&space->mem, tid, vaddr, &value, sizeof(value));
}

/* The pages behind the first area, for what the target's side writes. */
static int make_data(const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct plant_space *ps = t->process->space->plant;
	uint64_t data = ps->areas->vaddr + ps->areas->len;
	uint64_t args[6] = { data, UBP_GUARD_DATA_LEN, PROT_READ | PROT_WRITE };
	int pid = (int)t->process->pid;
	int64_t result;
	int rc = area_call(held, ps->stub, t->process->space->arch->call.nr_mprotect, args,
			   &result, err);

	if (rc == 0 && result < 0)
		rc = ubp_fail(err, (int)-result, "process %d cannot make memory writable: %s",
			      pid, strerror((int)-result));
	if (rc == 0)
		ps->guard->data = data;
	return rc;
}

int guard_prepare(const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	int rc = ps->guard->data ? 0 : make_data(held, err);

	if (rc < 0 || t->process->probes->is_guarded || ps->guard->is_taken_over ||
	    shares_guard(t->process))
		return rc;
	rc = put_word(space, t->tid, ps->guard->data + offsetof(struct guard_data, retired), 1);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc, "cannot write to process %d", (int)t->process->pid);
}

/* The handler the program has becomes the chain, unless it is the guard already. */
static int keep_chain(const struct space *space, pid_t pid, const struct action *old)
{
	const struct plant_space *ps = space->plant;
	struct guard_data data;

	if (action_handler(old, space) == own_handler(space))
		return put_word(space, pid,
				ps->guard->data + offsetof(struct guard_data, retired), 0);
	memset(&data, 0, offsetof(struct guard_data, unused));
	memcpy(data.chain[0], old, sizeof(*old));
	data.owner = (uint64_t)task_own_pid(pid);
	return mem_write(&space->mem, pid, ps->guard->data, &data,
			 offsetof(struct guard_data, unused));
}

/* What the process has set itself: the first one of its memory, or another. @now, that it has, may be the guard. */
static int keep_action(const struct process *p, bool is_first, const struct action *now,
		       struct ubp_err *err)
{
	bool is_guard = action_handler(now, p->space) == own_handler(p->space);
	struct action first = { { 0 } };
	int rc;

	if (is_first)
		rc = keep_chain(p->space, p->pid, now);
	else if (is_guard && chain_is_kept(p))
		rc = 0;
	else
		rc = chain_keep(p, is_guard ? NULL : now);
	/* What it would be given back is its own all the same. */
	if (rc == -ENOSPC && (is_guard || (mem_peek(&p->space->mem, chain_vaddr(p), &first,
						    sizeof(first)) == sizeof(first) &&
					   memcmp(&first, now, sizeof(first)) == 0)))
		rc = 0;
	if (rc == -ENOSPC)
		return ubp_fail(
			err, ENOSPC,
			"process %d shares its memory with too many others that have an "
			"action of SIGTRAP each",
			(int)p->pid);
	return rc < 0 ? ubp_fail(err, -rc, "cannot write to process %d", (int)p->pid) : 0;
}

int guard_install(const struct held *held, struct ubp_err *err)
{
	struct process *p = held->t->process;
	struct space *space = p->space;
	struct plant_space *ps = space->plant;
	struct remote remote;
	struct action first = { 0 }, old = { 0 };
	bool is_first = !shares_guard(p);
	int rc;

	if (p->probes->is_guarded)
		return 0;
	rc = remote_begin(&remote, held, ps->stub, err);
	if (rc < 0)
		return rc;
	/* Of what is known there is nothing to ask; how it stands is told by the call that replaces it. */
	if (!task_has_default(held->tid, SIGTRAP))
		rc = action_swap(&remote, SIGTRAP, 0, &first, err);
	if (rc == 0)
		rc = keep_action(p, is_first, &first, err);
	if (rc == 0)
		rc = action_swap(&remote, SIGTRAP, own_action(ps), &old, err);
	/* What the program set between the look at its action and the guard's being there. */
	if (rc == 0 && action_handler(&old, space) != own_handler(space) &&
	    memcmp(&first, &old, sizeof(old)) != 0)
		rc = keep_action(p, is_first, &old, err);
	if (rc == 0)
		rc = action_open_masks(&remote, err);
	if (rc == 0)
		p->probes->is_guarded = true;
	/* An earlier session may have left the way home there. */
	if (rc == 0 && is_first)
		(void)returns_set_trap(space, held->tid, true);
	remote_end(&remote);
	return rc;
}

static bool is_ours(const struct action *a, const struct space *space)
{
	return action_handler(a, space) == own_handler(space);
}

int guard_uninstall(const struct held *held, struct ubp_err *err)
{
	struct process *p = held->t->process;
	struct space *space = p->space;
	struct plant_space *ps = space->plant;
	struct remote remote;
	struct action now = { 0 };
	uint64_t chain;
	int rc;

	if (!p->probes->is_guarded || !ps->stub || !ps->guard->data)
		return 0;
	/* Under a filter of late nothing can be asked of it: our handler stays, with the
	 * jumps to it, and hands on to the program's own. */
	rc = remote_begin(&remote, held, ps->stub, err);
	if (rc < 0)
		return rc;
	chain = chain_vaddr(p);
	rc = action_swap(&remote, SIGTRAP, 0, &now, err);
	/* One that the program set behind our back is its own; the default may be
	 * that of the kernel, which took the guard away. */
	if (rc == 0 && (is_ours(&now, space) ||
			action_handler(&now, space) == (uint64_t)(uintptr_t)SIG_DFL)) {
		rc = action_swap(&remote, SIGTRAP, chain, &now, err);
		if (rc == -ESRCH)
			return rc;
		/* From now on the program's calls go to the kernel again. */
		(void)put_word(space, p->pid,
			       ps->guard->data + offsetof(struct guard_data, retired), 1);
		if (rc == 0 && chain_vaddr(p) != chain)
			rc = action_swap(&remote, SIGTRAP, chain_vaddr(p), &now, err);
	}
	if (rc == 0)
		chain_drop(p);
	if (rc == 0)
		rc = action_close_masks(&remote, !shares_guard(p), err);
	if (rc == 0)
		p->probes->is_guarded = false;
	remote_end(&remote);
	return rc;
}

int guard_provide_returns(const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t n =
		rings_fit_table(t->process->pid, UBP_RETURNS_MOST, sizeof(struct guard_return));
	uint64_t len = n * sizeof(struct guard_return), vaddr;
	int rc;

	if (return_place(ps).table)
		return 0;
	/* Behind the first area, which was put into a wide gap: anywhere else, and the
	 * program's own mappings to come would be moved. */
	rc = area_map(held, ps->stub, ps->guard->data + UBP_GUARD_DATA_LEN, len,
		      PROT_READ | PROT_WRITE, &vaddr, err);
	if (rc == -EEXIST)
		rc = area_map(held, ps->stub, 0, len, PROT_READ | PROT_WRITE, &vaddr, err);
	if (rc < 0)
		return rc;
	/* The mask first: a table without entries is none. */
	rc = put_word(space, t->tid,
		      ps->areas->vaddr + offsetof(struct guard_head, returns_mask), n - 1);
	if (rc == 0)
		rc = put_word(space, t->tid,
			      ps->areas->vaddr + offsetof(struct guard_head, returns), vaddr);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the SSOL area: %s", strerror(-rc));
	returns_set_place(ps, (struct return_place){ vaddr, n - 1 });
	return 0;
}

int guard_copy(const struct part_copied *c)
{
	const struct space_guard *from = c->from->guard;
	const struct process *p = c->first->process;

	*c->to->guard = (struct space_guard){ .looked = true,
					      .data = from->data,
					      .unguarded = from->unguarded,
					      .no_room = from->no_room };
	if (from->data)
		chain_copied(c->child, p->born_of ? task_tgid(p->born_of) : 0, p);
	return 0;
}

static bool is_sigreturn(const struct space *space, const struct maps *maps, uint64_t vaddr)
{
	const struct mapping *m = maps_at(maps, vaddr);
	uint8_t code[UBP_SIGRETURN_MAX];

	return m && m->exec &&
	       space->arch->unwind.is_sigreturn(
		       code, mem_peek(&space->mem, vaddr, code, sizeof(code)));
}

/*
 * Is the address of code which calls rt_sigreturn() where a handler that has not returned keeps it, in a
 * register or on the stack, or is the thread in such code? That call puts the mask back by itself.
 */
static bool is_in_sigreturn(const struct space *space, const struct maps *maps,
			    const struct ubp_regs *regs)
{
	const struct ubp_arch *arch = space->arch;

	for (unsigned i = 0; i < arch->reg.n; i++)
		if (is_sigreturn(space, maps, regs->r[i]))
			return true;
	for (uint64_t passed = 1; passed < UBP_SIGRETURN_MAX; passed++)
		if (is_sigreturn(space, maps, regs->r[arch->reg.pc] - passed))
			return true;
	return false;
}

static bool is_in_handler(const struct tracee *t, const struct maps *maps)
{
	const struct space *space = t->process->space;
	const struct ubp_arch *arch = space->arch;
	struct ubp_regs regs;
	uint8_t piece[STACK_LEN / 8];
	size_t n = sizeof(piece);

	if (hold_get_regs(t, &regs) < 0 || is_in_sigreturn(space, maps, &regs))
		return true;
	for (size_t from = 0; from < STACK_LEN && n == sizeof(piece); from += n) {
		n = mem_peek(&space->mem, regs.r[arch->reg.sp] + from, piece, sizeof(piece));
		for (size_t at = 0; at + arch->addr_size <= n; at += arch->addr_size) {
			uint64_t word = 0;

			memcpy(&word, piece + at, arch->addr_size);
			if (is_sigreturn(space, maps, word))
				return true;
		}
	}
	return false;
}

void guard_open_mask(struct tracee *t, const struct maps *maps)
{
	uint64_t mask;

	if (task_get_mask(t->tid, &mask) < 0 || !(mask & TRAP_BIT) ||
	    task_set_mask(t->tid, mask & ~TRAP_BIT) < 0)
		return;
	/* Noted is what shall be undone: not what the program undoes by itself. */
	t->probes->trap_opened = !is_in_handler(t, maps);
	t->probes->open_mask = mask & ~TRAP_BIT;
}

void guard_open_masks(const struct held *held, const struct maps *maps)
{
	struct tracee *t = held->t;
	const struct process *p = t->process;
	size_t n;
	pid_t *tids = space_ids(held->tracer, p->space, p, &n);

	guard_open_mask(t, maps);
	for (size_t i = 0; tids && i < n && held_lasts(held); i++) {
		struct tracee *other = map_get(&held->tracer->tracees, (uint64_t)tids[i]);

		if (!other || other == t || other->held || !task_blocks_trap(other->tid))
			continue;
		if (attach_hold(held->tracer, other) == 1) {
			guard_open_mask(other, maps);
			attach_let_go(other);
		}
	}
	ids_give(held->tracer, tids);
}

int guard_close_mask(struct tracee *t)
{
	uint64_t mask = 0;
	int rc = t->probes->trap_opened ? task_get_mask(t->tid, &mask) : 0;

	/* Only if the program has not changed it meanwhile. */
	if (t->probes->trap_opened && rc == 0 && mask == t->probes->open_mask)
		rc = task_set_mask(t->tid, mask | TRAP_BIT);
	t->probes->trap_opened = false;
	return rc;
}

/* Has the program not said what is to become of SIGTRAP? */
static bool is_default(const struct process *p)
{
	struct action chain;

	return mem_peek(&p->space->mem, chain_vaddr(p), &chain, sizeof(chain)) ==
		       sizeof(chain) &&
	       action_handler(&chain, p->space) == (uint64_t)(uintptr_t)SIG_DFL;
}

bool guard_ends_by_trap(const struct process *p)
{
	return p->probes->is_guarded ? is_default(p) : !task_catches(p->pid, SIGTRAP);
}

bool guard_is_lost(struct tracee *t)
{
	struct process *p = t->process;
	uint64_t mask, now_ns;

	if (!p->probes->is_guarded || task_get_mask(t->tid, &mask) < 0)
		return false;
	now_ns = event_clock_now(CLOCK_KIND_MONO);
	if (t->probes->has_good_mask && mask == t->probes->good_mask &&
	    !p->probes->loses_guard && now_ns - p->probes->guard_seen_ns < FRESH_NS)
		return false;
	if (task_catches(t->tid, SIGTRAP)) {
		t->probes->good_mask = mask;
		t->probes->has_good_mask = true;
		p->probes->guard_seen_ns = now_ns;
		return false;
	}
	/* Put back, it would have to do away with itself once more, as often as somebody hits
	 * something, before the program's signal arrives. */
	if (p->probes->ends_by_trap && is_default(p))
		return false;
	p->probes->loses_guard = true;
	t->probes->has_good_mask = false;
	/* It may have been another thread's hit. But who blocks all but SIGTRAP? */
	if ((mask | NEVER_BLOCKED | TRAP_BIT) == UINT64_MAX) {
		t->probes->trap_opened = true;
		t->probes->open_mask = mask;
	}
	return true;
}

int guard_reinstall(const struct held *held)
{
	struct tracee *t = held->t;
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	const uint64_t args[6] = { SIGTRAP, own_action(ps), 0, SIGSET_LEN };
	uint8_t frame[UBP_STUB_FRAME_MAX];
	struct ubp_regs in_stub = *held->at;
	struct ubp_more more;
	enum seccomp_way way;
	struct ubp_err err;
	uint64_t sp;
	size_t len;
	int rc = seccomp_check(t, &way, &err);

	/* Nobody watches this call: no filter can be suspended for it, and no frame taken back. */
	if (rc < 0 || way == SECCOMP_SUSPEND || space->frames)
		return -EACCES;
	rc = ubp_host_get_more(t->tid, &more, &err);
	if (rc < 0)
		return rc;
	arch->stub.frame(held->at, &more, frame, &len, &sp);
	arch->stub.args((uint64_t)arch->call.nr_rt_sigaction, args, frame);
	rc = mem_write(&space->mem, t->tid, sp, frame, len);
	if (rc < 0)
		return rc;
	arch->stub.regs(&in_stub, ps->stub, sp);
	return ubp_host_set_regs(t->tid, &in_stub);
}

/*
 * The program has not said what is to become of the signal: then the guard hands it on to the
 * default action, or has done so, and is not to be installed once more.
 */
static bool will_end(const struct tracee *t, bool at_site)
{
	siginfo_t si;

	return again_ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) == 0 &&
	       (!at_site || si.si_code <= 0) && is_default(t->process) &&
	       /* What the guard lets pass (arch/NAME/guard.S), behind a step that was left ... */
	       si.si_code != TRAP_TRACE &&
	       /* ... and for the first of a pid namespace. */
	       (si.si_code > 0 || task_own_pid(t->process->pid) != 1);
}

/*
 * The kernel queues a signal again, with all its data, that is delivered while it
 * is blocked: so it comes back when the guard is there again, or when the program
 * itself unblocks it.
 */
bool guard_defer(const struct held *held, bool at_site)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t mask, args[6] = { SIGTRAP, 0, 0, SIGSET_LEN };
	struct held there = *held;
	struct remote remote;
	struct ubp_regs regs;
	struct ubp_err err;
	int64_t result;
	siginfo_t si;
	pid_t tid = t->tid;

	if (!t->process->probes->is_guarded || task_get_mask(tid, &mask) < 0)
		return false;
	if (t->probes->trap_opened && mask == t->probes->open_mask &&
	    again_ptrace(PTRACE_GETSIGINFO, tid, 0, &si) == 0 && si.si_code <= 0) {
		(void)task_set_mask(tid, mask | TRAP_BIT);
		t->probes->trap_opened = false;
		return false;
	}
	if (will_end(t, at_site)) {
		t->process->probes->ends_by_trap = true;
		return false;
	}
	there.at = &regs;
	if (task_catches(tid, SIGTRAP) || ubp_host_get_regs(tid, &regs) < 0 ||
	    remote_begin(&remote, &there, ps->stub, &err) < 0)
		return false;
	args[1] = own_action(ps);
	remote.deliver = SIGTRAP;
	(void)task_set_mask(tid, mask | TRAP_BIT);
	if (remote_call(&remote, space->arch->call.nr_rt_sigaction, args, &result, &err) < 0)
		return true;
	(void)task_set_mask(tid, mask & ~TRAP_BIT);
	remote_end(&remote);
	held_keep(held, false);
	return true;
}
