/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The way from a bell to the call of the kernel that it is about. */

#ifndef UBP_PLANT_BELL_WAY_H
#define UBP_PLANT_BELL_WAY_H

struct space;
struct tracer;

/*
 * Bells ring from now on: wait until nobody is on his way from one that was silent to its fork or exec, at which he would be missed. The caller keeps
 * @space. 0, -EAGAIN: somebody is still (outside_wait()); -ENOMEM.
 */
int bell_ways_wait(struct tracer *tracer, struct space *space);

#endif
