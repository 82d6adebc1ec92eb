/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What runs code and detours in tests (x86_run.h, x86_lab.h), and some of these tests, are built
 * twice: for code of 64 bits, and with RUN_BITS=32 for that of 32 (GNUmakefile: i386_too).
 */

#ifndef TESTS_UNIT_X86_BITS_H
#define TESTS_UNIT_X86_BITS_H

#ifndef RUN_BITS
#define RUN_BITS 64
#endif

#if RUN_BITS == 32
#define run_init           run32_init
#define run_plant_exit     run32_plant_exit
#define run_write          run32_write
#define run_random         run32_random
#define run_code           run32_code
#define run_vectors        run32_vectors
#define run_assert_same    run32_assert_same
#define lab_make           lab32_make
#define lab_set_up         lab32_set_up
#define lab_random         lab32_random
#define lab_run            lab32_run
#define lab_run_at         lab32_run_at
#define lab_run_steps      lab32_run_steps
#define lab_run_function   lab32_run_function
#define lab_interrupt      lab32_interrupt
#define lab_find_self      lab32_find_self
#define lab_trap           lab32_trap
#define lab_came_home      lab32_came_home
#define lab_faulted        lab32_faulted
#define lab_pc             lab32_pc
#define lab_assert_kept    lab32_assert_kept
#define lab_function_start lab32_function_start
#define lab_end_at_body    lab32_end_at_body
#define lab_body_returns   lab32_body_returns
#define lab_return_to      lab32_return_to
#define lab_return_home    lab32_return_home
#define lab_link           lab32_link
#define lab_plain_address  lab32_plain_address
#define lab_call_nested    lab32_call_nested
#define lab_scribble_below lab32_scribble_below
#define lab_start          lab32_start
#endif

#endif
