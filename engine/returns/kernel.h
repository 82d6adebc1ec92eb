/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the kernel's own uprobes do in a target, as far as we have to know of it.
 *
 * A uretprobe replaces the return address by that of the page "[uprobes]", and the kernel keeps the
 * real one. If another function is then entered by a jump, it must find that address: then the
 * kernel knows that both return there. If it finds ours in its place, the kernel takes the first
 * function for one that was left by longjmp(), forgets where that was to return to, and the
 * program crashes. So we leave the kernel's address alone where such a jump may follow.
 */

#ifndef UBP_RETURNS_KERNEL_H
#define UBP_RETURNS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plant;
struct plant_space;
struct site;

/* Is @word such an address, in the process of @pid? */
bool kernel_returns_by(struct plant_space *ps, pid_t pid, uint64_t word);

/* May a function with a return probe at @site be left by a jump to another one? */
bool kernel_may_be_misled(const struct plant *plant, const struct site *site);

#endif
