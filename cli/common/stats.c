/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/stats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "engine/ubp.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

/* Which stops there were: " stops=\"memory:3 thread:1\"". */
static void add_stops(FILE *line, const struct ubp_probe_stats *st)
{
	const char *before = " stops=\"", *end = "";

	for (unsigned why = 0; why < UBP_STOPS; why++)
		if (st->stops[why]) {
			(void)fprintf(line, "%s%s:%" PRIu64, before, ubp_stop_name(why),
				      st->stops[why]);
			before = " ";
			end = "\"";
		}
	(void)fputs(end, line);
}

static void add_probe(FILE *line, struct ubp_session *session, size_t i)
{
	struct ubp_probe_stats st = { 0 };

	ubp_probe_stats(session, i, &st);
	(void)fprintf(line,
		      "stats: %s %s/%s hits=%" PRIu64 " passed=%" PRIu64 " lost=%" PRIu64
		      " missed=%" PRIu64 " too_big=%" PRIu64 " stopped=%" PRIu64
		      " sites=%u jumps=%u boosted=%u stepped=%u in_place=%u",
		      ubp_probe_path(session, i), ubp_probe_group(session, i),
		      ubp_probe_event(session, i), st.hits, st.passed, st.lost, st.missed,
		      st.too_big, st.stopped, st.sites, st.jumped, st.boosted, st.stepped,
		      st.in_place);
	if (ubp_probe_is_return(session, i))
		(void)fprintf(line,
			      " hijacked=%u at_rets=%u missed_skipped=%" PRIu64
			      " missed_thread=%" PRIu64 " missed_exited=%" PRIu64
			      " missed_no_room=%" PRIu64 " missed_tail_jump=%" PRIu64
			      " missed_kernel=%" PRIu64,
			      st.hijacked, st.at_rets, st.missed_skipped, st.missed_thread,
			      st.missed_exited, st.missed_no_room, st.missed_tail_jump,
			      st.missed_kernel);
	(void)fprintf(line, " behind=%u at_first=%u beside_kernel=%u hidden=%u", st.behind,
		      st.at_first, st.beside_kernel, st.hidden);
	if (st.by_short)
		(void)fprintf(line, " by_short=%u", st.by_short);
	if (st.by_punned)
		(void)fprintf(line, " by_punned=%u", st.by_punned);
	if (st.unanswered)
		(void)fprintf(line, " unanswered=%" PRIu64 " why_unanswered=\"%s\"",
			      st.unanswered, st.why_unanswered ? st.why_unanswered : "");
	if (ubp_probe_sample(session, i))
		(void)fprintf(line, " left_out=%" PRIu64, ubp_probe_left_out(session, i));
	add_stops(line, &st);
	if (st.taken_out)
		(void)fprintf(line, " taken_out=%s",
			      st.taken_out == UBP_TAKEN_OUT_RATE   ? "rate"
			      : st.taken_out == UBP_TAKEN_OUT_ONCE ? "once"
								   : "overhead");
	if (st.no_jump)
		(void)fprintf(line, " no_jump=\"%s\"", st.no_jump);
}

static void add_session(FILE *line, struct ubp_session *session, uint64_t n_dropped)
{
	struct ubp_stats st = { 0 };

	ubp_stats(session, &st);
	(void)fprintf(line,
		      "stats: processes=%u skipped=%u unguarded=%u dropped=%" PRIu64
		      " ring_lost=%" PRIu64 " stopped_us=%" PRIu64 " longest_stop_us=%" PRIu64
		      " too_late=%u not_known=%" PRIu64 " held=%u early=%" PRIu64
		      " finder=\"%s\"",
		      st.processes, st.skipped, st.unguarded, n_dropped, st.ring_lost,
		      st.stopped_ns / 1000, st.longest_stop_ns / 1000, st.too_late,
		      st.not_known, st.held, st.early, st.finder ? st.finder : "none");
	if (st.why_skipped)
		(void)fprintf(line, " why_skipped=\"%s\"", st.why_skipped);
	if (st.let_go || st.why_traced)
		(void)fprintf(line, " let_go=%u traced=\"%s\"", st.let_go,
			      st.why_traced ? st.why_traced : "");
	if (st.returns_left)
		(void)fprintf(line, " returns_left=%" PRIu64, st.returns_left);
	if (st.unanswered_ns)
		(void)fprintf(line, " unanswered_us=%" PRIu64 " longest_answer_us=%" PRIu64,
			      st.unanswered_ns / 1000, st.longest_answer_ns / 1000);
	if (st.requests)
		(void)fprintf(line, " requests=%" PRIu64, st.requests);
	if (st.has_unwound)
		(void)fprintf(line,
			      " frames_by_rows=%" PRIu64 " frames_by_libunwind=%" PRIu64
			      " frames_by_frame_pointer=%" PRIu64,
			      st.frames_by_rows, st.frames_by_libunwind,
			      st.frames_by_frame_pointer);
}

void cli_tell_missed(const struct ubp_session *session)
{
	struct ubp_stats st = { 0 };
	char late[128] = "", unknown[128] = "", text[256];

	ubp_stats(session, &st);
	if (st.too_late)
		(void)snprintf(late, sizeof(late),
			       "%u process%s that ran what is probed ended before %s traced",
			       st.too_late, st.too_late == 1 ? "" : "es",
			       st.too_late == 1 ? "it was" : "they were");
	if (st.not_known)
		(void)snprintf(unknown, sizeof(unknown),
			       "of %" PRIu64
			       " new process%s that ended at once it is not known "
			       "what %s ran",
			       st.not_known, st.not_known == 1 ? "" : "es",
			       st.not_known == 1 ? "it" : "they");
	if (!late[0] && !unknown[0])
		return;
	(void)snprintf(text, sizeof(text), "%s%s%s", late, late[0] && unknown[0] ? "; " : "",
		       unknown);
	cli_warn(NULL, text);
}

void cli_print_stats(struct ubp_session *session, uint64_t n_dropped)
{
	char *text = NULL;
	size_t len;
	FILE *line = open_memstream(&text, &len); /* the same for all: there may be thousands */
	bool good = line != NULL;

	for (size_t i = ubp_probe_next(session, 0); good; i = ubp_probe_next(session, i + 1)) {
		rewind(line);
		if (i != SIZE_MAX)
			add_probe(line, session, i);
		else
			add_session(line, session, n_dropped);
		/* It may have been longer before. */
		good = fputc('\0', line) == '\0' && fflush(line) == 0;
		if (good)
			cli_tell(NULL, text);
		if (i == SIZE_MAX)
			break;
	}
	if (line && fclose(line) != 0)
		good = false;
	if (!good)
		cli_warn(NULL, "out of memory: no statistics");
	free(text);
}

void cli_tell_once(struct ubp_session *session)
{
	size_t n = ubp_n_probes(session), n_hit = 0, first = 0;
	char text[512];

	for (size_t i = 0; i < n; i++) {
		const char *path = ubp_probe_path(session, i);
		struct ubp_probe_stats st;

		ubp_probe_stats(session, i, &st);
		n_hit += st.taken_out == UBP_TAKEN_OUT_ONCE;
		if (i + 1 < n && strcmp(path, ubp_probe_path(session, i + 1)) == 0)
			continue;
		(void)snprintf(text, sizeof(text), "%zu of %zu place%s of %s %s hit", n_hit,
			       i + 1 - first, i == first ? "" : "s", path,
			       i == first ? "was" : "were");
		cli_tell(NULL, text);
		first = i + 1;
		n_hit = 0;
	}
}
