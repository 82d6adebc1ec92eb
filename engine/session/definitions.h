/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From definitions to probes: what is added, which files it names, and whether it can be probed. */

#ifndef UBP_SESSION_DEFINITIONS_H
#define UBP_SESSION_DEFINITIONS_H

#include "engine/session/state.h"

struct object_symbol;

/* define.c */
int define_init(struct ubp_session *s, struct ubp_err *err);
void define_free(struct ubp_session *s);
const struct spec_probe *define_spec(const struct ubp_session *s, size_t i);

/*
 * The table has got probes: make the session's of them, all with @filter (may be NULL). If that
 * fails, those from number @n_before on are forgotten.
 */
int define_take_up(struct ubp_session *s, size_t n_before, const char *filter,
		   struct ubp_err *err);
/* Forget the probes from number @n on. */
void define_forget(struct ubp_session *s, size_t n);

/* add.c: what ubp_add() and ubp_add_events() do, on whatever thread. */
int add_definition(struct ubp_session *s, const char *definition, const char *filter,
		   struct ubp_err *err);
int add_events(struct ubp_session *s, const char *text, size_t len, const char *filter,
	       struct ubp_err *err);
/*
 * adding.c: no more will be added. True: the thread that did so was left behind, and still needs the session. It
 * will free it.
 */
bool adding_end(struct ubp_session *s);

/* Which of its checks a place did not pass. */
enum place_refusal {
	REFUSED_PLACE,
	REFUSED_RETURN,
	REFUSED_SPAWN,
	REFUSED_BOUNDARY,
	REFUSED_INSN,
	REFUSED_EXITS,
	REFUSED_DURATION,
	REFUSED_IFUNC, /* match.c */
	REFUSED_N,
};

/* Can programs of its instruction set be traced here, or is that not the question? -ENOTSUP: no. */
int define_check_arch(const struct ubp_session *s, const struct session_file *file,
		      const char *path, struct ubp_err *err);
/* Whose register names definitions for a file have: struct spec_env. */
const struct ubp_arch *define_arch_of(void *ctx, uint64_t dev, uint64_t ino);
/*
 * Can it be probed? @spec is resolved; @p, zeroed, gets what is known of the place then.
 * *ret_why is good if not.
 */
int define_check(struct ubp_session *s, const struct spec_probe *spec,
		 struct session_file *file, struct session_probe *p,
		 enum place_refusal *ret_why, struct ubp_err *err);
/* plant.find_exits; @ctx is the session. */
void define_find_exits(void *ctx, struct uprobe *probe);
/* With a probe of its own. NULL: out of memory. */
struct session_probe *define_new_probe(void);
void define_free_probe(struct session_probe *p);

/* match.c: spec_env.match; @ctx is the session. Functions that can't be probed are left
 * out, with a word about that. */
int match_each(void *ctx, const struct spec_probe *pattern,
	       int (*each)(void *each_ctx, const char *symbol, uint64_t offset), void *each_ctx,
	       struct ubp_err *err);

/* files.c. NULL: no definition names such a file. */
struct session_file *files_by_id(struct ubp_session *s, uint64_t dev, uint64_t ino);
/* spec_env.find_file; @ctx is the session. */
int files_find(void *ctx, const char *target, uint64_t *ret_dev, uint64_t *ret_ino,
	       char **ret_path, struct ubp_err *err);
/* The process as which targets are looked up; 0: none. */
pid_t files_view(const struct ubp_session *s);
/* Its debug information; stays the file's. Errors: those of dwarf_open(). */
int files_dwarf(struct session_file *file, struct dwarf **ret_dwarf, struct ubp_err *err);
/* A new call of ours begins: what was found is looked up again, unless that was just now. */
void files_look_again(struct ubp_session *s);
/* .opt.debug.symbols is good for one of the files at least, or there is an error. */
int files_check_symbols(struct ubp_session *s, struct ubp_err *err);
void files_free(struct ubp_session *s);

/* ifunc.c: file offset of the implementation an IFUNC was resolved to. */
int ifunc_choice(struct ubp_session *s, struct session_file *file,
		 const struct object_symbol *symbol, uint64_t *ret_foffset,
		 struct ubp_err *err);

/* spawn.c: -ENOTSUP where a breakpoint can't be guarded: between a child's birth
 * by posix_spawn() and its exec. */
int spawn_check(const struct ubp_session *s, struct session_file *file,
		const struct spec_probe *spec, struct ubp_err *err);

/* windows.c */
/* Can a jump stand there, and where does it begin? If it can't that is no error. 0 or -ENOMEM. */
int windows_find(struct ubp_session *s, struct session_probe *p);
/* Once all probes are there: those of one place begin in one place. 0 or -ENOMEM. */
int windows_settle(struct ubp_session *s);
/* struct plant.find_lead; @ctx: the session. */
void windows_find_lead(void *ctx, struct uprobe *probe);

#endif
