/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: what there is in files that can be probed. No session is needed.
 *
 * Strings that @each gets are good during the call; what it returns, if not 0, ends the listing and is returned.
 * Errors: -ENOENT: no such file, function or place, with near names; -ENOEXEC: no ELF file, or a corrupt one;
 * -ENODATA: no debug information, the text says what was looked for.
 */

#ifndef UBP_FILES_H
#define UBP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What a listing is about. Zero-initialise. */
struct ubp_target {
	/* A path, program or library; NULL: all that .pid maps (functions and USDT). With wildcards:
	 * each such file (functions). */
	const char *name;
	pid_t pid; /* 0, or as that process sees it */
	struct ubp_debug_options debug;
	const char *pattern;        /* of names, as fnmatch(3) has it; NULL: all */
	const char *const *exclude; /* patterns, NULL-ended; may be NULL */
	bool explain;               /* tell how each place can be probed */
};

/*
 * List functions, sorted, each name once, with "PATH:" before it if .name is NULL or has wildcards; C++ and Rust names demangled, by which .pattern
 * finds them too. @explain: "jump", "breakpoint: WHY", "refused: WHY"; NULL if not asked for.
 */
int ubp_list_functions(const struct ubp_target *target,
		       int (*each)(void *ctx, const char *name, uint64_t offset,
				   const char *explain),
		       void *ctx, struct ubp_err *err);

/*
 * List the libraries that the loader knows (/etc/ld.so.cache), in its order: @name is "libc.so.6", which a definition may call "libc", too. A name may come
 * more than once. Errors: those of open(): there is no such cache.
 */
int ubp_list_libraries(int (*each)(void *ctx, const char *name, const char *path), void *ctx,
		       struct ubp_err *err);

/* A location of a static probe. Strings are good during the callback. */
struct ubp_usdt {
	const char *path;
	const char *provider, *name;
	const char *args;             /* as in the note: "-4@%edi 8@-16(%rbp)" */
	uint64_t location, semaphore; /* elf_vaddrs; semaphore 0: none */
	uint64_t base;                /* of the note, as it stands in the file */
	uint64_t offset;              /* of the location, in the file; UINT64_MAX: none */
	size_t n_args;
	const char *explain; /* as for functions */
	void *inside;        /* the library's own */
};

/* Those whose "provider:name" matches .pattern, file by file in the order of the notes. */
int ubp_list_usdt(const struct ubp_target *target,
		  int (*each)(void *ctx, const struct ubp_usdt *usdt), void *ctx,
		  struct ubp_err *err);
/*
 * Argument @i (from 0) of @usdt, in words: "s32 %di", as fetch args write it. False: there is none, or
 * nobody can read it, then @text says why.
 */
bool ubp_usdt_arg(const struct ubp_usdt *usdt, size_t i, char *text, size_t size);

/*
 * Text for --lines-of FUNCTION and --vars PLACE, as perf probe -L and -V print it. PLACE is
 * FUNCTION, FUNCTION:LINE or FILE:LINE. @each gets lines without newline.
 */
int ubp_list_lines(const struct ubp_target *target, const char *function,
		   int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err);
int ubp_list_variables(const struct ubp_target *target, const char *place,
		       int (*each)(void *ctx, const char *line), void *ctx,
		       struct ubp_err *err);

/* How many places of a file a jump can stand at. */
struct ubp_coverage_counts {
	uint64_t n;
	uint64_t one, several; /* a jump, in the place of so many instructions */
	uint64_t
		by_short; /* of those in the place of one, by a short jump to one in unused bytes near by */
	uint64_t by_punned; /* of those, by one of which a part is the program's own bytes */
	uint64_t beside;    /* of those, beside which a kernel's uprobe may come and go, ... */
	uint64_t beside_args; /* ... whatever arguments are asked for */
	uint64_t breakpoint;  /* a breakpoint only */
	uint64_t refused;     /* no probe */
	uint64_t why[16];     /* of the last two: ubp_coverage_why() tells what each is */
};

struct ubp_coverage {
	struct ubp_coverage_counts entries; /* of functions, each address once */
	struct ubp_coverage_counts usdt;    /* static probes */
	struct ubp_coverage_counts insns;   /* all instructions, if asked for */
};

/*
 * Count those of TARGET (a path, program or library). @insns: all instructions too, some
 * seconds for each megabyte of code.
 */
int ubp_coverage(const char *target, bool insns, struct ubp_coverage *ret_coverage,
		 struct ubp_err *err);

/* What why[@i] counts, a few words; NULL: nothing. */
const char *ubp_coverage_why(unsigned i);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
