/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/libunwind.h"

#include <elf.h>
#include <errno.h>
#include <libunwind-ptrace.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/returns/returns.h"
#include "engine/stack/caller.h"
#include "engine/stack/frame_return.h"
#include "engine/trace/process.h"

/* Exported, and in no header: binary search in .eh_frame_hdr, read by the accessors. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip,
					      unw_dyn_info_t *di, unw_proc_info_t *pi,
					      int need_unwind_info, void *arg);

#define SEGMENTS_MAX 64
#define FRAME_READS  4096 /* words for one frame: libunwind reads without a limit of its own */

/* The start of .eh_frame_hdr, in the one form that linkers write. */
struct table_head {
	uint8_t version, frame_form, count_form, table_form;
	int32_t frame;
	uint32_t count;
};
#define FORM_FRAME 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
#define FORM_COUNT 0x03 /* DW_EH_PE_udata4 */
#define FORM_TABLE 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
#define ENTRY      8    /* bytes of the table that follows: a function, its FDE */

struct stack_libunwind {
	unw_addr_space_t as;
	struct stack_memory tables; /* of files that are mapped */
	/* Of the frame that is stepped from: */
	const struct stack_frame *frame;
	const struct maps *maps;
	unsigned n_reads;
	bool has_table;
	uint64_t from, to; /* of the file that it is in */
};

/* --- tables -------------------------------------------------------------------------- */

static bool read_file_memory(struct stack_libunwind *lu, uint64_t vaddr, void *buf, size_t len)
{
	return stack_memory_read(&lu->tables, vaddr, buf, len);
}

/* What the program headers of the file that begins at @base say. */
struct module {
	uint64_t base, end; /* of it in memory */
	uint64_t head;      /* vaddr of .eh_frame_hdr; 0: it has none */
	bool is_right;      /* mapping @m is of it */
};

static void see_segment(struct module *module, const ElfW(Phdr) * phdr, const struct mapping *m)
{
	uint64_t vaddr = module->base + phdr->p_vaddr, end = vaddr + phdr->p_memsz;
	uint64_t in_page = phdr->p_offset & (PAGE - 1);

	if (phdr->p_type == PT_GNU_EH_FRAME)
		module->head = vaddr;
	if (phdr->p_type != PT_LOAD)
		return;
	if (end > module->end)
		module->end = end;
	if ((phdr->p_flags & PF_X) && phdr->p_offset - in_page == m->foffset &&
	    vaddr - in_page == m->start)
		module->is_right = true;
}

/* Is the start of the file that @m is of mapped at @at? */
static bool look_at(struct stack_libunwind *lu, uint64_t at, const struct mapping *m,
		    struct module *module)
{
	ElfW(Phdr) phdrs[SEGMENTS_MAX];
	uint64_t first = 0;
	ElfW(Ehdr) ehdr;
	unsigned n;

	*module = (struct module){ .base = at };
	if (!read_file_memory(lu, at, &ehdr, sizeof(ehdr)) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_phentsize != sizeof(*phdrs))
		return false;
	n = ehdr.e_phnum < SEGMENTS_MAX ? ehdr.e_phnum : SEGMENTS_MAX;
	for (unsigned i = 0; i < n; i++)
		if (!read_file_memory(lu, at + ehdr.e_phoff + i * sizeof(*phdrs), &phdrs[i],
				      sizeof(*phdrs)))
			return false;
	/* Where what is at address 0 in the file stands. */
	for (unsigned i = 0; i < n; i++)
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset == 0)
			first = phdrs[i].p_vaddr;
	module->base -= first;
	for (unsigned i = 0; i < n; i++)
		see_segment(module, &phdrs[i], m);
	module->base = at;
	return module->is_right;
}

/* Segments may be mapped some pages further apart than they stand in the file. */
static bool find_module(struct stack_libunwind *lu, const struct mapping *m,
			struct module *module)
{
	static const unsigned pages[] = { 0, 1, 2, 3, 16, 32, 48 };

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		uint64_t before = m->foffset + pages[i] * PAGE;

		if (before <= m->start && look_at(lu, m->start - before, m, module))
			return true;
	}
	return false;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct stack_libunwind *lu = arg;
	const struct mapping *m = maps_at(lu->maps, ip);
	struct table_head head;
	struct module module;
	unw_dyn_info_t di;
	int rc;

	if (!m || !find_module(lu, m, &module) || !module.head ||
	    !read_file_memory(lu, module.head, &head, sizeof(head)) ||
	    head.frame_form != FORM_FRAME || head.count_form != FORM_COUNT ||
	    head.table_form != FORM_TABLE || head.count > (module.end - module.head) / ENTRY)
		return -UNW_ENOINFO;
	lu->from = module.base;
	lu->to = module.end;
	memset(&di, 0, sizeof(di));
	di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di.start_ip = m->start;
	di.end_ip = m->end;
	di.u.rti.segbase = module.head;
	di.u.rti.table_data = module.head + sizeof(head);
	di.u.rti.table_len = head.count * ENTRY / sizeof(unw_word_t); /* in words */
	rc = UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, arg);
	lu->has_table |= rc == 0;
	return rc;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as, (void)addr, (void)arg;
	return -UNW_ENOINFO;
}

/* --- memory, registers ------------------------------------------------------------------ */

static int access_mem(unw_addr_space_t as, unw_word_t vaddr, unw_word_t *value, int write,
		      void *arg)
{
	struct stack_libunwind *lu = arg;
	bool is_file = vaddr >= lu->from && vaddr < lu->to;
	uint64_t word = 0;

	(void)as;
	if (write || lu->n_reads++ >= FRAME_READS ||
	    !stack_memory_read(is_file ? &lu->tables : lu->frame->memory, vaddr, &word,
			       sizeof(*value)))
		return -UNW_EINVAL;
	*value = (unw_word_t)(is_file ? word : returns_real(lu->frame->space, vaddr, 0, word));
	return 0;
}

/* libunwind numbers registers as DWARF does. */
static int access_reg(unw_addr_space_t as, unw_regnum_t number, unw_word_t *value, int write,
		      void *arg)
{
	const struct stack_libunwind *lu = arg;
	const struct stack_frame *frame = lu->frame;
	const struct ubp_arch *arch = frame->space->arch;
	unsigned n = (unsigned)number, reg;

	(void)as;
	if (write || number < 0 || n >= arch->unwind.n_regs)
		return -UNW_EBADREG;
	reg = arch->unwind.regs[n];
	/* What stands behind a call belongs to the call. */
	if (reg == arch->reg.pc)
		*value = (unw_word_t)(frame->pc - frame->is_call);
	else if (frame->known[n / 64] >> n % 64 & 1)
		*value = (unw_word_t)frame->r[n];
	else
		return -UNW_EBADREG;
	*value = (unw_word_t)frame_return_of(frame)->real(frame, reg, *value);
	return 0;
}

static int no_fpreg(unw_addr_space_t as, unw_regnum_t number, unw_fpreg_t *value, int write,
		    void *arg)
{
	(void)as, (void)number, (void)value, (void)write, (void)arg;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t vaddr, char *buf, size_t len,
		   unw_word_t *off, void *arg)
{
	(void)as, (void)vaddr, (void)buf, (void)len, (void)off, (void)arg;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dyn_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = no_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

/* --- frames -------------------------------------------------------------------------------- */

int stack_libunwind_new(struct stack_libunwind **ret_libunwind, struct ubp_err *err)
{
	struct stack_libunwind *lu = calloc(1, sizeof(*lu));

	if (lu)
		lu->as = unw_create_addr_space(&accessors, 0);
	if (!lu || !lu->as) {
		free(lu);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	/* Processes have other code at the same addresses. */
	(void)unw_set_caching_policy(lu->as, UNW_CACHE_NONE);
	*ret_libunwind = lu;
	return 0;
}

void stack_libunwind_free(struct stack_libunwind *lu)
{
	if (!lu)
		return;
	unw_destroy_addr_space(lu->as);
	free(lu);
}

bool stack_libunwind_serves(const struct ubp_arch *arch)
{
	return arch->addr_size == sizeof(unw_word_t);
}

void stack_libunwind_begin(struct stack_libunwind *lu, const struct trace_mem *mem, pid_t tid)
{
	stack_memory_forget(&lu->tables, mem, tid);
}

/* The cursor's frame. */
static bool take(unw_cursor_t *cursor, struct stack_frame *new)
{
	const struct ubp_arch *arch = new->space->arch;
	unw_word_t value;

	memset(new->known, 0, sizeof(new->known));
	if (unw_get_reg(cursor, UNW_REG_IP, &value) < 0)
		return false;
	new->pc = returns_real(new->space, 0, 0, value);
	for (unsigned i = 0; i < arch->unwind.n_regs; i++) {
		if (arch->unwind.regs[i] == arch->reg.pc)
			value = (unw_word_t) new->pc;
		else if (unw_get_reg(cursor, (unw_regnum_t)i, &value) < 0)
			continue;
		new->r[i] = value;
		new->known[i / 64] |= UINT64_C(1) << i % 64;
	}
	return new->pc != 0;
}

bool stack_frame_by_libunwind(struct stack_libunwind *lu, struct stack_frame *frame,
			      const struct maps *maps, bool only_tables)
{
	struct stack_frame new = *frame;
	unw_proc_info_t info;
	unw_cursor_t cursor;
	bool is_signal;

	lu->frame = frame;
	lu->maps = maps;
	lu->n_reads = 0;
	lu->has_table = false;
	lu->from = lu->to = 0;
	stack_memory_again(&lu->tables);
	if (unw_init_remote(&cursor, lu->as, lu) < 0)
		return false;
	if (only_tables && (unw_get_proc_info(&cursor, &info) < 0 || !lu->has_table))
		return false;
	is_signal = unw_is_signal_frame(&cursor) > 0;
	if (unw_step(&cursor) <= 0 || !take(&cursor, &new))
		return false;
	new.is_call = !is_signal;
	if (!is_signal && !stack_frame_is_upwards(frame, &new))
		return false;
	*frame = new;
	return true;
}
