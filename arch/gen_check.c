/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Can there be a detour as it is planned? Before anything is written. */

#include <errno.h>

#include "arch/gen.h"
#include "engine/base/err.h"

/* No displacement gets out of range by it. */
#define LEAD_DOWN_MAX 0x10000000

static int check_probe(const struct gen_isa *isa, const struct detour_plan *plan,
		       const struct detour_probe *probe, struct ubp_err *err)
{
	const char *problem;

	if (plan->run_up && (probe->kind != PROBE_RETURN || probe->program->needs_duration))
		return ubp_fail(err, EOPNOTSUPP, "not what a ret tells");
	if (probe->kind == PROBE_RETURN && !plan->run_up &&
	    !isa->returns->can_hijack(plan->hijacks, plan->hijacks_mask))
		return ubp_fail(err, EOPNOTSUPP, "no table for return addresses");
	if (probe->number >= RING_SWITCHES)
		return ubp_fail(err, EOPNOTSUPP, "there have been too many probes");
	if (probe->sample && probe->number >= SAMPLE_WORDS)
		return ubp_fail(err, EOPNOTSUPP, "there are too many probes that sample");
	if (probe->program->needs_duration && probe->kind != PROBE_RETURN)
		return ubp_fail(err, EOPNOTSUPP, "$duration of what does not return");
	if (probe->program->needs_duration && !plan->ns_factor)
		return ubp_fail(err, EOPNOTSUPP, "the processor's rate is not known");
	problem = isa->check_program(probe->program);
	return problem ? ubp_fail(err, EOPNOTSUPP, "%s", problem) : 0;
}

static int check_run_up(const struct gen_isa *isa, const struct detour_plan *plan,
			struct ubp_err *err)
{
	struct window_copy copy;

	if (!isa->returns->at_ret || !plan->lead || plan->scans || plan->asks)
		return ubp_fail(err, EOPNOTSUPP, "no detours at ret instructions");
	return plan->run_up->n ? isa->build_copy(plan->run_up, plan->vaddr, &copy, err) : 0;
}

/* Those who are hit first are entry probes, then come returns at the window's last instruction. */
static int check_then(const struct gen_isa *isa, const struct detour_plan *plan,
		      struct ubp_err *err)
{
	const struct detour_plan *then = plan->then;

	if (detour_has_return(plan) || plan->run_up || plan->asks || !then->run_up ||
	    then->run_up->n || then->then || then->code.leaf || then->window->n != 1 ||
	    then->window->insns[0].leave != LEAVE_RET ||
	    (!plan->code.leaf && plan->window->insns[plan->window->n - 1].leave != LEAVE_RET) ||
	    plan->n_probes + then->n_probes > UBP_DETOUR_PROBES)
		return ubp_fail(err, EOPNOTSUPP, "not a function of few instructions");
	return gen_check(isa, then, err);
}

int gen_check(const struct gen_isa *isa, const struct detour_plan *plan, struct ubp_err *err)
{
	int rc = plan->run_up ? check_run_up(isa, plan, err) : 0;

	if (rc < 0)
		return rc;
	if (plan->code.leaf && (!isa->returns->build_leaf || !plan->then))
		return ubp_fail(err, EOPNOTSUPP, "no copies of functions");
	if (plan->frames > RING_STACK_MAX)
		return ubp_fail(err, EOPNOTSUPP, "stacks of %u entries", plan->frames);
	if ((plan->asks || plan->tally.asks_when_full) && !(isa->scan && isa->scan->bell))
		return ubp_fail(err, EOPNOTSUPP, "nothing asks the tracer to come");
	if (plan->scans)
		return isa->scan && plan->n_probes == 0 && plan->return_vaddr &&
				       plan->trampoline && !plan->lead
			       ? isa->check_plan(plan, err)
			       : ubp_fail(err, EOPNOTSUPP, "nothing scans the stack");
	if (plan->asks && (plan->n_probes ? plan->stops : plan->lead != NULL))
		return ubp_fail(err, EOPNOTSUPP, "nothing but a place of ubp's own asks");
	if (plan->asks && plan->n_probes == 0)
		return isa->check_plan(plan, err);
	if (plan->n_probes == 0 || plan->n_probes > UBP_DETOUR_PROBES)
		return ubp_fail(err, EOPNOTSUPP, "%zu probes at one place", plan->n_probes);
	if (plan->lead && (!isa->lead_again || plan->lead->sp_down > LEAD_DOWN_MAX))
		return ubp_fail(err, EOPNOTSUPP, "what stands before it cannot be taken back");
	rc = isa->check_plan(plan, err);
	for (size_t i = 0; i < plan->n_probes && rc == 0; i++)
		rc = check_probe(isa, plan, &plan->probes[i], err);
	return rc == 0 && plan->then ? check_then(isa, plan, err) : rc;
}
