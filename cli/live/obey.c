/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/obey.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/control.h"
#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/stats.h"
#include "cli/common/tally.h"
#include "cli/common/trace_options.h"
#include "cli/live/keep.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"
#include "engine/base/vec.h"
#include "engine/ubp_live.h"

#define WORDS_MAX 4096

struct words {
	const char *v[WORDS_MAX];
	size_t n;
};

/* False: the request is not whole. */
static bool split(struct words *words, const char *request, size_t len)
{
	const char *end = request + len;

	words->n = 0;
	if (!len || end[-1])
		return false;
	for (const char *p = request; p < end; p += strlen(p) + 1) {
		if (words->n == WORDS_MAX)
			return false;
		words->v[words->n++] = p;
	}
	return words->n > 1 && strcmp(words->v[--words->n], OBEY_LAST) == 0;
}

/* --- which probes ------------------------------------------------------------------------- */

struct numbers {
	size_t *v, n;
};

/* All that match; none is an error. */
static int find(struct live_session *live, const char *glob, struct numbers *ret)
{
	struct ubp_session *s = live->session;

	*ret = (struct numbers){ 0 };
	for (size_t i = ubp_probe_next(s, 0); i != SIZE_MAX; i = ubp_probe_next(s, i + 1)) {
		if (!control_matches(s, i, glob))
			continue;
		if (VEC_FIT(ret->v, ret->n + 1) < 0) {
			free(ret->v);
			return cli_error("out of memory");
		}
		ret->v[ret->n++] = i;
	}
	return ret->n ? CLI_OK : control_no_event(s, "", glob);
}

static void list_one(struct live_session *live, size_t i, FILE *out)
{
	const char *filter = ubp_probe_filter(live->session, i);
	bool is_out = ubp_probe_state(live->session, i) == UBP_PROBE_TAKEN_OUT;
	/* As in a message: its strings have any bytes. */
	char *shown = filter ? escape_line(filter) : NULL;

	(void)fprintf(out, "%-4s %s%s%s\n",
		      is_out                                   ? "out"
		      : ubp_probe_is_enabled(live->session, i) ? "on"
							       : "off",
		      ubp_probe_listing(live->session, i), filter ? " if " : "",
		      shown ? shown : "");
	free(shown);
}

/* --- what is done -------------------------------------------------------------------------- */

static int check_addable(const struct trace_options *o)
{
	if (tally_is_wanted(&o->tally) || o->triggers.n || heap_is_wanted(o))
		return cli_error("that session counts its hits: no probes can be added to it");
	if (o->budget.sample)
		return cli_error("that session samples its hits: no probes can be added to it");
	return CLI_OK;
}

/* As if the command had been given in that folder. The former one, or -1. */
static int move_to(const char *folder)
{
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here >= 0 && chdir(folder) == 0)
		return here;
	(void)cli_error("%s: %s", folder, strerror(errno));
	if (here >= 0)
		(void)close(here);
	return -1;
}

static void move_back(int here)
{
	if (fchdir(here) < 0)
		cli_warn(NULL, "it cannot go back to its folder");
	(void)close(here);
}

/* The definitions from word @at on that have the same filter: they are planted in one change. */
static void take_alike(const struct words *words, size_t at, struct words *ret_alike)
{
	ret_alike->n = 0;
	for (size_t i = at; i < words->n && strcmp(words->v[i + 1], words->v[at + 1]) == 0;
	     i += 2)
		ret_alike->v[ret_alike->n++] = words->v[i];
}

/* All or none. */
static int add_each(struct live_session *live, const struct words *words, FILE *out)
{
	bool usdt = strcmp(words->v[2], "usdt") == 0;
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	struct numbers added = { 0 };
	struct ubp_err err;
	struct words alike;
	int rc = 0;

	opt.form = usdt ? UBP_FORM_USDT : UBP_FORM_DEFINITION;
	ubp_err_reset(&err);
	for (size_t i = 3; i < words->n && rc == 0; i += 2 * alike.n) {
		size_t first, n = 0;

		take_alike(words, i, &alike);
		opt.filter = *words->v[i + 1] ? words->v[i + 1] : NULL;
		rc = ubp_probes_add(live->session, alike.v, alike.n, &opt, &first, &n, &err);
		if (rc == 0 && VEC_FIT(added.v, added.n + n) < 0)
			rc = ubp_fail(&err, ENOMEM, "out of memory");
		for (size_t k = 0; k < n && rc == 0; k++)
			added.v[added.n++] = first + k;
	}
	if (rc < 0) {
		(void)cli_error_record(&err);
		if (added.n)
			(void)ubp_probes_remove(live->session, added.v, added.n, &err);
	}
	for (size_t i = 0; i < added.n && rc == 0; i++)
		list_one(live, added.v[i], out);
	free(added.v);
	return rc < 0 ? CLI_FAILED : CLI_OK;
}

static int do_add(struct live_session *live, const struct words *words, FILE *out)
{
	int here, status = check_addable(live->options);

	if (status != CLI_OK)
		return status;
	here = move_to(words->v[1]);
	if (here < 0)
		return CLI_FAILED;
	status = add_each(live, words, out);
	move_back(here);
	return status;
}

static int do_remove(struct live_session *live, const struct words *words, FILE *out)
{
	struct numbers numbers;
	struct ubp_err err;
	int status = find(live, words->v[1], &numbers);

	(void)out;
	ubp_err_reset(&err);
	if (status == CLI_OK &&
	    ubp_probes_remove(live->session, numbers.v, numbers.n, &err) < 0)
		status = cli_error_record(&err);
	if (status == CLI_OK || numbers.n)
		free(numbers.v);
	return status;
}

static int switch_each(struct live_session *live, const char *glob, bool on)
{
	long n = control_enable(live->session, *glob ? glob : NULL, on);

	if (n == 0 && *glob)
		return control_no_event(live->session, "", glob);
	return n < 0 ? CLI_FAILED : CLI_OK;
}

static int do_enable(struct live_session *live, const struct words *words, FILE *out)
{
	(void)out;
	return switch_each(live, words->v[1], true);
}

static int do_disable(struct live_session *live, const struct words *words, FILE *out)
{
	(void)out;
	return switch_each(live, words->v[1], false);
}

static void forget_texts(char **texts, size_t n)
{
	for (size_t i = 0; texts && i < n; i++)
		free(texts[i]);
	free(texts);
}

/* Their filters as they are, NULL for none. NULL: out of memory. */
static char **keep_filters(struct live_session *live, const struct numbers *numbers)
{
	char **texts = calloc(numbers->n, sizeof(*texts));

	for (size_t i = 0; texts && i < numbers->n; i++) {
		const char *filter = ubp_probe_filter(live->session, numbers->v[i]);

		if (!filter)
			continue;
		texts[i] = strdup(filter);
		if (texts[i])
			continue;
		forget_texts(texts, i);
		return NULL;
	}
	return texts;
}

/* All or none. */
static int set_filters(struct live_session *live, const struct numbers *numbers,
		       const char *filter)
{
	char **before = keep_filters(live, numbers);
	struct ubp_err err;
	int status = CLI_OK;
	size_t n = 0;

	if (!before)
		return cli_error("out of memory");
	ubp_err_reset(&err);
	while (n < numbers->n &&
	       ubp_probe_set_filter(live->session, numbers->v[n], filter, &err) == 0)
		n++;
	if (n < numbers->n)
		status = cli_error_record(&err);
	while (status != CLI_OK && n--)
		if (ubp_probe_set_filter(live->session, numbers->v[n], before[n], &err) < 0)
			(void)cli_error_record(&err);
	forget_texts(before, numbers->n);
	return status;
}

static int do_filter(struct live_session *live, const struct words *words, FILE *out)
{
	const char *filter = strcmp(words->v[2], "0") == 0 ? NULL : words->v[2];
	struct numbers numbers;
	int status = find(live, words->v[1], &numbers);

	(void)out;
	if (status != CLI_OK)
		return status;
	status = set_filters(live, &numbers, filter);
	free(numbers.v);
	return status;
}

static int do_list(struct live_session *live, const struct words *words, FILE *out)
{
	struct ubp_session *s = live->session;

	(void)words;
	for (size_t i = ubp_probe_next(s, 0); i != SIZE_MAX; i = ubp_probe_next(s, i + 1))
		list_one(live, i, out);
	return CLI_OK;
}

static int do_stats(struct live_session *live, const struct words *words, FILE *out)
{
	FILE *before = cli_messages_to(out);

	(void)words;
	cli_print_stats(live->session, *live->n_dropped);
	(void)cli_messages_to(before);
	return CLI_OK;
}

static int do_dump(struct live_session *live, const struct words *words, FILE *out)
{
	int status, here = move_to(words->v[1]);

	(void)out;
	if (here < 0)
		return CLI_FAILED;
	status = keep_dump(live->session, live->options, words->v[2]);
	move_back(here);
	return status;
}

/* Who it is, for lists of sessions. */
static int do_hello(struct live_session *live, const struct words *words, FILE *out)
{
	struct ubp_session *s = live->session;
	size_t n = 0;

	(void)words;
	for (size_t i = ubp_probe_next(s, 0); i != SIZE_MAX; i = ubp_probe_next(s, i + 1))
		n++;
	(void)fprintf(out, "%s %d, %zu probe%s\n", cli_program, (int)getpid(), n,
		      n == 1 ? "" : "s");
	return CLI_OK;
}

static int do_end(struct live_session *live, const struct words *words, FILE *out)
{
	(void)live;
	(void)words;
	(void)out;
	return CLI_OK;
}

static const struct {
	const char *name;
	size_t n, n_most; /* words, with the first */
	int (*run)(struct live_session *live, const struct words *words, FILE *out);
} acts[] = {
	{ "add", 5, WORDS_MAX, do_add }, { "remove", 2, 2, do_remove },
	{ "enable", 2, 2, do_enable },   { "disable", 2, 2, do_disable },
	{ "filter", 3, 3, do_filter },   { "list", 1, 1, do_list },
	{ "stats", 1, 1, do_stats },     { "dump", 3, 3, do_dump },
	{ "hello", 1, 1, do_hello },     { "end", 1, 1, do_end },
};

static int act(struct live_session *live, const struct words *words, FILE *out, bool *ret_end)
{
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (strcmp(acts[i].name, words->v[0]) != 0)
			continue;
		if (words->n < acts[i].n || words->n > acts[i].n_most)
			break;
		if (acts[i].run == do_add && words->n % 2 == 0)
			break;
		*ret_end = acts[i].run == do_end;
		return acts[i].run(live, words, out);
	}
	return cli_error("it does not know what it is asked: is it of another version?");
}

/* --- the answer ---------------------------------------------------------------------------- */

/* All of it, or NULL. */
static char *join(int status, const char *out, size_t out_len, const char *said,
		  size_t said_len, size_t *ret_len)
{
	char *answer = malloc(2 + out_len + 1 + said_len + 1), *p = answer;

	if (!answer)
		return NULL;
	*p++ = (char)('0' + status);
	*p++ = '\0';
	p = (char *)mempcpy(p, out, out_len + 1);
	p = (char *)mempcpy(p, said, said_len + 1);
	*ret_len = (size_t)(p - answer);
	return answer;
}

char *live_obey(struct live_session *live, const char *request, size_t len, size_t *ret_len,
		bool *ret_end)
{
	char *text = NULL, *said_text = NULL, *answer = NULL;
	size_t text_len = 0, said_len = 0;
	FILE *out = open_memstream(&text, &text_len);
	FILE *said = open_memstream(&said_text, &said_len), *before;
	struct words words;
	int status;

	*ret_end = false;
	if (out && said) {
		before = cli_messages_to(said);
		status = split(&words, request, len) ? act(live, &words, out, ret_end)
						     : cli_error("a request was cut short");
		(void)cli_messages_to(before);
		if (fflush(out) == 0 && fflush(said) == 0)
			answer = join(status, text, text_len, said_text, said_len, ret_len);
	}
	if (out)
		(void)fclose(out);
	if (said)
		(void)fclose(said);
	free(text);
	free(said_text);
	return answer;
}
