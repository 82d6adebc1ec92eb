/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/arch.h"

#include <string.h>

#define UBP_ARCH(name) extern const struct ubp_arch ubp_arch_##name;
#include "arch/arches.def"
#undef UBP_ARCH

static const struct ubp_arch *const arches[] = {
#define UBP_ARCH(name) &ubp_arch_##name,
#include "arch/arches.def"
#undef UBP_ARCH
};

#define N_ARCHES (sizeof(arches) / sizeof(arches[0]))

const struct ubp_arch *ubp_arch_find(uint16_t e_machine, uint8_t elf_class)
{
	for (size_t i = 0; i < N_ARCHES; i++)
		if (arches[i]->e_machine == e_machine && arches[i]->elf_class == elf_class)
			return arches[i];
	return NULL;
}

const struct ubp_arch *ubp_arch_of_machine(uint16_t e_machine)
{
	for (size_t i = 0; i < N_ARCHES; i++)
		if (arches[i]->e_machine == e_machine)
			return arches[i];
	return NULL;
}

const struct ubp_arch *ubp_arch_by_name(const char *name)
{
	for (size_t i = 0; i < N_ARCHES; i++)
		if (strcmp(arches[i]->name, name) == 0)
			return arches[i];
	return NULL;
}
