/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/i386/thunk.h"

#include <string.h>

bool i386_gives_return(const uint8_t *code, size_t len)
{
	return len >= 3 && code[0] == 0x8b && (code[1] & 0xc7) == 0x04 && code[2] == 0x24;
}

const char *i386_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at)
{
	static const uint8_t endbr32[] = { 0xf3, 0x0f, 0x1e, 0xfb };

	(void)start;
	if (len - at >= sizeof(endbr32) && memcmp(code + at, endbr32, sizeof(endbr32)) == 0)
		at += sizeof(endbr32);
	return i386_gives_return(code + at, len - at)
		       ? "the function's result is its own return address, which a return "
			 "probe replaces"
		       : NULL;
}
