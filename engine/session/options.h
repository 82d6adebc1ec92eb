/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A caller's options, of whatever size they are. */

#ifndef UBP_SESSION_OPTIONS_H
#define UBP_SESSION_OPTIONS_H

struct ubp_err;
struct ubp_options;

/* Copies @opt; what it is too short for is zero. -EINVAL: no size, or less than any there was; -E2BIG: a longer one has
 * something set that is not known here. */
int session_options_take(const struct ubp_options *opt, struct ubp_options *ret_options,
			 struct ubp_err *err);

#endif
