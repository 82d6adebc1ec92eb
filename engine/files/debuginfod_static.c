/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* In place of debuginfod.c in a static build, which loads no library: nobody is asked. */

#include "engine/files/debuginfod.h"

const char debuginfod_advice[] =
	"use --symbols or --debug-dir; this static build asks no DEBUGINFOD_URLS";

char *debuginfod_find(const void *build_id, size_t len)
{
	(void)build_id;
	(void)len;
	return NULL;
}
