/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* C++ and Rust names (libiberty). */

#ifndef UBP_SYMBOLS_DEMANGLE_H
#define UBP_SYMBOLS_DEMANGLE_H

/* "ns::f(int)" of "_ZN2ns1fEi", for free(); NULL: it is not mangled, or memory is short. */
char *demangle(const char *name);
/* demangle() without parameters, return type and, of Rust, hash: "ns::f". */
char *demangle_short(const char *name);

#endif
