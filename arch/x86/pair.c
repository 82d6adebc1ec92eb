/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Pairs of jumps (struct jump_pair). Behind a ret, with the second jump 1, 2 or 3 bytes on:
 *
 *     e9 e9 b  c  d  e          e9 a  e9 b  c  d  e          e9 a  a' e9 b  c  d  e
 *
 * The first jump's distance is the four bytes behind the first e9, the second's are b to e. The highest byte of each tells in
 * which 16 MiB it leads to, and both get the same one; others that are free are what the choices differ by.
 */

#include <string.h>

#include "arch/detour.h"
#include "arch/x86/window.h"

#define JUMP_LEN 5
#define JUMP     0xe9

static uint64_t leads_to(uint64_t ret, const uint8_t *code, unsigned at)
{
	int32_t distance;

	memcpy(&distance, code + at + 1, sizeof(distance));
	return ret + at + JUMP_LEN + (uint64_t)(int64_t)distance;
}

/* The bytes of the second jump behind its first one that differ from choice to choice, the lowest first: where they stand behind the ret. */
static const uint8_t varied[][2] = {
	[1] = { 2, 3 }, /* .. e9 b c high high */
	[2] = { 3, 5 }, /* .. a e9 b high d high */
	[3] = { 5, 6 }, /* .. a a' e9 high c d high */
};

bool x86_pair(uint64_t ret, uint8_t behind, int high, unsigned i, struct jump_pair *ret_pair)
{
	uint8_t code[UBP_PUN_FIXED + JUMP_LEN] = { JUMP };
	struct pun *pun = &ret_pair->pun;

	if (behind == 0 || behind >= UBP_PUN_FIXED || i > UINT16_MAX || high < INT8_MIN ||
	    high > INT8_MAX)
		return false;
	code[behind] = JUMP;
	/* The highest byte of the first one's distance, which is the second one's, too. */
	code[UBP_PUN_FIXED] = code[behind + UBP_PUN_FIXED] = (uint8_t)high;
	code[varied[behind][0]] = (uint8_t)i;
	code[varied[behind][1]] = (uint8_t)(i >> 8);
	/* Fill that the first one has to itself. */
	for (unsigned k = 1; behind == 3 && k < behind; k++)
		code[k] = (uint8_t)(i >> 8 * (k - 1));
	ret_pair->first = leads_to(ret, code, 0);
	ret_pair->second = leads_to(ret, code, behind);
	*pun = (struct pun){ .n_fixed = (uint8_t)(JUMP_LEN - behind), .n = 1 };
	memcpy(pun->fixed, code + behind, pun->n_fixed);
	pun->low = (int64_t)(ret_pair->first - ret);
	return true;
}
