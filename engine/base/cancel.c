/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/cancel.h"

static _Thread_local const int *cancelled;

void cancel_by(const int *flag)
{
	cancelled = flag;
}

bool cancel_is_asked(void)
{
	return cancelled && __atomic_load_n(cancelled, __ATOMIC_RELAXED);
}
