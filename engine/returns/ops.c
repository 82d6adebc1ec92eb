/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/ops.h"

const struct return_ops *const return_ops_tables[] = {
	[RETURN_IN_STACK] = &return_in_stack,
	[RETURN_IN_REGISTER] = &return_in_register,
};
