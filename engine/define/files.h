/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files that definitions name. */

#ifndef UBP_DEFINE_FILES_H
#define UBP_DEFINE_FILES_H

#include "engine/define/state.h"

/* NULL: no definition names such a file. */
struct definition_file *files_by_id(struct definitions *defs, uint64_t dev, uint64_t ino);
/* spec_env.find_file; @ctx: the definitions. */
int files_find(void *ctx, const char *target, uint64_t *ret_dev, uint64_t *ret_ino,
	       char **ret_path, struct ubp_err *err);
/* spec_env.arch_of: what is traced here has the names that this machine's kernel has for its own programs. */
const struct ubp_arch *files_arch(void *ctx, uint64_t dev, uint64_t ino);
/* The process as which targets are looked up; 0: none. */
pid_t files_view(const struct definitions *defs);
/* Its debug information; stays the file's. Errors: those of dwarf_open(). */
int files_dwarf(struct definition_file *file, struct dwarf **ret_dwarf, struct ubp_err *err);
/* Something new is added: what was found is looked up again, unless that was just now. */
void files_look_again(struct definitions *defs);
/* definitions_check_symbols() */
int files_check_symbols(struct definitions *defs, struct ubp_err *err);
void files_free(struct definitions *defs);

#endif
