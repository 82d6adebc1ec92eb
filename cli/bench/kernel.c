/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/bench/kernel_priv.h"
#include "engine/base/err.h"

struct kernel {
	const struct kernel_ops *ops;
	void *state;
	char why[UBP_ERR_TEXT_MAX];
};

static int open_with(struct kernel *k, const struct kernel_ops *ops, size_t buffer_bytes,
		     struct ubp_err *err)
{
	k->ops = ops;
	return ops->open(buffer_bytes, &k->state, err);
}

static int open_any(struct kernel *k, size_t buffer_bytes, struct ubp_err *err)
{
	struct ubp_err second;
	int rc = open_with(k, &kernel_tracefs, buffer_bytes, err);

	if (rc == 0)
		return 0;
	(void)snprintf(k->why, sizeof(k->why), "%s", err->text);
	ubp_err_reset(&second);
	if (open_with(k, &kernel_perf, buffer_bytes, &second) == 0) {
		ubp_err_reset(err);
		return 0;
	}
	return ubp_fail(
		err, second.code,
		"no kernel uprobes here (%.300s; %.300s): --kernel none measures ubp alone",
		k->why, second.text);
}

int kernel_open(enum kernel_kind kind, size_t buffer_bytes, struct kernel **ret_kernel,
		struct ubp_err *err)
{
	struct kernel *k;
	int rc;

	*ret_kernel = NULL;
	if (kind == KERNEL_NONE)
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (kind == KERNEL_AUTO)
		rc = open_any(k, buffer_bytes, err);
	else
		rc = open_with(k, kind == KERNEL_PERF ? &kernel_perf : &kernel_tracefs,
			       buffer_bytes, err);
	if (rc < 0)
		free(k);
	else
		*ret_kernel = k;
	return rc;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	k->ops->close(k->state);
	free(k);
}

const char *kernel_name(const struct kernel *k)
{
	return k->ops->name;
}

const char *kernel_why(const struct kernel *k)
{
	return k->why;
}

int kernel_define(struct kernel *k, const struct kernel_probe *probes, size_t n,
		  size_t *ret_bad, struct ubp_err *err)
{
	return k->ops->define(k->state, probes, n, ret_bad, err);
}

int kernel_mark_fd(const struct kernel *k)
{
	return k->ops->mark_fd(k->state);
}

int kernel_on(struct kernel *k, const struct kernel_target *target, struct ubp_err *err)
{
	return k->ops->on(k->state, target, err);
}

int kernel_off(struct kernel *k, struct kernel_counts *ret_counts, struct ubp_err *err)
{
	return k->ops->off(k->state, ret_counts, err);
}

int kernel_reader_fd(const struct kernel *k)
{
	return k->ops->reader_fd(k->state);
}

void kernel_read(struct kernel *k)
{
	k->ops->read(k->state);
}
