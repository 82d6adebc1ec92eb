/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_sort.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/filter_program.h"
#include "engine/trigger/field.h"

/* What is sorted by. */
struct order {
	const struct hist *hist;
	const struct hist_field *key; /* NULL: a value */
	size_t value;
	bool descending;
};

static int compare_keys(const struct order *order, const struct hist_entry *a,
			const struct hist_entry *b)
{
	const struct hist_field *key = order->key;
	const struct trigger_field *field = key->field;
	unsigned size = field && !(key->flags & HIST_CPU) ? field->size : key->size;
	bool is_signed = field ? field->is_signed : key->is_signed;
	uint64_t x, y;

	if (key->flags & HIST_STACK)
		return 0;
	if (field && (field->form == FIELD_TEXT || field->form == FIELD_FIXED_TEXT))
		return strncmp((const char *)a->key + key->offset,
			       (const char *)b->key + key->offset, SYNTH_TEXT_MAX);
	memcpy(&x, a->key + key->offset, sizeof(x));
	memcpy(&y, b->key + key->offset, sizeof(y));
	x = filter_extend(x, size, is_signed);
	y = filter_extend(y, size, is_signed);
	if (is_signed)
		return ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
	return (x > y) - (x < y);
}

static int compare(const struct order *order, const struct hist_entry *a,
		   const struct hist_entry *b)
{
	int ret;

	if (order->key)
		ret = compare_keys(order, a, b);
	else
		ret = (a->sums[order->value] > b->sums[order->value]) -
		      (a->sums[order->value] < b->sums[order->value]);
	return order->descending ? -ret : ret;
}

static void swap(struct hist_entry **e, size_t a, size_t b)
{
	struct hist_entry *entry = e[a];

	e[a] = e[b];
	e[b] = entry;
}

/* Put [a] of the heap of @n where it belongs. */
static void sift(const struct order *order, struct hist_entry **e, size_t a, size_t n)
{
	size_t b = a;

	while (2 * b + 2 < n)
		b = compare(order, e[2 * b + 1], e[2 * b + 2]) > 0 ? 2 * b + 1 : 2 * b + 2;
	if (2 * b + 2 == n)
		b = 2 * b + 1;
	while (b != a && compare(order, e[a], e[b]) >= 0)
		b = (b - 1) / 2;
	for (size_t place = b; b != a;) {
		b = (b - 1) / 2;
		swap(e, b, place);
	}
}

/* The heap sort of Linux 6.12: not stable. The two largest leave the heap at a time. */
static void heap_sort(const struct order *order, struct hist_entry **e, size_t n)
{
	size_t a = n / 2;
	unsigned shift = 0;

	if (n < 2)
		return;
	for (;;) {
		if (a)
			a -= (size_t)1 << shift;
		else if (n > 3) {
			swap(e, 0, --n);
			shift = compare(order, e[1], e[2]) <= 0;
			a = (size_t)1 << shift;
			swap(e, a, --n);
		} else
			break;
		sift(order, e, a, n);
	}
	swap(e, 0, --n);
	if (n == 2 && compare(order, e[0], e[1]) > 0)
		swap(e, 0, 1);
}

static int by_bytes(const void *a, const void *b, void *size)
{
	return memcmp((*(struct hist_entry *const *)a)->key,
		      (*(struct hist_entry *const *)b)->key, *(size_t *)size);
}

static struct order order_of(const struct hist *hist, const struct hist_sort *sort)
{
	struct order order = { .hist = hist,
			       .value = sort->value,
			       .descending = sort->descending };
	unsigned left = sort->value;

	for (size_t i = 0; i < hist->n_fields; i++)
		if (!(hist->fields[i]->flags & HIST_VAR) && left-- == 0) {
			order.key = hist->fields[i]->flags & HIST_KEY ? hist->fields[i] : NULL;
			break;
		}
	return order;
}

struct hist_entry **hist_sorted(const struct hist *hist)
{
	struct order first = order_of(hist, &hist->sorts[0]), second;
	size_t n = hist->map.n, size = hist->key_size;
	struct hist_entry **e = calloc(n, sizeof(*e));

	if (!e || !n) {
		free(e);
		return NULL;
	}
	memcpy(e, hist->map.entries, n * sizeof(*e));
	qsort_r(e, n, sizeof(*e), by_bytes, &size);
	heap_sort(&first, e, n);
	if (hist->n_sorts < 2)
		return e;
	second = order_of(hist, &hist->sorts[1]);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && compare(&first, e[from], e[to]) == 0;)
			to++;
		heap_sort(&second, e + from, to - from);
	}
	return e;
}
