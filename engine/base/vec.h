/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Arrays that grow. The array is a pointer of the caller's, NULL while it is empty, to be freed
 * with free(); each function makes room and leaves the count to the caller. All return 0 or
 * -ENOMEM, when the array is as it was.
 */

#ifndef UBP_BASE_VEC_H
#define UBP_BASE_VEC_H

#include <stddef.h>

/* Room for one more than @n elements in @v, which has room for *@cap: doubled when it is full. */
#define VEC_ROOM(v, cap, n) vec_room(&(v), (cap), (n), sizeof(*(v)))

/*
 * Room for one more than @n elements in @v, where nobody keeps how much room there is: it is the power of two at or
 * above @n. Only for arrays that have never grown in another way.
 */
#define VEC_DOUBLE(v, n) vec_double(&(v), (n), sizeof(*(v)))

/* Room for exactly @n elements, 1 at least: for arrays that stay short. */
#define VEC_FIT(v, n) vec_fit(&(v), (n), sizeof(*(v)))

/* What the macros call: @v is the address of the pointer, @size that of an element in bytes. */
int vec_room(void *v, size_t *cap, size_t n, size_t size);
int vec_double(void *v, size_t n, size_t size);
int vec_fit(void *v, size_t n, size_t size);

#endif
