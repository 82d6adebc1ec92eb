/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What figures depend on: the machine and its kernel. */

#ifndef UBP_CLI_BENCH_MACHINE_H
#define UBP_CLI_BENCH_MACHINE_H

#include <stddef.h>

#define BENCH_MITIGATIONS_MAX 64

struct bench_machine {
	char cpu[128];
	long n_cpus;      /* online */
	char kernel[256]; /* release and version */
	char arch[64];
	char hypervisor[32]; /* "": none is seen */
	char clock_source[32];
	char time[32]; /* now, UTC */
	struct {
		char name[64], state[192];
	} mitigations[BENCH_MITIGATIONS_MAX]; /* without those "Not affected" */
	size_t n_mitigations;
};

void bench_machine_look(struct bench_machine *ret_machine);

#endif
