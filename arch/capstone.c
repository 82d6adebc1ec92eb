/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/capstone.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESERVE_LEN 0x80000
#define ALIGN       16

/* Given out once, from the start: what is freed of it is lost. Zero, and no memory until it is used. */
static _Alignas(ALIGN) uint8_t reserve[RESERVE_LEN];
static size_t used;

static bool is_reserved(const void *p)
{
	return (uintptr_t)p - (uintptr_t)reserve < sizeof(reserve);
}

/* Its length stands in front of it. */
static void *reserved(size_t len)
{
	size_t need, at;

	if (len > sizeof(reserve))
		return NULL;
	need = ALIGN + (len + ALIGN - 1) / ALIGN * ALIGN;
	at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);
	if (at > sizeof(reserve) || need > sizeof(reserve) - at) {
		__atomic_fetch_sub(&used, need, __ATOMIC_RELAXED);
		return NULL;
	}
	memcpy(reserve + at, &len, sizeof(len));
	return reserve + at + ALIGN;
}

static void *give(size_t len)
{
	void *p = malloc(len);

	if (!p)
		p = reserved(len);
	return p;
}

static void *give_zeros(size_t n, size_t len)
{
	void *p = calloc(n, len);

	if (!p && (!len || n <= sizeof(reserve) / len))
		p = reserved(n * len);
	return p;
}

static void *give_more(void *p, size_t len)
{
	size_t was;
	void *more;

	if (!p)
		return give(len);
	if (!is_reserved(p))
		return realloc(p, len);
	more = give(len);
	memcpy(&was, (const uint8_t *)p - ALIGN, sizeof(was));
	if (more)
		memcpy(more, p, was < len ? was : len);
	return more;
}

static void take_back(void *p)
{
	if (!is_reserved(p))
		free(p);
}

static void set_memory(void)
{
	static cs_opt_mem memory = { give, give_zeros, give_more, take_back, vsnprintf };

	(void)cs_option(0, CS_OPT_MEM, (size_t)(uintptr_t)&memory);
}

cs_err capstone_open(cs_arch arch, cs_mode mode, csh *ret_handle)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, set_memory);
	return cs_open(arch, mode, ret_handle);
}
