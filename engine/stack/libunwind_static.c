/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* In place of libunwind.c: the archives are not made for static programs that can be loaded anywhere. */

#include "engine/stack/libunwind.h"

#include <stddef.h>

int stack_libunwind_new(struct stack_libunwind **ret_libunwind, struct ubp_err *err)
{
	(void)err;
	*ret_libunwind = NULL;
	return 0;
}

void stack_libunwind_free(struct stack_libunwind *libunwind)
{
	(void)libunwind;
}

bool stack_libunwind_serves(const struct ubp_arch *arch)
{
	(void)arch;
	return false;
}

void stack_libunwind_begin(struct stack_libunwind *libunwind, const struct trace_mem *mem,
			   pid_t tid)
{
	(void)libunwind;
	(void)mem;
	(void)tid;
}

bool stack_frame_by_libunwind(struct stack_libunwind *libunwind, struct stack_frame *frame,
			      const struct maps *maps, bool only_tables)
{
	(void)libunwind;
	(void)frame;
	(void)maps;
	(void)only_tables;
	return false;
}
