/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What this ubp may trace and look at, and why it may not.
 */

#ifndef UBP_TRACE_PERMISSION_H
#define UBP_TRACE_PERMISSION_H

#include <stdbool.h>
#include <sys/types.h>

struct ubp_err;

/* Is CAP_SYS_PTRACE in effect for this thread? */
bool permission_for_all(void);

/*
 * Explain a refused attach (errno @code of PTRACE_SEIZE) of thread @tid of
 * process @pid: who traces it already, which permission is missing. Fills err,
 * returns -code.
 */
int permission_explain(pid_t pid, pid_t tid, int code, struct ubp_err *err);

/* May @pid be looked at, which is less than traced? 0, or -errno with the reason. */
int permission_to_look(pid_t pid, struct ubp_err *err);

/* The facts that a refusal is explained by. */
struct refusal {
	pid_t pid;
	char state; /* as task_state() */
	pid_t tracer;
	char tracer_comm[16];
	bool is_kernel, is_self;
	bool is_root;         /* ubp is */
	bool same_user;       /* its user and group are ours, all of them */
	bool lacks_caps;      /* it has capabilities that ubp has not */
	bool other_namespace; /* its user namespace is another one */
	bool is_allowed;      /* by users, capabilities and dumpability, Yama apart */
	int yama;             /* kernel.yama.ptrace_scope */
};
/* Pure: the text for them. */
int permission_refusal(const struct refusal *r, int code, struct ubp_err *err);

/* kernel.yama.ptrace_scope; 0 where there is no Yama. */
int permission_yama(void);
/* Pure: the text for an own child that cannot be traced, with this scope. Returns -code. */
int permission_no_ptrace(int yama, int code, struct ubp_err *err);

#endif
