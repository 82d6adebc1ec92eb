/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The requests of a host, as calls of the public functions. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/serve_priv.h"
#include "engine/session/state.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"
#include "engine/ubp_whom.h"

/* --- definitions ----------------------------------------------------------------------------- */

static int64_t serve_add(struct served *v, struct ubp_err *err)
{
	uint64_t form = wire_get(&v->in);
	size_t len = 0;
	const char *text =
		form == UBP_FORM_EVENTS ? wire_get_bytes(&v->in, &len) : wire_get_text(&v->in);
	const char *filter = wire_get_text(&v->in);

	serve_take_folder(v, 0);
	if (form == UBP_FORM_EVENTS)
		return ubp_add_events(v->session, text, len, filter, err);
	return form == UBP_FORM_USDT ? ubp_add_usdt(v->session, text, filter, err)
				     : ubp_add(v->session, text, filter, err);
}

static int64_t serve_sample_next(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_sample_next(v->session, wire_get(&v->in));
	return 0;
}

static int64_t serve_only_user(struct served *v, struct ubp_err *err)
{
	return ubp_only_user(v->session, (uid_t)wire_get(&v->in), err);
}

static int64_t serve_files_as(struct served *v, struct ubp_err *err)
{
	return ubp_files_as(v->session, (pid_t)wire_get(&v->in), err);
}

static int64_t serve_only_cgroup(struct served *v, struct ubp_err *err)
{
	return ubp_only_cgroup(v->session, wire_get_text(&v->in), err);
}

static int64_t serve_tell_processes(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_tell_processes(v->session);
	return 0;
}

static int64_t serve_tell_faults(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_tell_faults(v->session);
	return 0;
}

static void set_environment(char *const *words)
{
	(void)clearenv();
	for (; words && *words; words++)
		(void)putenv(*words);
}

/* Descriptors 0, 1 and 2 are the command's until it has begun. */
static int64_t serve_command(struct served *v, struct ubp_err *err)
{
	const char **environment;
	const sigset_t *mask;
	size_t n;
	int rc;

	wire_free(&v->command);
	free(v->argv);
	v->command = v->in;
	v->in = (struct wire){ 0 };
	v->argv = wire_get_texts(&v->command, &n);
	environment = wire_get_texts(&v->command, &n);
	mask = wire_get_bytes(&v->command, &n);
	if (!v->argv || v->command.failed || n != sizeof(*mask)) {
		free(environment);
		return ubp_fail(err, EINVAL, "no command");
	}
	set_environment((char *const *)environment);
	free(environment);
	for (int fd = 0; fd <= 2 && (unsigned)fd < v->fds.n; fd++)
		(void)dup2(v->fds.fd[fd], fd);
	serve_take_folder(v, 3);
	rc = ubp_run_command(v->session, (char *const *)v->argv, err);
	if (rc == 0)
		memcpy(&v->session->command.inherited.mask, mask, sizeof(*mask));
	return rc;
}

static void give_up_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
}

static int64_t serve_start(struct served *v, struct ubp_err *err)
{
	int rc;

	/* Handlers may run before it has begun, and may want one. */
	serve_take_folder(v, 0);
	rc = session_prepare(v->session, err);
	serve_give_folder(v);
	if (rc == 0) {
		v->session->command.inherited.folder = v->fds.n ? v->fds.fd[0] : 0;
		rc = session_begin(v->session, &v->until, err);
	}
	give_up_descriptors();
	return rc;
}

static int64_t serve_stop(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_stop(v->session);
	return 0;
}

/* --- what was defined ------------------------------------------------------------------------ */

static const char *text_of(struct ubp_session *s, enum serve_line line, uint64_t what, size_t i)
{
	switch ((enum apart_text)what) {
	case APART_LISTING:
		return ubp_probe_listing(s, i);
	case APART_GROUP:
		return ubp_probe_group(s, i);
	case APART_EVENT:
		return ubp_probe_event(s, i);
	case APART_PATH:
		return ubp_probe_path(s, i);
	case APART_FORMAT:
		return ubp_probe_format(s, i);
	case APART_EXPLAIN:
		return ubp_probe_explain(s, i);
	case APART_SAMPLE:
		return ubp_probe_sample(s, i);
	case APART_FILTER:
		return ubp_probe_filter(s, i);
	/* Those of one thread alone. */
	case APART_TRIGGER_EXPLAIN:
		return line == SERVE_MAIN && i < ubp_n_probes(s) ? ubp_trigger_explain(s, i)
								 : NULL;
	case APART_TALLY_EXPLAIN:
		return line == SERVE_MAIN && i < ubp_n_probes(s) ? ubp_tally_explain(s, i)
								 : NULL;
	case APART_TEXT_N:
		break;
	}
	return NULL;
}

static int64_t serve_text(struct served *v, struct ubp_err *err)
{
	uint64_t what = wire_get(&v->in), i = wire_get(&v->in);

	(void)err;
	wire_put_text(&v->answer, text_of(v->session, v->line, what, i));
	return 0;
}

static uint64_t number_of(struct ubp_session *s, uint64_t what, size_t i)
{
	switch ((enum apart_number)what) {
	case APART_N_PROBES:
		return ubp_n_probes(s);
	case APART_IS_RETURN:
		return ubp_probe_is_return(s, i);
	case APART_IS_ENABLED:
		return ubp_probe_is_enabled(s, i);
	case APART_NEXT:
		return ubp_probe_next(s, i);
	case APART_STATE:
		return ubp_probe_state(s, i);
	case APART_LEFT_OUT:
		return ubp_probe_left_out(s, i);
	case APART_UNTOLD:
		return ubp_untold(s);
	case APART_IS_DONE:
		return ubp_is_done(s);
	case APART_NUMBER_N:
		break;
	}
	return 0;
}

static int64_t serve_number(struct served *v, struct ubp_err *err)
{
	uint64_t what = wire_get(&v->in), i = wire_get(&v->in);

	(void)err;
	wire_put(&v->answer, number_of(v->session, what, i));
	return 0;
}

static int64_t serve_arg_index(struct served *v, struct ubp_err *err)
{
	size_t i = wire_get(&v->in);

	(void)err;
	return ubp_probe_arg_index(v->session, i, wire_get_text(&v->in));
}

static int64_t serve_for_kernel(struct served *v, struct ubp_err *err)
{
	const char *why, *text = ubp_probe_definition(v->session, wire_get(&v->in), &why);

	(void)err;
	wire_put_text(&v->answer, text);
	wire_put_text(&v->answer, why);
	return 0;
}

static int64_t serve_explain_tracing(struct served *v, struct ubp_err *err)
{
	const char *perhaps, *why = ubp_explain_tracing(v->session, &perhaps);

	(void)err;
	wire_put_text(&v->answer, why);
	wire_put_text(&v->answer, perhaps);
	return 0;
}

static int64_t serve_stats(struct served *v, struct ubp_err *err)
{
	struct ubp_stats stats;

	(void)err;
	ubp_stats(v->session, &stats);
	wire_put_bytes(&v->answer, &stats, sizeof(stats));
	wire_put_text(&v->answer, stats.why_traced);
	wire_put_text(&v->answer, stats.finder);
	wire_put_text(&v->answer, stats.why_skipped);
	return 0;
}

static int64_t serve_probe_stats(struct served *v, struct ubp_err *err)
{
	struct ubp_probe_stats stats;

	(void)err;
	ubp_probe_stats(v->session, wire_get(&v->in), &stats);
	wire_put_bytes(&v->answer, &stats, sizeof(stats));
	wire_put_text(&v->answer, stats.why_unanswered);
	wire_put_text(&v->answer, stats.no_jump);
	return 0;
}

static int64_t serve_command_status(struct served *v, struct ubp_err *err)
{
	int status = 0;
	bool has_ended = ubp_command_status(v->session, &status);

	(void)err;
	wire_put(&v->answer, (uint64_t)status);
	return has_ended;
}

/* --- changes ---------------------------------------------------------------------------------- */

static int64_t serve_enable(struct served *v, struct ubp_err *err)
{
	size_t i = wire_get(&v->in);

	return ubp_probe_enable(v->session, i, wire_get(&v->in), err);
}

static int64_t serve_latency(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_set_latency(v->session, wire_get(&v->in));
	return 0;
}

static void take_folder(void *ctx)
{
	serve_take_folder(ctx, 0);
}

static void give_folder(void *ctx)
{
	serve_give_folder(ctx);
}

static int64_t serve_probes_add(struct served *v, struct ubp_err *err)
{
	/* While it waits, a handler may want to do the same, and the tracing thread is in that. */
	const struct live_folder folder = { take_folder, give_folder, v };
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	size_t n, first = 0, n_new = 0;
	const char **texts;
	int rc;

	opt.form = (enum ubp_form)wire_get(&v->in);
	opt.filter = wire_get_text(&v->in);
	opt.disabled = wire_get(&v->in);
	opt.cookie = (void *)(uintptr_t)wire_get(&v->in);
	opt.handler = serve_handler_of(wire_get(&v->in));
	opt.may_change = wire_get(&v->in);
	texts = wire_get_texts(&v->in, &n);
	if (opt.handler && !v->session->tracing.hits)
		rc = ubp_fail(err, EPROTO, "there is no host for handlers");
	else
		rc = live_probes_add(v->session, texts, n, &opt, &folder, &first, &n_new, err);
	free(texts);
	wire_put(&v->answer, first);
	wire_put(&v->answer, n_new);
	return rc;
}

static int64_t serve_probes_remove(struct served *v, struct ubp_err *err)
{
	size_t len;
	const size_t *numbers = wire_get_bytes(&v->in, &len);

	return ubp_probes_remove(v->session, numbers, len / sizeof(*numbers), err);
}

static int64_t serve_set_filter(struct served *v, struct ubp_err *err)
{
	size_t number = wire_get(&v->in);

	return ubp_probe_set_filter(v->session, number, wire_get_text(&v->in), err);
}

static int64_t serve_add_pid(struct served *v, struct ubp_err *err)
{
	return ubp_add_pid(v->session, (pid_t)wire_get(&v->in), err);
}

static int64_t serve_remove_pid(struct served *v, struct ubp_err *err)
{
	return ubp_remove_pid(v->session, (pid_t)wire_get(&v->in), err);
}

serve_fn *serve_call(uint64_t op)
{
	static serve_fn *const calls[APART_OP_N] = {
		[APART_ADD] = serve_add,
		[APART_COMMAND] = serve_command,
		[APART_START] = serve_start,
		[APART_STOP] = serve_stop,
		[APART_PULL] = serve_pull,
		[APART_TEXT] = serve_text,
		[APART_NUMBER] = serve_number,
		[APART_ARG_INDEX] = serve_arg_index,
		[APART_FOR_KERNEL] = serve_for_kernel,
		[APART_EXPLAIN_TRACING] = serve_explain_tracing,
		[APART_ENABLE] = serve_enable,
		[APART_TELL_PROCESSES] = serve_tell_processes,
		[APART_TELL_FAULTS] = serve_tell_faults,
		[APART_SAMPLE_NEXT] = serve_sample_next,
		[APART_ONLY_USER] = serve_only_user,
		[APART_ONLY_CGROUP] = serve_only_cgroup,
		[APART_FILES_AS] = serve_files_as,
		[APART_LATENCY] = serve_latency,
		[APART_PROBES_ADD] = serve_probes_add,
		[APART_PROBES_REMOVE] = serve_probes_remove,
		[APART_SET_FILTER] = serve_set_filter,
		[APART_ADD_PID] = serve_add_pid,
		[APART_REMOVE_PID] = serve_remove_pid,
		[APART_STATS] = serve_stats,
		[APART_PROBE_STATS] = serve_probe_stats,
		[APART_PROBES] = serve_probes,
		[APART_NAMES] = serve_names,
		[APART_COMMAND_STATUS] = serve_command_status,
		[APART_TRIGGER] = serve_trigger,
		[APART_TRIGGER_TEXT] = serve_trigger_text,
		[APART_TRIGGER_ROWS] = serve_trigger_rows,
		[APART_TRIGGER_ERRORS] = serve_trigger_errors,
		[APART_TALLY] = serve_tally,
		[APART_TALLY_EVENTS] = serve_tally_events,
		[APART_TALLY_TAKE] = serve_tally_take,
		[APART_HEAP] = serve_heap,
		[APART_HEAP_TAKE] = serve_heap_take,
		[APART_RECORD] = serve_record,
		[APART_RECORD_NEXT] = serve_record_next,
		[APART_RECORD_END] = serve_record_end,
		[APART_CHANGES] = serve_changes,
		[APART_SET_HANDLER] = serve_set_handler,
		[APART_HANDLER_STATS] = serve_handler_stats,
		[APART_HITS] = serve_hits,
		[APART_HIT_VECTOR] = serve_hit_vector,
		[APART_HIT_READ] = serve_hit_read,
		[APART_HIT_WRITE] = serve_hit_write,
		[APART_HIT_SKIP] = serve_hit_skip,
		[APART_HIT_STACK] = serve_hit_stack,
		[APART_VERDICT] = serve_verdict,
	};

	return op < APART_OP_N ? calls[op] : NULL;
}
