/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A static function with a name that another source has, too. */

static int queue[8];

__attribute__((noinline, noclone)) static void reset(int *q)
{
	for (int i = 0; i < 8; i++)
		*(volatile int *)&q[i] = i;
}

void clear_queue(void)
{
	reset(queue);
}
