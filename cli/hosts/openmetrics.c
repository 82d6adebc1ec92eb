/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hosts/metrics.h"

#define NS          UINT64_C(1000000000)
#define NUMBER_ROOM 48

const char *openmetrics_type(enum openmetrics_form form)
{
	return form == OPENMETRICS_1_0
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* --- which form ---------------------------------------------------------------------------- */

/* Of "TYPE; a=b; q=0.5" what stands behind q=, 0 to 1000. */
static unsigned quality(const char *range, size_t len)
{
	for (const char *p = range; (p = memchr(p, ';', len - (size_t)(p - range))); p++) {
		const char *q = p + 1 + strspn(p + 1, " \t");
		double value;

		if (strncasecmp(q, "q=", 2) != 0)
			continue;
		value = strtod(q + 2, NULL);
		return value >= 1 ? 1000 : value > 0 ? (unsigned)(value * 1000) : 0;
	}
	return 1000;
}

static bool is_type(const char *range, size_t len, const char *type)
{
	size_t n = strcspn(range, ";, \t");

	return n <= len && n == strlen(type) && strncasecmp(range, type, n) == 0;
}

enum openmetrics_form openmetrics_wanted(const char *accept)
{
	unsigned open = 0, plain = 0;

	while (accept && *accept) {
		size_t len;

		accept += strspn(accept, ", \t");
		len = strcspn(accept, ",");
		if (is_type(accept, len, "application/openmetrics-text")) {
			unsigned q = quality(accept, len);

			open = q > open ? q : open;
		} else if (is_type(accept, len, "text/plain")) {
			unsigned q = quality(accept, len);

			plain = q > plain ? q : plain;
		}
		accept += len;
	}
	return open && open >= plain ? OPENMETRICS_1_0 : OPENMETRICS_PLAIN;
}

/* --- text ---------------------------------------------------------------------------------- */

static const char *number_text(char text[NUMBER_ROOM], const struct metric_family *family,
			       uint64_t number, bool is_signed)
{
	bool is_less = is_signed && (int64_t)number < 0;
	uint64_t size = is_less ? 0 - number : number;

	if (family->in_seconds)
		(void)snprintf(text, NUMBER_ROOM, "%s%" PRIu64 ".%09" PRIu64,
			       is_less ? "-" : "", size / NS, size % NS);
	else
		(void)snprintf(text, NUMBER_ROOM, "%s%" PRIu64, is_less ? "-" : "", size);
	return text;
}

/* As a float, the same in both forms: it is a label. */
static const char *bound_text(char text[NUMBER_ROOM], const struct metric_family *family,
			      const struct metric_bounds *bounds, unsigned i)
{
	size_t len;

	if (i == bounds->n)
		return "+Inf";
	(void)number_text(text, family, metric_bound(bounds, i), false);
	len = strlen(text);
	if (!family->in_seconds) {
		(void)snprintf(text + len, NUMBER_ROOM - len, ".0");
		return text;
	}
	for (; text[len - 1] == '0' && text[len - 2] != '.'; len--)
		text[len - 1] = '\0';
	return text;
}

static void put_label(FILE *to, const char *before, const char *name, const char *value)
{
	fprintf(to, "%s%s=\"", before, name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fprintf(to, "\\%c", *value);
		else if (*value == '\n')
			fputs("\\n", to);
		else
			fputc(*value, to);
	}
	fputc('"', to);
}

static void put_sample(FILE *to, const struct metrics *m, const struct metric_family *family,
		       const struct metric_labels *labels, const char *suffix, const char *le,
		       const char *value)
{
	fprintf(to, "%s%s", family->name, suffix);
	put_label(to, "{", "host", m->host);
	for (size_t i = 0; i < labels->n; i++)
		put_label(to, ",", labels->v[i].name, labels->v[i].value);
	if (le)
		put_label(to, ",", "le", le);
	fprintf(to, "} %s\n", value);
}

static void put_histogram(FILE *to, const struct metrics *m, const struct metric_family *family,
			  const struct metric_point *point, enum openmetrics_form form)
{
	char le[NUMBER_ROOM], text[NUMBER_ROOM];
	uint64_t sum = 0;

	for (unsigned i = 0; i <= point->bounds.n; i++) {
		sum = i == point->bounds.n ? point->total : sum + point->buckets[i];
		(void)snprintf(text, sizeof(text), "%" PRIu64, sum);
		put_sample(to, m, family, &point->labels, "_bucket",
			   bound_text(le, family, &point->bounds, i), text);
	}
	if (point->has_sum)
		put_sample(to, m, family, &point->labels, "_sum", NULL,
			   number_text(text, family, point->sum, false));
	/* Where there is no sum OpenMetrics has no count either. */
	(void)snprintf(text, sizeof(text), "%" PRIu64, point->total);
	if (point->has_sum || form != OPENMETRICS_1_0)
		put_sample(to, m, family, &point->labels, "_count", NULL, text);
}

static void put_family(FILE *to, const struct metrics *m, const struct metric_family *family,
		       enum openmetrics_form form)
{
	static const char *const kinds[] = { "counter", "gauge", "histogram" };
	const char *total = family->kind == METRIC_COUNTER ? "_total" : "";
	const char *in_name = form == OPENMETRICS_1_0 ? "" : total;
	char text[NUMBER_ROOM];

	if (!family->n)
		return;
	fprintf(to, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, in_name, family->help,
		family->name, in_name, kinds[family->kind]);
	if (family->in_seconds && form == OPENMETRICS_1_0)
		fprintf(to, "# UNIT %s seconds\n", family->name);
	for (size_t i = 0; i < family->n; i++) {
		const struct metric_point *point = &family->points[i];

		if (family->kind == METRIC_HISTOGRAM)
			put_histogram(to, m, family, point, form);
		else
			put_sample(to, m, family, &point->labels, total, NULL,
				   number_text(text, family, point->number, point->is_signed));
	}
}

char *openmetrics_text(const struct metrics *m, enum openmetrics_form form, size_t *ret_len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_len);

	if (!to)
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		put_family(to, m, &m->families[i], form);
	if (form == OPENMETRICS_1_0)
		fputs("# EOF\n", to);
	if (ferror(to) | fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}
