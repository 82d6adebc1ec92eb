/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifndef UBP_TESTS_UNIT_RUN_AGAIN_H
#define UBP_TESTS_UNIT_RUN_AGAIN_H

#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/*
 * Run another unit test, by its name, with a variable in its environment: it passes, or is skipped. The
 * laboratory's are UBP_LAB_LEAD=NAME, a lead in front of each window, and UBP_LAB_HAS=0, no instruction that
 * not every machine has (detour_plan.has).
 */
void run_again(const char *variable, const char *test);

#endif
