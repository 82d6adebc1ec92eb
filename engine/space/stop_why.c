/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/stop_why.h"

const char *stop_why_name(enum stop_why why)
{
	static const char *const names[STOP_N] = {
		[STOP_BREAKPOINT] = "breakpoint",
		[STOP_BEFORE_JUMP] = "before_jump",
		[STOP_AT_RET] = "at_ret",
		[STOP_RETURN] = "return",
		[STOP_THREAD] = "thread",
		[STOP_MEMORY] = "memory",
		[STOP_TAIL] = "tail",
		[STOP_DETOUR] = "detour",
	};

	return names[why];
}
