/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Small things about DIEs. */

#ifndef UBP_DWARF_DIE_H
#define UBP_DWARF_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

/* DIEs of a scope inside each other that are looked into; references that are followed. */
#define DW_DEPTH_MAX 128
#define DW_CHAIN_MAX 16

/* Has this DIE code at @addr (an address of the DWARF)? */
bool dw_covers(Dwarf_Die *die, Dwarf_Addr addr);

/*
 * What @die refers to by @attr (DW_AT_type, DW_AT_abstract_origin, ...); dw_inherited_ref(): or what its
 * origin or specification does. False: nothing.
 */
bool dw_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die);
bool dw_inherited_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die);
/* The attribute itself, of @die, its origins and specifications: bounded, unlike dwarf_attr_integrate(). */
Dwarf_Attribute *dw_attr(Dwarf_Die *die, unsigned attr, Dwarf_Attribute *ret_attr);
/* A string that is whole, or NULL. */
const char *dw_string(Dwarf_Attribute *attr);
/* DW_AT_name by dw_attr(), or NULL. */
const char *dw_name(Dwarf_Die *die);

/* By dw_attr(): false, or 0, where there is none. */
bool dw_flag(Dwarf_Die *die, unsigned attr);
bool dw_number(Dwarf_Die *die, unsigned attr, Dwarf_Word *ret_value);

/* DW_TAG_subprogram and the like; ..., and what is inlined. */
bool dw_is_function(Dwarf_Die *die);
bool dw_is_scope(Dwarf_Die *die);

#endif
