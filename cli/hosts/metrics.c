/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"

#define OTHER "(other)"

/* Labels of a set that is known, one behind the other, to be compared: hashes may be the same. */
struct known_set {
	struct known_set *next; /* of the same hash */
	const char *family;
	size_t len;
	char text[];
};

uint64_t metric_bound(const struct metric_bounds *bounds, unsigned i)
{
	return bounds->log2 ? 1ULL << i : (i + 1) * bounds->width - 1;
}

void metric_label_add(struct metric_labels *labels, const char *name, const char *value)
{
	if (labels->n < METRIC_LABELS)
		labels->v[labels->n++] = (struct metric_label){ name, value };
}

/* --- a moment ------------------------------------------------------------------------------ */

struct metrics *metrics_new(const char *host)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (m)
		m->host = host;
	return m;
}

static void free_point(struct metric_point *point)
{
	for (size_t i = 0; i < point->labels.n; i++) {
		free((char *)point->labels.v[i].name);
		free((char *)point->labels.v[i].value);
	}
	free(point->buckets);
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < m->families[i].n; k++)
			free_point(&m->families[i].points[k]);
		free(m->families[i].points);
	}
	map_free(&m->places);
	free(m);
}

struct metric_family *metrics_family(struct metrics *m, const char *name, const char *help,
				     enum metric_kind kind)
{
	struct metric_family *family = &m->families[m->n++];

	*family = (struct metric_family){ .name = name, .help = help, .kind = kind };
	return family;
}

/* --- which labels -------------------------------------------------------------------------- */

static uint64_t hash_labels(const char *family, const struct metric_labels *labels)
{
	uint64_t hash = hash_text(0, family);

	for (size_t i = 0; i < labels->n; i++)
		hash = hash_text(hash_text(hash, labels->v[i].name), labels->v[i].value);
	return hash;
}

static bool is_same(const struct metric_labels *a, const struct metric_labels *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, b->v[i].name) != 0 ||
		    strcmp(a->v[i].value, b->v[i].value) != 0)
			return false;
	return true;
}

/* Texts with their NULs: what is the same here is the same set. */
static struct known_set *make_set(const char *family, const struct metric_labels *labels)
{
	struct known_set *set;
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < labels->n; i++)
		len += strlen(labels->v[i].name) + strlen(labels->v[i].value) + 2;
	set = malloc(sizeof(*set) + len);
	if (!set)
		return NULL;
	set->family = family;
	set->len = len;
	set->next = NULL;
	to = set->text;
	for (size_t i = 0; i < labels->n; i++) {
		to = stpcpy(to, labels->v[i].name) + 1;
		to = stpcpy(to, labels->v[i].value) + 1;
	}
	return set;
}

static size_t *count_of(struct metrics_known *known, const char *family)
{
	for (size_t i = 0; i < METRIC_FAMILIES; i++) {
		if (!known->of[i].name)
			known->of[i].name = family;
		if (strcmp(known->of[i].name, family) == 0)
			return &known->of[i].n;
	}
	return NULL;
}

/* Is that set told of by itself? Without memory it is not. */
static bool is_known(struct metrics_known *known, const char *family, size_t most,
		     const struct metric_labels *labels)
{
	size_t *n = count_of(known, family);
	uint64_t hash = hash_labels(family, labels);
	struct known_set *wanted = make_set(family, labels), *first, *set;

	if (!wanted)
		return false;
	first = map_get(&known->sets, hash);
	for (set = first; set; set = set->next)
		if (strcmp(set->family, family) == 0 && set->len == wanted->len &&
		    memcmp(set->text, wanted->text, set->len) == 0)
			break;
	if (set || !n || *n >= most) {
		free(wanted);
		return set;
	}
	wanted->next = first;
	if (map_put(&known->sets, hash, wanted) < 0) {
		free(wanted);
		return false;
	}
	(*n)++;
	return true;
}

/* How many are left out is known of the first million; hashes will do for that. */
static void note_left_out(struct metrics_known *known, uint64_t hash)
{
	if (known->others.n < 1000000 && !map_get(&known->others, hash) &&
	    map_put(&known->others, hash, known) == 0)
		known->left_out++;
}

void metrics_known_free(struct metrics_known *known)
{
	size_t pos = 0;
	void *value;

	while (map_next(&known->sets, &pos, NULL, &value))
		for (struct known_set *set = value, *next; set; set = next) {
			next = set->next;
			free(set);
		}
	map_free(&known->sets);
	map_free(&known->others);
}

/* --- points -------------------------------------------------------------------------------- */

static struct metric_point *find(const struct metrics *m, const struct metric_family *family,
				 uint64_t hash, const struct metric_labels *labels)
{
	size_t i = (size_t)(uintptr_t)map_get(&m->places, hash);

	if (i && i <= family->n && is_same(&family->points[i - 1].labels, labels))
		return &family->points[i - 1];
	/* Another one has the same hash, which hardly ever is. */
	for (size_t k = 0; i && k < family->n; k++)
		if (is_same(&family->points[k].labels, labels))
			return &family->points[k];
	return NULL;
}

static struct metric_point *make(struct metrics *m, struct metric_family *family, uint64_t hash,
				 const struct metric_labels *labels)
{
	struct metric_point *point;

	if (VEC_ROOM(family->points, &family->cap, family->n) < 0)
		return NULL;
	point = &family->points[family->n];
	*point = (struct metric_point){ .has_sum = true, .bounds = family->bounds };
	if (family->kind == METRIC_HISTOGRAM)
		point->buckets = calloc(point->bounds.n + 1, sizeof(*point->buckets));
	for (; point->labels.n < labels->n; point->labels.n++) {
		struct metric_label *copy = &point->labels.v[point->labels.n];

		copy->name = strdup(labels->v[point->labels.n].name);
		copy->value = strdup(labels->v[point->labels.n].value);
		if (!copy->name || !copy->value) {
			point->labels.n++;
			break;
		}
	}
	if ((family->kind == METRIC_HISTOGRAM && !point->buckets) ||
	    (labels->n &&
	     (!point->labels.v[labels->n - 1].name || !point->labels.v[labels->n - 1].value)) ||
	    (!map_get(&m->places, hash) &&
	     map_put(&m->places, hash, (void *)(uintptr_t)(family->n + 1)) < 0)) {
		free_point(point);
		return NULL;
	}
	family->n++;
	return point;
}

struct metric_point *metrics_point(struct metrics *m, struct metric_family *family,
				   struct metrics_known *known,
				   const struct metric_labels *labels, size_t n_fixed)
{
	const char *name = family->name;
	size_t most = family->kind == METRIC_HISTOGRAM ? METRIC_HIST_POINTS : METRIC_POINTS;
	struct metric_labels own = *labels;
	struct metric_point *point;
	uint64_t hash;

	if (own.n > n_fixed && !is_known(known, name, most, &own)) {
		note_left_out(known, hash_labels(name, &own));
		for (size_t i = n_fixed; i < own.n; i++)
			own.v[i].value = OTHER;
	}
	hash = hash_labels(name, &own);
	point = find(m, family, hash, &own);
	if (!point)
		point = make(m, family, hash, &own);
	if (!point)
		m->no_memory = true;
	return point;
}
