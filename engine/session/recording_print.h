/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The events of a recording as what a sink makes of them, by several threads. */

#ifndef UBP_SESSION_RECORDING_PRINT_H
#define UBP_SESSION_RECORDING_PRINT_H

#include "engine/ubp_recording.h"

/* Beside the caller's thread. */
#define RECORDING_PRINT_HELPERS_MAX 7

/* ubp_recording_print(), with so many threads beside the caller's; where they cannot be had, with fewer. */
int recording_print(struct ubp_recording *recording, struct ubp_sink *sink, unsigned n_helpers,
		    ubp_recording_print_fn *fn, void *ctx, struct ubp_err *err);

#endif
