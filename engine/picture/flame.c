/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A flame graph: a frame for each node of a tree, as wide as what it and those below it have. */

#include <stdlib.h>
#include <string.h>

#include "engine/picture/svg.h"

#define TOP       60
#define FRAME     18
#define LEVELS    200 /* that are drawn */
#define LEAST     0.3 /* pixels: what is narrower is left out */
#define CHARACTER 6.8 /* pixels, about */

struct frame {
	double sum, x;
	uint32_t node, depth;
};

struct flame {
	const struct picture_tree *tree;
	struct frame *of; /* by node */
	uint32_t *order;  /* nodes: those of a parent together, the largest first */
	double scale;     /* pixels of 1 */
	bool by_time;
};

/* Okabe and Ito's, as the page has them. */
static const char *const colours[] = { "#56b4e9", "#e69f00", "#009e73", "#f0e442",
				       "#0072b2", "#d55e00", "#cc79a7" };
#define GREY "#999999"
static const bool dark[] = { false, false, true, false, true, true, false };

/* --- where the frames are ------------------------------------------------------------------------ */

static int by_parent(const void *a, const void *b, void *ctx)
{
	const struct flame *f = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t px = f->tree->tree.v[x].parent, py = f->tree->tree.v[y].parent;

	if (px != py)
		return px < py ? -1 : 1;
	if (f->of[x].sum != f->of[y].sum)
		return f->of[x].sum > f->of[y].sum ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_up(struct flame *f)
{
	const struct cube *cube = &f->tree->cube;
	size_t n = f->tree->tree.n;

	for (size_t i = 0; i < cube->n; i++)
		f->of[cube->v[i].at.path].sum +=
			f->by_time ? cube->v[i].self : cube->v[i].count;
	for (size_t i = n - 1; i > 0; i--)
		f->of[f->tree->tree.v[i].parent].sum += f->of[i].sum;
}

/* A parent has a place before its children get theirs: its number is lower, and so is its own parent's. */
static unsigned place(struct flame *f)
{
	size_t n = f->tree->tree.n;
	unsigned deepest = 0;
	double x = 0;

	for (size_t i = 0; i < n; i++)
		f->order[i] = (uint32_t)i;
	qsort_r(f->order + 1, n - 1, sizeof(f->order[0]), by_parent, f);
	for (size_t i = 1; i < n; i++) {
		struct frame *frame = &f->of[f->order[i]];
		uint32_t parent = f->tree->tree.v[f->order[i]].parent;

		if (i == 1 || parent != f->tree->tree.v[f->order[i - 1]].parent)
			x = f->of[parent].x;
		frame->x = x;
		frame->depth = f->of[parent].depth + 1;
		x += frame->sum * f->scale;
		if (frame->sum * f->scale >= LEAST && frame->depth > deepest)
			deepest = frame->depth;
	}
	return deepest;
}

/* --- drawn ----------------------------------------------------------------------------------------- */

static unsigned colour_of(const char *name)
{
	uint32_t hash = 7;

	for (; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash % (sizeof(colours) / sizeof(colours[0]));
}

static void put_amount(struct out *out, const struct flame *f, double sum)
{
	char buf[SVG_NS_SIZE];

	if (f->by_time)
		out_text(out, svg_ns(sum, buf));
	else
		out_printf(out, "%.0f", sum);
	out_printf(out, ", %.2f %%", 100 * sum / f->of[0].sum);
}

/* As much of a name as there is room for, with no character cut. */
static void put_label(struct out *out, const char *name, double width)
{
	size_t most = (size_t)(width / CHARACTER), len = strlen(name);

	if (len <= most) {
		out_xml(out, name, len);
		return;
	}
	for (most--; most && ((unsigned char)name[most] & 0xc0) == 0x80;)
		most--;
	out_xml(out, name, most);
	out_text(out, "\342\200\246");
}

static void put_frame(struct out *out, const struct flame *f, const struct picture *p,
		      uint32_t node)
{
	const char *name = node ? names_text(&p->names, f->tree->tree.v[node].name) : "all";
	const struct frame *frame = &f->of[node];
	double width = frame->sum * f->scale;
	unsigned colour = colour_of(name), y = TOP + frame->depth * FRAME;

	if (width < LEAST || frame->depth >= LEVELS)
		return;
	out_printf(out, "<g><title>");
	out_xml(out, name, strlen(name));
	out_text(out, ": ");
	put_amount(out, f, frame->sum);
	out_printf(out,
		   "</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\" rx=\"2\" "
		   "fill=\"%s\"/>",
		   frame->x, y, width > 1.5 ? width - 0.8 : width, FRAME - 1,
		   node ? colours[colour] : GREY);
	if (width > 4 * CHARACTER) {
		out_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%u\">",
			   node && dark[colour] ? "paper" : "ink", frame->x + 4, y + 13);
		put_label(out, name, width - 8);
		out_text(out, "</text>");
	}
	out_text(out, "</g>\n");
}

static void draw(struct out *out, struct flame *f, const struct picture *p)
{
	unsigned deepest;

	add_up(f);
	f->of[0].x = 16;
	f->scale = f->of[0].sum > 0 ? (SVG_WIDTH - 32) / f->of[0].sum : 0;
	deepest = place(f);
	deepest = deepest < LEVELS ? deepest : LEVELS - 1;
	svg_begin(out, TOP + (deepest + 1) * FRAME + 16,
		  f->by_time ? "Calls: time of each function, below its callers"
			     : "Stacks: how often each was there, below its callers");
	svg_about(out, p, 46);
	for (size_t i = 0; i < f->tree->tree.n; i++)
		put_frame(out, f, p, f->order[i]);
	svg_end(out);
}

static void draw_none(struct out *out, const struct picture *p)
{
	svg_begin(out, 110, "No flame graph");
	svg_about(out, p, 46);
	out_text(out,
		 "<text x=\"16\" y=\"82\">There are neither stacks nor calls in this trace: "
		 "ask for --stack, or for entry and return probes of functions.</text>\n");
	svg_end(out);
}

void picture_flame(struct picture *p)
{
	struct flame f = { .tree = p->stacks.tree.n > 1 ? &p->stacks : &p->calls };
	struct out out;

	f.by_time = f.tree == &p->calls;
	out_begin(&out, &p->ops);
	if (f.tree->tree.n > 1) {
		f.of = calloc(f.tree->tree.n, sizeof(*f.of));
		f.order = calloc(f.tree->tree.n, sizeof(*f.order));
	}
	if (f.of && f.order)
		draw(&out, &f, p);
	else
		draw_none(&out, p);
	out_end(&out);
	free(f.of);
	free(f.order);
}
