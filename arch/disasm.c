/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/disasm.h"

#include <stdio.h>

#include "arch/capstone.h"

static bool is_open(struct disasm *disasm)
{
	csh handle;

	if (disasm->handle)
		return true;
	if (capstone_open(disasm->arch, disasm->mode, &handle) != CS_ERR_OK)
		return false;
	disasm->insn = cs_malloc(handle);
	if (!disasm->insn) {
		cs_close(&handle);
		return false;
	}
	disasm->handle = handle;
	return true;
}

bool disasm_text(struct disasm *disasm, const uint8_t *code, size_t len, uint64_t vaddr,
		 char *text, size_t size)
{
	bool known;

	pthread_mutex_lock(&disasm->lock);
	known = is_open(disasm) &&
		cs_disasm_iter(disasm->handle, &code, &len, &vaddr, disasm->insn);
	if (known)
		snprintf(text, size, "%.20s%s%.58s", disasm->insn->mnemonic,
			 disasm->insn->op_str[0] ? " " : "", disasm->insn->op_str);
	pthread_mutex_unlock(&disasm->lock);
	return known;
}
