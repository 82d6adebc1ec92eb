/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How the return of a function is caught: which way is safe in a process. */

#ifndef UBP_SPACE_RETURN_WAY_H
#define UBP_SPACE_RETURN_WAY_H

#include <stdbool.h>

struct arch_text;

enum return_way {
	RETURN_HIJACKED, /* its return address is replaced when it is entered */
	RETURN_AT_RETS,  /* a breakpoint stands on each of its ret instructions */
};

struct return_facts {
	bool is_go;          /* the function's file is a Go program */
	bool hides_unwinder; /* exceptions may pass, and nobody can tell when */
	bool walks_stacks;   /* its file walks stacks by return addresses (code/unwinder.h) */
	bool shadow_stack;   /* a thread of the process has a shadow stack */
	bool wants_shadow_stack; /* the program is made for a shadow stack */
	bool can_shadow_stack;   /* kernel and processor have shadow stacks */
	bool takes_return; /* the function takes its return address off the stack (insn.takes_return) */
	bool uses_return; /* the function asks its return address who calls (return_way_uses_return()) */
	bool cannot_sign; /* frames may hold return addresses signed, and no call may be made to sign */
};

/* The way, and why it is not the other: *ret_why may be NULL, or set to NULL. */
enum return_way return_way_of(const struct return_facts *facts, const char **ret_why);

/* Is @symbol the name of a function that asks its return address who has called it? NULL: false. */
bool return_way_uses_return(const char *symbol);

/* Does a text of the kernel's tell @of shadow stacks (struct arch_shadow)? */
bool return_way_tells(const char *text, const struct arch_text *of);

#endif
