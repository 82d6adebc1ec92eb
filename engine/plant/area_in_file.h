/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* An area in a file's own slack. */

#ifndef UBP_PLANT_AREA_IN_FILE_H
#define UBP_PLANT_AREA_IN_FILE_H

#include <stdint.h>

struct area;
struct maps;
struct plant;
struct tracee;
struct ubp_err;

/*
 * An area in the zero bytes behind the code of a file near [lo, hi): for a process
 * that may not be made to map anything (--force). Its room is small, and there is
 * no stub in it. -ENOSPC: no such place.
 */
int area_in_file_provide(struct plant *plant, struct tracee *t, const struct maps *maps,
			 uint64_t lo, uint64_t hi, struct area **ret_area, struct ubp_err *err);

#endif
