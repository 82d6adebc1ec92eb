/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/hot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/program.h"
#include "cli/bench/report.h"
#include "cli/bench/session.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"
#include "engine/ubp_stats.h"

#define QUEUE_BYTES (64UL * 1024 * 1024)
#define RING_BYTES  (4UL * 1024 * 1024)
#define PLACES_MAX  20 /* shown as text */

struct place {
	size_t probe; /* of the session */
	uint64_t stops;
	struct ubp_probe_stats stats;
};

struct hot {
	const struct bench_options *opt;
	FILE *out;
	struct bench_run run;
	double bare_ns;
	struct ubp_session *session;
	struct place *places; /* one for each probe, those with the most stops first */
	size_t n_places;
	uint64_t hits, stops[UBP_STOPS], all_stops;
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

static int add_events(struct hot *hot, struct ubp_err *err)
{
	const struct bench_options *o = hot->opt;
	int rc = 0;

	if (!o->n_events)
		return add_defaults(hot->session, o->command[0], err);
	for (size_t i = 0; i < o->n_events && rc == 0; i++)
		rc = add_event(hot->session, o->events[i].text, o->events[i].filter, err);
	return rc;
}

static int run_bare(struct hot *hot, int *ret_status, struct ubp_err *err)
{
	struct bench_program program;
	int rc = bench_program_prepare(hot->run.argv, -1, &program, err);

	if (rc == 0)
		rc = bench_program_run(&program, hot->run.signal_fd, NULL, ret_status,
				       &hot->bare_ns, err);
	bench_program_end(&program);
	return rc;
}

static int run_probed(struct hot *hot, struct bench_session *s, struct ubp_err *err)
{
	struct bench_figures figures = { 0 };
	int bare_status, rc = run_bare(hot, &bare_status, err);

	if (rc == 0)
		rc = add_events(hot, err);
	if (rc == 0)
		rc = bench_session_run(s, &hot->run, err);
	if (rc == 0)
		rc = bench_session_end(s, &figures, err);
	if (rc == 0 && hot->run.status != bare_status)
		rc = ubp_fail(err, EPROTO,
			      "the command ended with %d, not %d as without probes",
			      hot->run.status, bare_status);
	hot->hits = figures.hits;
	return rc;
}

/* --- what it has come to --------------------------------------------------------------- */

static int by_stops(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->stops != y->stops)
		return x->stops < y->stops ? 1 : -1;
	return x->probe < y->probe ? -1 : x->probe > y->probe;
}

static int collect(struct hot *hot, struct ubp_err *err)
{
	hot->n_places = ubp_n_probes(hot->session);
	hot->places = calloc(hot->n_places + 1, sizeof(*hot->places));
	if (!hot->places)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < hot->n_places; i++) {
		struct place *place = &hot->places[i];

		place->probe = i;
		ubp_probe_stats(hot->session, i, &place->stats);
		for (unsigned why = 0; why < UBP_STOPS; why++) {
			place->stops += place->stats.stops[why];
			hot->stops[why] += place->stats.stops[why];
		}
		hot->all_stops += place->stops;
	}
	qsort(hot->places, hot->n_places, sizeof(*hot->places), by_stops);
	return 0;
}

/* --- as text ---------------------------------------------------------------------------- */

static double percent(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

static void print_place(const struct hot *hot, const struct place *place)
{
	const struct ubp_probe_stats *st = &place->stats;
	char *shown = escape_line(ubp_probe_event(hot->session, place->probe));

	fprintf(hot->out, "  %c %-40s %12" PRIu64 " %12" PRIu64 " ",
		ubp_probe_is_return(hot->session, place->probe) ? 'r' : 'p', shown ? shown : "",
		st->hits, place->stops);
	free(shown);
	for (unsigned why = 0; why < UBP_STOPS; why++)
		if (st->stops[why])
			fprintf(hot->out, " %s:%" PRIu64, ubp_stop_name(why), st->stops[why]);
	fprintf(hot->out, "%s%s\n", st->no_jump ? "  no jump: " : "",
		st->no_jump ? st->no_jump : "");
}

static void print(const struct hot *hot)
{
	size_t shown = 0;

	fprintf(hot->out, "%zu probes, %" PRIu64 " hits, %" PRIu64 " stops: %.3f %% of hits\n",
		hot->n_places, hot->hits, hot->all_stops, percent(hot->all_stops, hot->hits));
	fprintf(hot->out, "%.3f s bare, %.3f s probed: %.1f %% of its speed\n",
		hot->bare_ns / 1e9, hot->run.ns / 1e9,
		hot->run.ns > 0 ? 100 * hot->bare_ns / hot->run.ns : 0);
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

static json_t *place_json(const struct hot *hot, const struct place *place)
{
	json_t *name = json_string(ubp_probe_event(hot->session, place->probe));

	return json_pack("{s:s, s:o, s:I, s:o, s:s?}", "type",
			 ubp_probe_is_return(hot->session, place->probe) ? "r" : "p", "event",
			 name ? name : json_string("?"), "hits", (json_int_t)place->stats.hits,
			 "stops", stops_json(place->stats.stops), "no_jump",
			 place->stats.no_jump);
}

static int write_json(const struct hot *hot)
{
	json_t *places = json_array();
	json_t *json = json_pack("{s:s, s:s, s:{s:I, s:I, s:o, s:f, s:f, s:o}}", "schema",
				 "ubp-bench/1", "version", UBP_VERSION, "hot", "probes",
				 (json_int_t)hot->n_places, "hits", (json_int_t)hot->hits,
				 "stops", stops_json(hot->stops), "bare_s", hot->bare_ns / 1e9,
				 "probed_s", hot->run.ns / 1e9, "places", places);
	int status;

	for (size_t i = 0; i < hot->n_places && hot->places[i].stops; i++)
		(void)json_array_append_new(places, place_json(hot, &hot->places[i]));
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

int bench_hot(const struct bench_options *opt, int signal_fd, FILE *out)
{
	static const struct bench_room room = { QUEUE_BYTES, RING_BYTES };
	struct hot hot = {
		.opt = opt,
		.out = out,
		.run = { .argv = opt->command, .signal_fd = signal_fd, .takes = true }
	};
	struct bench_session s = { 0 };
	struct ubp_err err;
	int status, rc;

	ubp_err_reset(&err);
	rc = bench_session_open(&s, UBP_MODE_AUTO, 0, &room, false, &err);
	hot.session = s.session;
	if (rc == 0)
		rc = run_probed(&hot, &s, &err);
	if (rc == 0)
		rc = collect(&hot, &err);
	status = rc < 0 ? cli_error_record(&err) : show(&hot);
	bench_session_close(&s);
	free(hot.places);
	return status;
}
