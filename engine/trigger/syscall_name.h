/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of system calls, for the modifier .syscall. */

#ifndef UBP_TRIGGER_SYSCALL_NAME_H
#define UBP_TRIGGER_SYSCALL_NAME_H

#include <stdint.h>

/* sys_read and so on. NULL: there is none of this number, or this machine's are not known. */
const char *syscall_name(uint32_t number);

#endif
