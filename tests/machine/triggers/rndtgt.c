/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The program of random triggers: that of the corpus (tests/corpus/trigtgt.c), which also knows a part seed=N: 120 calls
 * of its functions with arguments that follow from N alone. Numbers are small mostly, so that keys meet again.
 */
#define main fixed_main
#include "tests/corpus/trigtgt.c"
#undef main

static u64 state;

static u64 draw(u64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static u64 number(void)
{
	static const u64 odd[] = { 0,     127,	  128,	  255,	      256,	  32767,
				   32768, 65535,  65536,  0x7fffffff, 0x80000000, 0xffffffff,
				   1048575, 1048576, (u64)-1, (u64)-2, 1ULL << 63, (1ULL << 63) - 1 };

	switch (draw(8)) {
	case 0:
		return odd[draw(sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return draw(100000);
	default:
		return draw(6);
	}
}

static const char *string(void)
{
	const char *all[] = { apple, banana, cherry, empty, Apple, l49, l51, l255, l256, special, utf8 };

	return all[draw(draw(3) ? 5 : sizeof(all) / sizeof(all[0]))];
}

static void random_part(u64 seed)
{
	state = seed * 2 + 1;
	for (unsigned i = 0; i < 120; i++) {
		u64 a = number(), b = number(), c = number(), d = number();
		const char *s = string(), *t = string();

		switch (draw(6)) {
		case 0:
			pt_num(a, b, c, d);
			break;
		case 1:
			pt_key(a, b, c);
			break;
		case 2:
			pt_str(s, a, t);
			break;
		case 3:
			pt_in(a, b, s);
			break;
		case 4:
			pt_out(a, b, s);
			break;
		default:
			pt_max(a, b, s);
			pt_work(a, b);
		}
	}
}

int main(int argc, char **argv)
{
	u64 seed = argc == 2 && strncmp(argv[1], "seed=", 5) == 0 ? strtoull(argv[1] + 5, NULL, 10) : 0;
	char *none[] = { argv[0], (char *)"", NULL };

	if (!seed)
		return fixed_main(argc, argv);
	if (fixed_main(2, none) != 0) /* strings are made */
		return 1;
	random_part(seed);
	return 0;
}
