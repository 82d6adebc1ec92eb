/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The interpreter. All args advance together: each goes on until it needs
 * memory, all that is needed is read in one batch, and so on. So the number of
 * batches is that of the deepest arg, not of the args:
 *
 *   %di  +0(%si):string  +8(+0(%dx))
 *          |               |            batch 1: 128 bytes at si, 8 at dx
 *          |               |            batch 2: 8 at *dx + 8 (the string had its NUL)
 */

#include "engine/base/float_bits.h"
#include "engine/base/page.h"
#include "engine/fetch/fetch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/fetch/scratch.h"

/* Smallest page there is: a span within one never meets a fault in its middle. */

/* First guess at a string's length; most file names and commands fit. */
#define TEXT_GUESS 128u

struct run {
	const struct fetch_program *program;
	const struct fetch_input *in;
	struct fetch_scratch *scratch;
	struct fetch_batch *next; /* what is asked for goes here */
	uint8_t *data;
};

static bool is_store(const struct fetch_op *op)
{
	return op->code >= FETCH_STORE_VALUE;
}

static unsigned n_elements(const struct fetch_op *op)
{
	return op->count ? op->count : 1;
}

/* Bytes of an address of the program's. */
static uint32_t word_size(const struct run *run)
{
	return run->in->arch->addr_size;
}

static void ask(struct run *run, const struct fetch_task *task, uint64_t vaddr, uint32_t len,
		void *buf)
{
	struct fetch_batch *next = run->next;
	struct fetch_task *own = &next->tasks[next->n];

	*own = *task;
	if (word_size(run) == 4)
		vaddr = (uint32_t)vaddr; /* as the program computes them */
	/* What wraps around reaches the kernel's half first: it would fault there. */
	if (vaddr != 0 && len > -vaddr)
		len = (uint32_t)-vaddr;
	next->spans[next->n++] = (struct fetch_span){
		.vaddr = vaddr,
		.len = len,
		.buf = buf ? buf : own->word,
	};
}

/* Bytes of a string that are read at most: no more than it has, since reading what is behind it could change the program. */
static uint32_t text_max(const struct run *run, const struct fetch_op *op)
{
	const uint32_t most =
		op->bit_width == FETCH_DUMP ? FETCH_STRING_MAX / 3 : FETCH_STRING_MAX;
	uint64_t n;

	if (!op->bit_width)
		return most;
	if (!fetch_text_length(op, run->data, &n))
		return 0;
	return n < most ? (uint32_t)n : most;
}

/* Ask for the next piece of a string: bigger each time, but never beyond its page. */
static void ask_text(struct run *run, const struct fetch_task *task)
{
	struct fetch_text *text = &run->scratch->texts[task->text];
	uint64_t vaddr = task->vaddr + text->len;
	uint32_t len = PAGE - (uint32_t)(vaddr % PAGE);
	uint32_t guess = 8u * text->len > TEXT_GUESS ? 8u * text->len : TEXT_GUESS;
	uint32_t most = text_max(run, task->op) - text->len;

	if (guess > most)
		guess = most;
	if (len > guess)
		len = guess;
	ask(run, task, vaddr, len, &run->scratch->bytes[task->text][text->len]);
}

static void start_text(struct run *run, const struct fetch_op *op, uint16_t text,
		       uint64_t vaddr)
{
	struct fetch_task task = {
		.op = op,
		.kind = TASK_TEXT,
		.text = text,
		.vaddr = vaddr,
	};

	run->scratch->texts[text].state = TEXT_OPEN;
	if (op->bit_width && op->bit_offset)
		run->scratch->late[run->scratch->n_late++] = task;
	else if (text_max(run, op) > 0)
		ask_text(run, &task);
}

/* All numbers are there. */
static void start_late(struct run *run)
{
	for (size_t i = 0; i < run->scratch->n_late; i++) {
		const struct fetch_task *task = &run->scratch->late[i];

		if (text_max(run, task->op) > 0)
			ask_text(run, task);
	}
}

static uint64_t cut_bits(const struct fetch_op *op, uint64_t value)
{
	value = op->bit_offset < 64 ? value >> op->bit_offset : 0;
	if (op->bit_width >= 64)
		return value;
	value <<= 64 - op->bit_width;
	return op->bit_signed ? (uint64_t)((int64_t)value >> (64 - op->bit_width))
			      : value >> (64 - op->bit_width);
}

static uint64_t sum(const struct ubp_regs *regs, const struct fetch_op *op)
{
	uint64_t base = op->reg == FETCH_NO_REG ? 0 : regs->r[op->reg];
	uint64_t index = op->index == FETCH_NO_REG ? 0 : regs->r[op->index];

	return base + (index << op->shift) + (uint64_t)op->imm;
}

static void store_value(const struct run *run, const struct fetch_op *op, uint64_t value)
{
	uint8_t *dst = run->data + op->at;

	if (op->bit_width) {
		if (op->size < 8)
			value &= (UINT64_C(1) << (8 * op->size)) - 1;
		value = cut_bits(op, value);
	}
	/* The tracee's byte order is ours. */
	memcpy(dst, &value, op->size);
}

/* The containers are in place: keep their fields. */
static void apply_bit_field(const struct run *run, const struct fetch_op *op)
{
	uint8_t *dst = run->data + op->at;

	for (unsigned i = 0; i < n_elements(op); i++, dst += op->size) {
		uint64_t value = 0;

		memcpy(&value, dst, op->size);
		value = cut_bits(op, value);
		memcpy(dst, &value, op->size);
	}
}

static void store_comm(const struct run *run, const struct fetch_op *op)
{
	struct fetch_text *text = &run->scratch->texts[op->reg];
	const char *comm = run->in->comm ? run->in->comm : "";
	size_t len = strnlen(comm, sizeof(((struct event_record *)0)->comm) - 1);
	uint8_t *bytes = run->scratch->bytes[op->reg];

	memcpy(bytes, comm, len);
	bytes[len] = '\0';
	text->len = (uint16_t)(len + 1);
	text->state = TEXT_ENDED;
}

static void store_fault(const struct run *run, const struct fetch_op *op)
{
	for (unsigned i = 0; i < n_elements(op); i++)
		run->scratch->texts[op->reg + i].state = TEXT_OPEN;
}

/* What a FETCH_DEREF, or a FETCH_STACK, reads. */
static uint32_t read_size(const struct run *run, const struct fetch_op *op)
{
	return op->size ? op->size : word_size(run);
}

static void ask_word(struct run *run, const struct fetch_op *op, enum fetch_task_kind kind,
		     uint64_t vaddr)
{
	struct fetch_task task = { .op = op, .kind = (uint8_t)kind };

	ask(run, &task, vaddr, read_size(run, op), NULL);
}

/* The last op of an arg: put the value where it belongs, or ask for it. */
static void store(struct run *run, const struct fetch_op *op, uint64_t acc)
{
	uint64_t vaddr = acc + (uint64_t)op->imm;
	struct fetch_task task = { .op = op, .text = op->reg };

	switch ((enum fetch_opcode)op->code) {
	case FETCH_STORE_VALUE:
		store_value(run, op, acc);
		break;
	case FETCH_STORE_COMM:
		store_comm(run, op);
		break;
	case FETCH_STORE_FAULT:
		store_fault(run, op);
		break;
	case FETCH_STORE_MEM:
		task.kind = TASK_MEM;
		ask(run, &task, vaddr, op->size * n_elements(op), run->data + op->at);
		break;
	case FETCH_STORE_X87:
		task.kind = TASK_X87;
		ask(run, &task, vaddr, FETCH_X87_SIZE, NULL);
		break;
	case FETCH_STORE_STRING:
		if (op->count == 0) {
			start_text(run, op, op->reg, vaddr);
			break;
		}
		task.kind = TASK_POINTERS;
		ask(run, &task, vaddr, word_size(run) * op->count,
		    &run->scratch->pointers[op->reg]);
		break;
	default:
		break;
	}
}

/* The arg of @op ends without a value. */
static void fail(struct run *run, const struct fetch_op *op)
{
	while (!is_store(op))
		op++;
	if (op->code == FETCH_STORE_STRING)
		store_fault(run, op);
}

/* Has the kernel no such arg? Then it has none of its accidents, either. */
static bool is_of_entry(const struct run *run, const struct fetch_op *op)
{
	while (op > run->program->ops && !is_store(op - 1))
		op--;
	return op->code == FETCH_ENTRY;
}

/* Carry out ops from @op on until the arg is stored or waits for memory. */
static void advance(struct run *run, const struct fetch_op *op, uint64_t acc)
{
	const struct fetch_input *in = run->in;

	for (; !is_store(op); op++) {
		switch ((enum fetch_opcode)op->code) {
		case FETCH_REG:
			acc = in->regs->r[op->reg];
			break;
		case FETCH_IMM:
			acc = (uint64_t)op->imm;
			break;
		case FETCH_FOFF:
			acc = in->hit_vaddr - run->program->offset + (uint64_t)op->imm;
			break;
		case FETCH_DURATION:
			acc = in->duration_ns;
			break;
		case FETCH_SUM:
			acc = sum(in->regs, op);
			break;
		case FETCH_VECTOR:
			acc = in->vectors->v[op->reg];
			break;
		case FETCH_ENTRY:
			if (!in->entry || !(in->entry->known & 1u << op->reg)) {
				fail(run, op);
				return;
			}
			acc = in->entry->value[op->reg];
			break;
		case FETCH_STACK:
			acc = in->regs->r[in->arch->reg.sp];
			ask_word(run, op, TASK_STACK, acc + word_size(run) * (uint64_t)op->imm);
			return;
		case FETCH_DEREF:
			ask_word(run, op, TASK_DEREF, acc + (uint64_t)op->imm);
			return;
		default:
			break;
		}
	}
	store(run, op, acc);
}

/*
 * Some of an array could not be read. Elements are read one by one in the
 * kernel, so those that begin in the next page may be there.
 */
static bool resume_array(struct run *run, const struct fetch_task *task,
			 const struct fetch_span *span)
{
	const struct fetch_op *op = task->op;
	uint8_t *end = run->data + op->at + (size_t)(op->size * n_elements(op));
	uint64_t fault = span->vaddr + span->got;
	uint64_t skip = span->got + PAGE - fault % PAGE;
	uint8_t *buf = span->buf;

	skip = (skip + op->size - 1) / op->size * op->size;
	if (skip >= span->len)
		return false;
	ask(run, task, span->vaddr + skip, (uint32_t)(end - buf - skip), buf + skip);
	return true;
}

/* What is left of a value that could not be read whole is what the kernel leaves. */
static uint32_t kept(const struct run *run, const struct fetch_op *op, uint32_t got)
{
	uint32_t torn = got % op->size, max = run->in->arch->torn_max;

	return max && torn > max ? got - torn + max : got;
}

static void take_mem(struct run *run, const struct fetch_task *task,
		     const struct fetch_span *span)
{
	if (span->got < span->len) {
		uint32_t keep = kept(run, task->op, span->got);

		memset((uint8_t *)span->buf + keep, 0, span->len - keep);
		if (resume_array(run, task, span))
			return;
	}
	if (task->op->bit_width)
		apply_bit_field(run, task->op);
}

/* A pointer that can't be read ends the array: it and those behind stay unset. */
static void take_pointers(struct run *run, const struct fetch_task *task,
			  const struct fetch_span *span)
{
	const struct fetch_op *op = task->op;

	for (uint16_t i = 0; i < op->count; i++) {
		const uint8_t *at = (const uint8_t *)span->buf + word_size(run) * i;
		uint64_t pointer = 0;

		memcpy(&pointer, at, word_size(run));
		if (word_size(run) * (i + 1u) <= span->got)
			start_text(run, op, op->reg + i, pointer);
	}
}

static void take_text(struct run *run, const struct fetch_task *task,
		      const struct fetch_span *span)
{
	struct fetch_text *text = &run->scratch->texts[task->text];
	const uint8_t *nul =
		task->op->bit_width == FETCH_DUMP ? NULL : memchr(span->buf, '\0', span->got);

	if (nul) {
		text->len += (uint16_t)(nul - (const uint8_t *)span->buf + 1);
		text->state = TEXT_ENDED;
		return;
	}
	text->len += (uint16_t)span->got;
	if (span->got == span->len && text->len < text_max(run, task->op))
		ask_text(run, task);
}

static void take(struct run *run, const struct fetch_task *task, const struct fetch_span *span)
{
	switch ((enum fetch_task_kind)task->kind) {
	case TASK_STACK:
		if (span->got == word_size(run))
			advance(run, task->op + 1, task->word[0]);
		else if (task->op->count)
			fail(run, task->op);
		else
			advance(run, task->op + 1, 0);
		break;
	case TASK_DEREF:
		if (span->got == read_size(run, task->op))
			advance(run, task->op + 1, task->word[0]);
		else if (is_of_entry(run, task->op))
			fail(run, task->op);
		break;
	case TASK_MEM:
		take_mem(run, task, span);
		break;
	case TASK_POINTERS:
		take_pointers(run, task, span);
		break;
	case TASK_TEXT:
		take_text(run, task, span);
		break;
	case TASK_X87:
		if (span->got == FETCH_X87_SIZE)
			store_value(run, task->op,
				    float_bits_of_x87(task->word[0], (uint16_t)task->word[1]));
		break;
	}
}

/* Read what is asked for, and what that asks for. */
static void read_batches(struct run *run)
{
	struct fetch_scratch *scratch = run->scratch;
	const struct fetch_memory *memory = run->in->memory;

	while (run->next->n > 0) {
		struct fetch_batch *batch = run->next;

		memory->read(memory->ctx, batch->spans, batch->n);
		run->next = batch == &scratch->batches[0] ? &scratch->batches[1]
							  : &scratch->batches[0];
		run->next->n = 0;
		for (size_t i = 0; i < batch->n; i++)
			take(run, &batch->tasks[i], &batch->spans[i]);
	}
}

int fetch_run(const struct fetch_program *program, const struct fetch_input *in,
	      struct fetch_scratch *scratch, size_t head, uint8_t *data)
{
	const struct fetch_op *op = program->ops, *end = op + program->n_ops;
	struct run run = {
		.program = program,
		.in = in,
		.scratch = scratch,
		.next = &scratch->batches[0],
		.data = data,
	};

	memset(data, 0, program->fixed_size);
	memset(scratch->texts, 0, program->has_strings * sizeof(scratch->texts[0]));
	run.next->n = 0;
	scratch->n_late = 0;
	for (; op < end; op++) {
		advance(&run, op, 0);
		while (!is_store(op))
			op++;
	}
	read_batches(&run);
	start_late(&run);
	read_batches(&run);
	if (program->has_strings == 0)
		return (int)program->fixed_size;
	return fetch_lay_out(program, scratch, head, data);
}

void fetch_run_entry(const struct fetch_program *program, const struct fetch_input *in,
		     struct fetch_scratch *scratch, struct entry_values *ret_values)
{
	uint8_t data[ENTRY_DATA];

	(void)fetch_run(program, in, scratch, 0, data);
	ret_values->known = 0;
	memcpy(ret_values->value, data, sizeof(ret_values->value));
	for (unsigned i = 0; i < ENTRY_VALUES_MAX; i++)
		ret_values->known |= (uint32_t)data[ENTRY_KNOWN + i] << i;
}

struct fetch_scratch *fetch_scratch_new(void)
{
	return malloc(sizeof(struct fetch_scratch));
}

void fetch_scratch_free(struct fetch_scratch *scratch)
{
	free(scratch);
}
