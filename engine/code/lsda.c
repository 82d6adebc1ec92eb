/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/lsda.h"

#include <dwarf.h>
#include <stdbool.h>

#include "engine/code/landing_set.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/image.h"
#include "engine/elf/object_priv.h"

/* Reading on; past the end nothing comes, and .failed says so. */
struct cursor {
	const struct object *object;
	const uint8_t *at, *end;
	uint64_t vaddr; /* of .end */
	bool failed;
};

struct marker {
	struct object *object;
	const struct image *image;
	struct landings *landings;
	uint64_t cie_vaddr; /* of .forms */
	struct cie_forms forms;
};

static struct cursor cursor_at(const struct marker *m, uint64_t elf_vaddr)
{
	size_t len;
	const uint8_t *bytes = image_at(m->image, elf_vaddr, &len);

	return (struct cursor){ .object = m->object,
				.at = bytes,
				.end = bytes ? bytes + len : NULL,
				.vaddr = elf_vaddr + len,
				.failed = !bytes };
}

static uint64_t fixed(struct cursor *c, size_t len)
{
	uint64_t number;

	if (c->failed || (size_t)(c->end - c->at) < len) {
		c->failed = true;
		return 0;
	}
	number = object_number(c->object, c->at, len);
	c->at += len;
	return number;
}

static uint64_t leb128(struct cursor *c, bool is_signed)
{
	uint64_t number = 0;
	unsigned shift = 0;

	while (!c->failed) {
		uint8_t byte = (uint8_t)fixed(c, 1);

		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift < 64)
			number |= ~UINT64_C(0) << shift;
		break;
	}
	return number;
}

static uint64_t sign_extend(uint64_t number, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);

	return (number ^ sign) - sign;
}

/* A number of form DW_EH_PE_*, without what it counts from. */
static uint64_t plain(struct cursor *c, uint8_t form)
{
	switch (form & 0xf) {
	case DW_EH_PE_absptr:
		return fixed(c, object_is_64bit(c->object) ? 8 : 4);
	case DW_EH_PE_uleb128:
		return leb128(c, false);
	case DW_EH_PE_udata2:
		return fixed(c, 2);
	case DW_EH_PE_udata4:
		return fixed(c, 4);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return fixed(c, 8);
	case DW_EH_PE_sleb128:
		return leb128(c, true);
	case DW_EH_PE_sdata2:
		return sign_extend(fixed(c, 2), 16);
	case DW_EH_PE_sdata4:
		return sign_extend(fixed(c, 4), 32);
	default:
		c->failed = true;
		return 0;
	}
}

/* An address; 0: none. */
static uint64_t pointer(struct cursor *c, uint8_t form)
{
	uint64_t here = c->vaddr - (uint64_t)(c->end - c->at), number = plain(c, form);

	if (number == 0)
		return 0;
	if ((form & 0x70) == DW_EH_PE_pcrel)
		return number + here;
	if ((form & ~0xf) != DW_EH_PE_absptr)
		c->failed = true;
	return number;
}

/* The table of call sites at @vaddr, of the function at @start. False: it can't be read. */
static bool mark_pads(const struct marker *m, uint64_t start, uint64_t vaddr)
{
	struct cursor c = cursor_at(m, vaddr);
	uint8_t form = (uint8_t)fixed(&c, 1);
	uint64_t pads = start, len;

	if (form != DW_EH_PE_omit)
		pads = pointer(&c, form);
	if (fixed(&c, 1) != DW_EH_PE_omit)
		(void)leb128(&c, false); /* distance to the types */
	form = (uint8_t)fixed(&c, 1);
	len = leb128(&c, false);
	if (c.failed || len > (size_t)(c.end - c.at))
		return false;
	c.vaddr -= (size_t)(c.end - c.at) - len;
	c.end = c.at + len;
	while (!c.failed && c.at < c.end) {
		uint64_t pad;

		(void)plain(&c, form); /* start, length */
		(void)plain(&c, form);
		pad = plain(&c, form);
		(void)leb128(&c, false); /* action */
		if (pad != 0)
			landings_add(m->landings, LANDING_PAD, pads + pad);
	}
	return !c.failed;
}

static void mark_fde(void *ctx, uint64_t start, uint64_t fde_vaddr)
{
	struct marker *m = ctx;
	struct cursor c = cursor_at(m, fde_vaddr);
	uint64_t id_vaddr = fde_vaddr + 4, cie_vaddr, lsda;

	landings_add(m->landings, LANDING_NAME, start);
	if (fixed(&c, 4) == UINT32_MAX) {
		id_vaddr += 8;
		(void)fixed(&c, 8);
	}
	cie_vaddr = id_vaddr - fixed(&c, 4);
	if (c.failed)
		return;
	if (m->cie_vaddr != cie_vaddr) {
		m->cie_vaddr = cie_vaddr;
		m->forms = cie_read(m->object, cie_vaddr);
	}
	if (m->forms.lsda == DW_EH_PE_omit)
		return;
	(void)plain(&c, m->forms.pointer);
	(void)plain(&c, m->forms.pointer); /* how many bytes */
	(void)leb128(&c, false);           /* length of what follows */
	lsda = pointer(&c, m->forms.lsda);
	if (c.failed || (lsda != 0 && !mark_pads(m, start, lsda)))
		landings_add_all(m->landings);
}

void lsda_mark(struct object *object, const struct image *image, struct landings *landings)
{
	struct marker m = {
		.object = object, .image = image, .landings = landings, .cie_vaddr = UINT64_MAX
	};

	fde_each(object, mark_fde, &m);
}
