/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/hook_call.h"

#include "arch/arch.h"
#include "engine/base/find_bytes.h"

const uint8_t *hook_call_find(const struct ubp_arch *arch, const uint8_t *call,
			      const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	*ret_more = 0;
	while ((at = find_bytes(at, end, call, arch->hook.call_len)) && arch->hook.call_at &&
	       !arch->hook.call_at(at, (size_t)(end - at), ret_more))
		at++;
	return at;
}
