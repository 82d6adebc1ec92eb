/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/hot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/bench/figures.h"
#include "cli/bench/program.h"
#include "cli/bench/report.h"
#include "cli/bench/session.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"
#include "engine/ubp_stats.h"

#define QUEUE_BYTES (64UL * 1024 * 1024)
#define RING_BYTES  (4UL * 1024 * 1024)
#define PLACES_MAX  20 /* shown as text */

/* A probe; what was counted is of all rounds that had it: patterns may stand for more in one. */
struct place {
	char *event; /* NULL: no memory for that */
	bool is_return;
	uint64_t hits, stops, why[UBP_STOPS];
	char *no_jump; /* NULL: all are jumps */
};

/* Seconds of one clock: of the rounds without probes and with them, and the first by the second. */
struct times {
	struct bench_series bare, probed, speed;
};

struct hot {
	const struct bench_options *opt;
	FILE *out;
	struct bench_run run;
	struct bench_session now; /* of this round */
	struct times wall, user;
	struct place *places; /* in the end those with the most stops first */
	size_t n_places;
	uint64_t hits, stops[UBP_STOPS], all_stops; /* of all rounds */
};

/* --- a run ---------------------------------------------------------------------------- */

static int add_event(struct ubp_session *session, const char *text, const char *filter,
		     struct ubp_err *err)
{
	return ubp_add_events(session, text, strlen(text), filter, err);
}

static int add_defaults(struct ubp_session *session, const char *command, struct ubp_err *err)
{
	int rc = 0;

	for (const char *kind = "pr"; *kind && rc == 0; kind++) {
		char *text;

		if (asprintf(&text, "%c:%s:*", *kind, command) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		rc = add_event(session, text, NULL, err);
		free(text);
	}
	return rc;
}

static int add_events(const struct hot *hot, struct ubp_err *err)
{
	const struct bench_options *o = hot->opt;
	int rc = 0;

	if (!o->n_events)
		return add_defaults(hot->now.session, o->command[0], err);
	for (size_t i = 0; i < o->n_events && rc == 0; i++)
		rc = add_event(hot->now.session, o->events[i].text, o->events[i].filter, err);
	return rc;
}

/* Of all children that were waited for up to now, and of those that these waited for. */
static double user_seconds(void)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

struct seconds {
	double wall, user;
};

static int run_bare(struct hot *hot, int *ret_status, struct seconds *ret_bare,
		    struct ubp_err *err)
{
	struct bench_program program;
	double ns = 0, before = user_seconds();
	int rc = bench_program_prepare(hot->run.argv, -1, &program, err);

	if (rc == 0)
		rc = bench_program_run(&program, hot->run.signal_fd, NULL, ret_status, &ns,
				       err);
	*ret_bare = (struct seconds){ ns / 1e9, user_seconds() - before };
	bench_program_end(&program);
	return rc;
}

static int run_probed(struct hot *hot, struct seconds *ret_probed, struct ubp_err *err)
{
	struct bench_figures figures = { 0 };
	double before;
	int rc = add_events(hot, err);

	before = user_seconds();
	if (rc == 0)
		rc = bench_session_run(&hot->now, &hot->run, err);
	*ret_probed = (struct seconds){ hot->run.ns / 1e9, user_seconds() - before };
	if (rc == 0)
		rc = bench_session_end(&hot->now, &figures, err);
	hot->hits += figures.hits;
	return rc;
}

static int add_times(struct times *times, double bare, double probed, struct ubp_err *err)
{
	int rc = bench_series_add(&times->bare, bare, err);

	if (rc == 0)
		rc = bench_series_add(&times->probed, probed, err);
	return rc < 0 ? rc
		      : bench_series_add(&times->speed, probed > 0 ? bare / probed : 0, err);
}

static int add_place(struct hot *hot, size_t probe, struct ubp_err *err)
{
	struct ubp_session *session = hot->now.session;
	struct ubp_probe_stats stats = { 0 };
	struct place *place;

	if (VEC_FIT(hot->places, hot->n_places + 1) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	place = &hot->places[hot->n_places++];
	ubp_probe_stats(session, probe, &stats);
	*place = (struct place){ .event = strdup(ubp_probe_event(session, probe)),
				 .is_return = ubp_probe_is_return(session, probe),
				 .hits = stats.hits,
				 .no_jump = stats.no_jump ? strdup(stats.no_jump) : NULL };
	if (!place->event || !place->no_jump != !stats.no_jump)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (unsigned why = 0; why < UBP_STOPS; why++) {
		place->why[why] = stats.stops[why];
		place->stops += stats.stops[why];
		hot->stops[why] += stats.stops[why];
		hot->all_stops += stats.stops[why];
	}
	return 0;
}

static void place_free(struct place *place)
{
	free(place->event);
	free(place->no_jump);
}

static int by_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->is_return != y->is_return ? x->is_return - y->is_return
					    : strcmp(x->event, y->event);
}

static int by_stops(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->stops != y->stops)
		return x->stops < y->stops ? 1 : -1;
	return by_name(a, b);
}

/* @more, of another round, is counted with @place. */
static void merge(struct place *place, struct place *more)
{
	place->hits += more->hits;
	place->stops += more->stops;
	for (unsigned why = 0; why < UBP_STOPS; why++)
		place->why[why] += more->why[why];
	if (!place->no_jump) {
		place->no_jump = more->no_jump;
		more->no_jump = NULL;
	}
	place_free(more);
}

/* The places of this round join those of the rounds before. */
static int collect(struct hot *hot, struct ubp_err *err)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < ubp_n_probes(hot->now.session) && rc == 0; i++)
		rc = add_place(hot, i, err);
	if (rc < 0)
		return rc;
	if (hot->n_places)
		qsort(hot->places, hot->n_places, sizeof(*hot->places), by_name);
	for (size_t i = 0; i < hot->n_places; i++)
		if (n && by_name(&hot->places[n - 1], &hot->places[i]) == 0)
			merge(&hot->places[n - 1], &hot->places[i]);
		else
			hot->places[n++] = hot->places[i];
	hot->n_places = n;
	return 0;
}

static int one_round(struct hot *hot, struct ubp_err *err)
{
	static const struct bench_room room = { .queue = QUEUE_BYTES, .ring = RING_BYTES };
	struct seconds bare = { 0 }, probed = { 0 };
	int bare_status = 0, rc = run_bare(hot, &bare_status, &bare, err);

	if (rc < 0)
		return rc;
	bench_session_close(&hot->now);
	rc = bench_session_open(&hot->now, UBP_MODE_AUTO, 0, &room, false, err);
	if (rc == 0)
		rc = run_probed(hot, &probed, err);
	if (rc == 0 && hot->run.status != bare_status)
		rc = ubp_fail(err, EPROTO,
			      "the command ended with %d, not %d as without probes",
			      hot->run.status, bare_status);
	if (rc == 0)
		rc = collect(hot, err);
	if (rc == 0)
		rc = add_times(&hot->wall, bare.wall, probed.wall, err);
	return rc < 0 ? rc : add_times(&hot->user, bare.user, probed.user, err);
}

static int all_rounds(struct hot *hot, struct ubp_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < hot->opt->rounds && rc == 0; i++)
		rc = one_round(hot, err);
	if (rc == 0 && hot->n_places)
		qsort(hot->places, hot->n_places, sizeof(*hot->places), by_stops);
	return rc;
}

/* --- as text ---------------------------------------------------------------------------- */

static double percent(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

static void print_place(const struct hot *hot, const struct place *place)
{
	char *shown = escape_line(place->event);

	fprintf(hot->out, "  %c %-40s %12" PRIu64 " %12" PRIu64 " ",
		place->is_return ? 'r' : 'p', shown ? shown : "", place->hits, place->stops);
	free(shown);
	for (unsigned why = 0; why < UBP_STOPS; why++)
		if (place->why[why])
			fprintf(hot->out, " %s:%" PRIu64, ubp_stop_name(why), place->why[why]);
	fprintf(hot->out, "%s%s\n", place->no_jump ? "  no jump: " : "",
		place->no_jump ? place->no_jump : "");
}

static void print_times(const struct hot *hot, const char *clock, const struct times *times)
{
	fprintf(hot->out, "%-10s %10.3f s bare, %10.3f s probed: %.1f %% of its speed", clock,
		bench_median(&times->bare), bench_median(&times->probed),
		100 * bench_median(&times->speed));
	if (times->speed.n > 1)
		fprintf(hot->out, " (%.1f-%.1f, %zu rounds)", 100 * bench_min(&times->speed),
			100 * bench_max(&times->speed), times->speed.n);
	fputc('\n', hot->out);
}

static void print(const struct hot *hot)
{
	size_t shown = 0;

	fprintf(hot->out, "%zu probes, %" PRIu64 " hits, %" PRIu64 " stops: %.3f %% of hits\n",
		hot->n_places, hot->hits, hot->all_stops, percent(hot->all_stops, hot->hits));
	print_times(hot, "wall time", &hot->wall);
	print_times(hot, "user time", &hot->user);
	fprintf(hot->out, "stopped, because\n");
	for (unsigned why = 0; why < UBP_STOPS; why++)
		if (hot->stops[why])
			fprintf(hot->out, "  %-42s %12" PRIu64 " %9.3f %%\n",
				ubp_stop_name(why), hot->stops[why],
				percent(hot->stops[why], hot->hits));
	fprintf(hot->out, "%-44s %12s %12s\n", "most stops at", "hits", "stops");
	for (; shown < hot->n_places && shown < PLACES_MAX && hot->places[shown].stops; shown++)
		print_place(hot, &hot->places[shown]);
}

/* --- JSON ------------------------------------------------------------------------------- */

static json_t *stops_json(const uint64_t stops[UBP_STOPS])
{
	json_t *json = json_object();

	for (unsigned why = 0; why < UBP_STOPS; why++)
		if (stops[why])
			(void)json_object_set_new(json, ubp_stop_name(why),
						  json_integer((json_int_t)stops[why]));
	return json;
}

static json_t *place_json(const struct place *place)
{
	json_t *name = json_string(place->event);

	return json_pack("{s:s, s:o, s:I, s:o, s:s?}", "type", place->is_return ? "r" : "p",
			 "event", name ? name : json_string("?"), "hits",
			 (json_int_t)place->hits, "stops", stops_json(place->why), "no_jump",
			 place->no_jump);
}

static json_t *times_json(const struct times *times)
{
	return json_pack("{s:o, s:o, s:o}", "bare_s", bench_series_json(&times->bare),
			 "probed_s", bench_series_json(&times->probed), "speed",
			 bench_series_json(&times->speed));
}

static int write_json(const struct hot *hot)
{
	json_t *places = json_array();
	json_t *json = json_pack(
		"{s:s, s:s, s:{s:I, s:I, s:o, s:f, s:f, s:o, s:o, s:o}}", "schema",
		"ubp-bench/1", "version", UBP_VERSION, "hot", "probes",
		(json_int_t)hot->n_places, "hits", (json_int_t)hot->hits, "stops",
		stops_json(hot->stops), "bare_s", bench_median(&hot->wall.bare), "probed_s",
		bench_median(&hot->wall.probed), "wall", times_json(&hot->wall), "user",
		times_json(&hot->user), "places", places);
	int status;

	for (size_t i = 0; i < hot->n_places && hot->places[i].stops; i++)
		(void)json_array_append_new(places, place_json(&hot->places[i]));
	status = json ? bench_json_write(json, hot->opt->json, hot->out)
		      : cli_error("out of memory");
	json_decref(json);
	return status;
}

/* --- all of it -------------------------------------------------------------------------- */

static int show(const struct hot *hot)
{
	const char *json = hot->opt->json;

	if (!json || strcmp(json, "-") != 0)
		print(hot);
	return json ? write_json(hot) : CLI_OK;
}

static void times_free(struct times *times)
{
	bench_series_free(&times->bare);
	bench_series_free(&times->probed);
	bench_series_free(&times->speed);
}

int bench_hot(const struct bench_options *opt, int signal_fd, FILE *out)
{
	struct hot hot = {
		.opt = opt,
		.out = out,
		.run = { .argv = opt->command, .signal_fd = signal_fd, .takes = true }
	};
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	status = all_rounds(&hot, &err) < 0 ? cli_error_record(&err) : show(&hot);
	bench_session_close(&hot.now);
	times_free(&hot.wall);
	times_free(&hot.user);
	for (size_t i = 0; i < hot.n_places; i++)
		place_free(&hot.places[i]);
	free(hot.places);
	return status;
}
