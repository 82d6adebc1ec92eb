/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Remote system calls. The thread is sent to the stub by one write of its registers. Only the
 * kernel can load all registers and the pc at once, so it comes out by itself through
 * rt_sigreturn(), with a frame as the kernel builds them for signal handlers. All of the stub's
 * state is in that frame, below the stack pointer, so a thread that is inside can be sent there
 * again:
 *
 *   0 number  8 six arguments  64 buffer of 32 bytes
 *   96 siginfo, of no meaning  224 ucontext  400 registers  688 records: vectors, SVE
 *
 * While its tracer lives, a thread does not get that far: its registers are put back when it
 * stops behind the call. rt_sigreturn() would make a sleep that was broken off end.
 *
 * The stub can also sign an address, as programs sign their return addresses.
 */

#include "arch/arm64/stub.h"

#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/guard_code.h"
#include "arch/arm64/regs.h"
#include "arch/guard.h"

enum {
	ALIGN = 16,
	INFO_LEN = 128,
	/* Of a ucontext. */
	STACK_FLAGS_AT = 24,
	MASK_AT = 40,
	REGS_AT = 184,
	RECORDS_AT = 464,
	RECORDS_LEN = 4096,

	FPSIMD_LEN = 528,
	EXTRA_LEN = 32,
	END_LEN = 16, /* a record without magic and length */
	SVE_HEAD_LEN = 16,
};

#define FPSIMD_MAGIC 0x46508001U
#define EXTRA_MAGIC  0x45585401U
#define SVE_MAGIC    0x53564501U

#define SIGTRAP_BIT (1ULL << 4)

struct frame {
	uint64_t nr;
	uint64_t args[6];
	uint64_t pad;
	uint8_t buffer[32];
	uint8_t info[INFO_LEN];
	uint8_t uc[RECORDS_AT];
	uint8_t records[];
};

_Static_assert(REGS_AT + 8 * ARM64_SP - STACK_FLAGS_AT == ARM64_STUB_MODE_BEFORE_SP, "stub.h");
_Static_assert(offsetof(struct frame, buffer) == ARM64_STUB_BUFFER_AT, "told in the table");
_Static_assert(offsetof(struct frame, info) == 96, "the stub's add");
_Static_assert(offsetof(struct frame, records) % ALIGN == 0, "the kernel wants it");

/* The most there can be: with vectors of 2048 bits. */
#define SVE_REGS_MAX (32 * 256 + 17 * 32)
_Static_assert(sizeof(struct frame) + FPSIMD_LEN + EXTRA_LEN + 2 * END_LEN + SVE_HEAD_LEN +
			       SVE_REGS_MAX <=
		       UBP_STUB_FRAME_MAX,
	       "fits");

#define STUB_ENTRY 24
_Static_assert(ARM64_STUB_SYSCALL_END == STUB_ENTRY + 20, "behind the first svc");

const uint8_t arm64_stub[ARM64_STUB_LEN] = {
	0xf1, 0x43, 0x44, 0xa9, /* ldp x17, x16, [sp, #64]: the address, the modifier */
	0x1f, 0x21, 0x03, 0xd5, /* pacia1716: no instruction to processors that can't */
	0x03, 0x00, 0x00, 0x14, /* b signed */
	0xf1, 0x43, 0x44, 0xa9, /* ldp x17, x16, [sp, #64] */
	0x5f, 0x21, 0x03, 0xd5, /* pacib1716 */
	0xf1, 0x23, 0x00, 0xf9, /* signed: str x17, [sp, #64] */
	0xe8, 0x03, 0x40, 0xf9, /* STUB_ENTRY: ldr x8, [sp] */
	0xe0, 0x87, 0x40, 0xa9, /* ldp x0, x1, [sp, #8] */
	0xe2, 0x8f, 0x41, 0xa9, /* ldp x2, x3, [sp, #24] */
	0xe4, 0x97, 0x42, 0xa9, /* ldp x4, x5, [sp, #40] */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
	0xff, 0x83, 0x01, 0x91, /* add sp, sp, #96 */
	0x68, 0x11, 0x80, 0xd2, /* mov x8, #139: rt_sigreturn */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
};

/* The kernel has done that before a tracer sees the thread. */
void arm64_restart_syscall(struct ubp_regs *regs)
{
	(void)regs;
}

/* Calls whose rest, if a stop breaks them off, call.restart() makes. */
bool arm64_may_resume(const struct ubp_regs *regs, const uint8_t code[8])
{
	static const uint16_t calls[] = { 98 /* futex */, 101 /* nanosleep */,
					  115 /* clock_nanosleep */ };
	const uint32_t svc = ARM64_SVC;

	if (memcmp(code, &svc, sizeof(svc)) != 0)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (regs->r[ARM64_X8] == calls[i])
			return true;
	return false;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static uint8_t *put_head(uint8_t *at, uint32_t magic, uint32_t len)
{
	return put(put(at, &magic, sizeof(magic)), &len, sizeof(len));
}

static uint8_t *put_end(uint8_t *at)
{
	memset(at, 0, END_LEN);
	return at + END_LEN;
}

static uint8_t *put_vectors(uint8_t *at, const struct arm64_more *more)
{
	at = put_head(at, FPSIMD_MAGIC, FPSIMD_LEN);
	at = put(at, &more->fp.fpsr, sizeof(more->fp.fpsr));
	at = put(at, &more->fp.fpcr, sizeof(more->fp.fpcr));
	return put(at, more->fp.v, sizeof(more->fp.v));
}

/* Bytes of the record for SVE's registers; 0: none. A vector has @vl bytes. */
static uint32_t sve_len(const struct arm64_more *more, uint16_t *ret_vl)
{
	const uint16_t vl_at = 8; /* in NT_ARM_SVE's header */
	size_t len;

	if (!more->sve_len)
		return 0;
	memcpy(ret_vl, more->sve + vl_at, sizeof(*ret_vl));
	/* 32 vectors, 16 predicates and the first-fault register, of a bit for each byte. */
	len = 32 * (size_t)*ret_vl + 17 * (size_t)*ret_vl / 8;
	if (len > SVE_REGS_MAX || SVE_HEAD_LEN + len > more->sve_len)
		return 0;
	return (uint32_t)((SVE_HEAD_LEN + len + ALIGN - 1) & ~(size_t)(ALIGN - 1));
}

/* The registers are in the same order as ptrace() shows them, behind a head as long. */
static uint8_t *put_sve(uint8_t *at, const struct arm64_more *more, uint32_t len, uint16_t vl)
{
	uint8_t *regs = at + SVE_HEAD_LEN;

	memset(at, 0, len);
	put(put_head(at, SVE_MAGIC, len), &vl, sizeof(vl));
	put(regs, more->sve + SVE_HEAD_LEN, 32 * (size_t)vl + 17 * (size_t)vl / 8);
	return at + len;
}

/* What does not fit into the 4096 bytes follows, announced by a record of its own. */
static uint8_t *put_records(uint8_t *at, uint64_t vaddr, const struct arm64_more *more)
{
	const uint8_t *begin = at;
	uint16_t vl = 0;
	uint32_t len = sve_len(more, &vl);

	at = put_vectors(at, more);
	if (len && FPSIMD_LEN + len + END_LEN > RECORDS_LEN) {
		uint32_t extra[4] = { len + END_LEN };
		uint64_t where;

		at = put_head(at, EXTRA_MAGIC, EXTRA_LEN);
		where = vaddr + (uint64_t)(at - begin) + EXTRA_LEN - 8 + END_LEN;
		at = put(at, &where, sizeof(where));
		at = put(at, extra, sizeof(extra));
		at = put_end(at);
	}
	if (len)
		at = put_sve(at, more, len, vl);
	return put_end(at);
}

void arm64_stub_frame_below(uint64_t top, const struct ubp_regs *orig,
			    const struct ubp_more *more, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			    size_t *ret_len, uint64_t *ret_sp)
{
	const struct arm64_more *m = (const struct arm64_more *)more->bytes;
	struct frame *f = (struct frame *)ret_frame;
	/* No mode that sigaltstack() knows: the thread's alternate stack stays what it is. */
	uint32_t no_mode = ARM64_STUB_MODE;
	/* Survival goes before exactness: a breakpoint may be the next thing it meets. */
	uint64_t mask = m->mask & ~SIGTRAP_BIT, sp;
	uint16_t vl;
	size_t records = FPSIMD_LEN + END_LEN, sve;

	sve = sve_len(m, &vl);
	records += sve;
	if (records > RECORDS_LEN)
		records += EXTRA_LEN + END_LEN;
	*ret_len = sizeof(*f) + records;
	sp = (top - *ret_len) & ~(uint64_t)(ALIGN - 1);
	memset(f, 0, sizeof(*f));
	put(f->uc + STACK_FLAGS_AT, &no_mode, sizeof(no_mode));
	put(f->uc + MASK_AT, &mask, sizeof(mask));
	/* x0 to x30, sp, pc, pstate: as struct ubp_regs has them. */
	put(f->uc + REGS_AT, orig->r, (ARM64_PSTATE + 1) * sizeof(orig->r[0]));
	put_records(f->records, sp + sizeof(*f), m);
	*ret_sp = sp;
}

void arm64_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		      uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp)
{
	arm64_stub_frame_below(orig->r[ARM64_SP], orig, more, ret_frame, ret_len, ret_sp);
}

void arm64_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56])
{
	memcpy(frame, &nr, sizeof(nr));
	memcpy(frame + sizeof(nr), args, 6 * sizeof(args[0]));
}

void arm64_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp)
{
	regs->r[ARM64_PC] = stub_vaddr + STUB_ENTRY;
	regs->r[ARM64_SP] = sp;
	regs->r[ARM64_PSTATE] &= ~(uint64_t)ARM64_BTYPE;
}

void arm64_stub_sign(struct ubp_regs *regs, uint64_t stub_vaddr, bool key_b)
{
	regs->r[ARM64_PC] = stub_vaddr + (key_b ? 12 : 0);
}

void arm64_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6])
{
	regs->r[ARM64_X8] = nr;
	memcpy(&regs->r[ARM64_X0], args, 6 * sizeof(args[0]));
}

int64_t arm64_syscall_result(const struct ubp_regs *regs)
{
	return (int64_t)regs->r[ARM64_X0];
}

/* Nothing in the registers tells. */
bool arm64_came_by_exception(const struct ubp_regs *regs)
{
	(void)regs;
	return true;
}

/*
 * The breakpoint reports the return; the tracer puts the real address into x30 and sends the
 * thread to the ret.
 */
int arm64_build_return_trampoline(struct slot_code *ret_code)
{
	const uint64_t next = UBP_AREA_TRAMPOLINE + ARM64_INSN;
	const uint32_t code[] = {
		ARM64_SWBP,
		ARM64_INSN_B | (UBP_AREA_GUARD + GUARD_CODE_GO_BACK - next) / ARM64_INSN,
		ARM64_RET,
	};

	memset(ret_code, 0, sizeof(*ret_code));
	memcpy(ret_code->code, code, sizeof(code));
	ret_code->len = sizeof(code);
	ret_code->done_at = 0xff;
	ret_code->taken_at = 0xff;
	return 0;
}

void arm64_leave_trampoline(struct ubp_regs *regs)
{
	regs->r[ARM64_PC] += 2 * ARM64_INSN; /* the ret */
}
