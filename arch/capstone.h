/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How capstone is opened: it must not do without memory. */

#ifndef UBP_ARCH_CAPSTONE_H
#define UBP_ARCH_CAPSTONE_H

#include <capstone/capstone.h>

/*
 * cs_open(). capstone does not look whether it was given memory, for a handle or for the tables of its first use. So it
 * is given some of ours where there is none: it needs some 20 KiB for each of a few handles, once.
 */
cs_err capstone_open(cs_arch arch, cs_mode mode, csh *ret_handle);

#endif
