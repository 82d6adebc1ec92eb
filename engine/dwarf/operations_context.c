/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operations whose outcome the place tells: its frame, its file, its thread. */

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/operand.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/machine.h"
#include "engine/elf/object.h"
#include "engine/files/debug.h"

static const char *function_name(const struct machine *m)
{
	return m->at->function_name ? m->at->function_name : "the function";
}

/* The address that the caller's stack pointer had before the call. */
static int push_cfa(struct machine *m, const Dwarf_Op *op)
{
	struct dwarf *d = m->at->d;
	bool is_left_out = false;
	Dwarf_CFI *cfis[2] = { object_debug_cfi(d->object, d->dw, &is_left_out), NULL };
	int64_t biases[2] = { d->bias, 0 };
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	int rc = -ENODATA;

	cfis[1] = object_eh_cfi(d->object, &is_left_out);
	for (size_t i = 0; i < 2 && rc == -ENODATA; i++) {
		struct location location = { 0 };
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t n_ops;

		if (!cfis[i] ||
		    dwarf_cfi_addrframe(cfis[i], m->at->elf_vaddr - (uint64_t)biases[i],
					&frame) != 0)
			continue;
		if (dwarf_frame_cfa(frame, &ops, &n_ops) == 0 && n_ops > 0)
			rc = machine_run(&inner, NULL, ops, n_ops, &location);
		free(frame);
		if (rc == 0)
			return location.n == 1 && location.pieces[0].kind == PIECE_MEMORY
				       ? machine_push(m, location.pieces[0].sum)
				       : machine_unsupported(m, op->atom);
	}
	return rc != -ENODATA
		       ? rc
		       : ubp_fail(m->err, ENODATA,
				  "%s is on the frame, and nothing tells where that is here "
				  "(%s)",
				  m->name,
				  is_left_out ? "more than 64 MiB of call frame information: "
						"it is not read"
					      : "no call frame information");
}

static bool at_entry(const struct location_at *at)
{
	Dwarf_Die function = at->function;
	Dwarf_Addr entry;

	return at->has_function && dwarf_entrypc(&function, &entry) == 0 && entry == at->addr;
}

/*
 * At the entry of a function, is the frame still to be made? A frame base in a register is
 * right behind the prologue only. Nothing tells where that ends, but that there is one is
 * told: somewhere on, the frame is found in another way.
 */
static bool is_before_frame(const struct machine *m)
{
	struct dwarf *d = m->at->d;
	Dwarf_Die function = m->at->function;
	Dwarf_Addr start, end, high;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi;
	int64_t bias = 0;
	bool is_one, ignored = false;

	if (!at_entry(m->at) || dwarf_highpc(&function, &high) != 0)
		return false;
	cfi = object_eh_cfi(d->object, &ignored);
	if (!cfi) {
		cfi = object_debug_cfi(d->object, d->dw, &ignored);
		bias = d->bias;
	}
	if (!cfi || dwarf_cfi_addrframe(cfi, m->at->elf_vaddr - (uint64_t)bias, &frame) != 0)
		return false;
	is_one = dwarf_frame_info(frame, &start, &end, NULL) >= 0 &&
		 end + (uint64_t)bias < dw_elf_vaddr(d, high);
	free(frame);
	return is_one;
}

static int not_made_yet(struct machine *m)
{
	return ubp_fail(m->err, ENODATA,
			"%s is on the frame, which is not made yet at the entry of %s: probe "
			"a line of it, or behind its first instructions",
			m->name, function_name(m));
}

/* A frame base that is a register is what that holds. */
static int push_frame_base(struct machine *m, const Dwarf_Op *op)
{
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	Dwarf_Die function = m->at->function;
	struct location location = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n_ops;
	int rc;

	if (!m->at->has_function || !dw_attr(&function, DW_AT_frame_base, &attr))
		return machine_unsupported(m, op->atom);
	if (dwarf_getlocation_addr(&attr, m->at->addr, &ops, &n_ops, 1) != 1 || n_ops == 0)
		return ubp_fail(m->err, ENODATA, "%s is on the frame, which is not told here",
				m->name);
	rc = machine_run(&inner, &attr, ops, n_ops, &location);
	if (rc < 0)
		return rc;
	if (location.n != 1 || location.pieces[0].is_vector ||
	    (location.pieces[0].kind != PIECE_MEMORY &&
	     location.pieces[0].kind != PIECE_REGISTER))
		return machine_unsupported(m, op->atom);
	if (location.pieces[0].kind == PIECE_REGISTER && is_before_frame(m))
		return not_made_yet(m);
	/* Above the frame are parameters that the caller put there. */
	if (m->at->is_prologue &&
	    (location.pieces[0].kind == PIECE_REGISTER || (int64_t)op->number < 0))
		return not_made_yet(m);
	rc = machine_push(m, location.pieces[0].sum);
	if (rc == 0)
		sum_add_const(&m->stack[m->n - 1], (int64_t)op->number);
	return rc;
}

/* The register that the function's frame is found by, if it is one alone. */
static const char *frame_register(const struct machine *m)
{
	Dwarf_Die function = m->at->function;
	Dwarf_Attribute attr;
	bool is_vector;
	Dwarf_Op *ops;
	size_t n;

	if (!m->at->has_function || !dw_attr(&function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, m->at->addr, &ops, &n, 1) != 1 || n != 1 ||
	    ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)
		return NULL;
	return operand_dwarf_register(m->at->e_machine, ops[0].atom - DW_OP_reg0, &is_vector);
}

bool machine_is_stack(const struct machine *m, const struct sum *sum)
{
	const char *frame;

	if (sum->base != SUM_REG || sum->n || sum->index || !sum->reg)
		return false;
	frame = frame_register(m);
	return strcmp(sum->reg, "sp") == 0 || (frame && strcmp(sum->reg, frame) == 0);
}

/* What an expression was when the function was entered: there it is what it says. */
static int push_entry_value(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	struct location location = { 0 };
	Dwarf_Attribute value;
	Dwarf_Op *ops;
	size_t n_ops;
	int rc;

	if (!at_entry(m->at))
		return ubp_fail(
			m->err, ENODATA,
			"%s: the value that it had at the entry of %s is not kept; probe the "
			"function's entry",
			m->name, function_name(m));
	if (!attr || dwarf_getlocation_attr(attr, op, &value) != 0 ||
	    dwarf_getlocation(&value, &ops, &n_ops) != 0)
		return machine_malformed(m);
	rc = machine_run(&inner, &value, ops, n_ops, &location);
	if (rc < 0)
		return rc;
	if (location.n != 1 || location.pieces[0].is_vector ||
	    (location.pieces[0].kind != PIECE_REGISTER &&
	     location.pieces[0].kind != PIECE_MEMORY))
		return machine_unsupported(m, op->atom);
	return machine_push(m, location.pieces[0].sum);
}

/* Of a file's own: relative to the byte that is probed, as @+OFFSET has it. */
static int push_address(struct machine *m, Dwarf_Addr address)
{
	return machine_push(m, sum_file((int64_t)(dw_elf_vaddr(m->at->d, address) -
						  m->at->elf_vaddr + m->at->foffset)));
}

static int push_indexed(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op,
			bool is_address)
{
	Dwarf_Attribute value;
	Dwarf_Addr address;
	Dwarf_Word word;

	if (!attr || dwarf_getlocation_attr(attr, op, &value) != 0)
		return machine_malformed(m);
	if (dwarf_formaddr(&value, &address) == 0)
		return is_address ? push_address(m, address)
				  : machine_push(m, sum_const((int64_t)address));
	return dwarf_formudata(&value, &word) == 0 ? machine_push(m, sum_const((int64_t)word))
						   : machine_malformed(m);
}

/* The bytes of all thread-local variables of the program, as they lie below the thread pointer. */
static bool thread_local_size(struct dwarf *d, uint64_t *ret_size)
{
	Elf *elf = dwarf_getelf(d->dw);
	GElf_Phdr phdr;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t align, first;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_TLS)
			continue;
		align = phdr.p_align ? phdr.p_align : 1;
		if (align & (align - 1) || phdr.p_memsz > INT32_MAX || align > INT32_MAX)
			return false;
		first = -phdr.p_vaddr & (align - 1);
		*ret_size = ((phdr.p_memsz - first + align - 1) & -align) + first;
		return true;
	}
	return false;
}

static int thread_local(struct machine *m, const Dwarf_Op *op)
{
	struct object *object = m->at->d->object;
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;
	const struct arch_elf *elf = &object_arch(object)->elf;
	uint64_t size, at;

	if (!top || top->n)
		return machine_malformed(m);
	if (object_soname(object) || (object_is_pie(object) && !object_interp(object)))
		return ubp_fail(
			m->err, ENOTSUP,
			"%s is thread-local: that can be had of a program only, not of a "
			"library",
			m->name);
	if (!elf->tls_end || !thread_local_size(m->at->d, &size))
		return machine_unsupported(m, op->atom);
	at = (uint64_t)top->addend[0];
	if (top->base == SUM_FILE) /* what looked like an address was an offset */
		at += m->at->elf_vaddr - m->at->foffset - (uint64_t)m->at->d->bias;
	else if (top->base != SUM_CONST)
		return machine_unsupported(m, op->atom);
	*top = sum_register(elf->tls_end, (int64_t)(at - size));
	return 0;
}

int machine_push_place(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
		return push_address(m, op->number);
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_indexed(m, attr, op, true);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return push_indexed(m, attr, op, false);
	case DW_OP_fbreg:
		return push_frame_base(m, op);
	case DW_OP_call_frame_cfa:
		return push_cfa(m, op);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(m, attr, op);
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return thread_local(m, op);
	default:
		return machine_unsupported(m, op->atom);
	}
}
