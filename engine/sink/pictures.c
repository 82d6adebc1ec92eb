/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Pictures of a trace, drawn when it is over: a page, a flame graph, a heat map (engine/picture). */

#include <stdlib.h>
#include <string.h>

#include "engine/picture/page.h"
#include "engine/picture/picture.h"
#include "engine/sink/folded.h"
#include "engine/sink/sink.h"
#include "engine/sink/text.h"

struct picture_sink {
	struct sink sink;
	struct picture *picture; /* NULL: nothing has come yet */
	struct sink_buf args, stack;
	struct sink_buf *to; /* where the picture goes, at the end */
};

static struct picture_sink *of(struct sink *sink)
{
	return (struct picture_sink *)sink;
}

/* --- what the picture asks for ------------------------------------------------------------------ */

static const char *args(void *ctx, const struct spec_probe *probe,
			const struct event_record *record, size_t *ret_len)
{
	struct picture_sink *p = ctx;
	struct sink_text_options opt = { .escape = true };
	size_t blank;

	p->args.len = 0;
	sink_text_args(&p->args, probe, record, &opt);
	blank = p->args.len && p->args.data[0] == ' ';
	*ret_len = p->args.len - blank;
	return p->args.data ? p->args.data + blank : "";
}

static const char *stack(void *ctx, const struct event_record *record, size_t *ret_len)
{
	struct picture_sink *p = ctx;

	p->stack.len = 0;
	sink_folded_stack(&p->stack, record, p->sink.opt.resolver);
	*ret_len = p->stack.len;
	return p->stack.data ? p->stack.data : "";
}

static void put(void *ctx, const void *bytes, size_t len)
{
	struct picture_sink *p = ctx;

	sink_buf_add(p->to, bytes, len);
}

/* The picture of what comes, which has all probes that are known. NULL: memory is short. */
static struct picture *begun(struct picture_sink *p)
{
	const struct picture_ops ops = { .args = args, .stack = stack, .put = put, .ctx = p };
	const struct sink_probes *probes = p->sink.opt.probes;
	const struct spec_probe *probe;
	unsigned at = 0;

	if (p->picture)
		return p->picture;
	p->picture = picture_new(&ops, p->sink.opt.about);
	while (p->picture && probes && (probe = probes->next(probes->ctx, &at)) != NULL)
		if (picture_add_probe(p->picture, probe) < 0)
			p->sink.is_short = true;
	return p->picture;
}

/* --- the row ------------------------------------------------------------------------------------- */

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct picture_sink *p = of(sink);

	(void)to;
	if (begun(p))
		picture_host(p->picture, sink->host);
	if (!p->picture || picture_add(p->picture, probe, record, sink->weight) < 0)
		sink->is_short = true;
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct picture_sink *p = of(sink);

	(void)to;
	if (begun(p))
		picture_lost(p->picture, n);
}

static bool ended(struct picture_sink *p, struct sink_buf *to)
{
	p->to = to;
	if (!begun(p)) {
		p->sink.is_short = true;
		return false;
	}
	picture_end(p->picture);
	return true;
}

static void end_html(struct sink *sink, struct sink_buf *to)
{
	struct picture_sink *p = of(sink);

	if (ended(p, to))
		(void)picture_html(p->picture);
}

static void end_flame(struct sink *sink, struct sink_buf *to)
{
	struct picture_sink *p = of(sink);

	if (ended(p, to))
		picture_flame(p->picture);
}

static void end_heat(struct sink *sink, struct sink_buf *to)
{
	struct picture_sink *p = of(sink);

	if (ended(p, to))
		picture_heat(p->picture);
}

static void free_picture(struct sink *sink)
{
	struct picture_sink *p = of(sink);

	picture_free(p->picture);
	sink_buf_free(&p->args);
	sink_buf_free(&p->stack);
}

static const char *html_missing(void)
{
	return picture_page_tail_len() ? NULL
				       : "this program was made without the page: install npm, "
					 "then make deps and make again";
}

#define ROW                                                                                    \
	.is_data = true, .size = sizeof(struct picture_sink), .event = event, .lost = lost,    \
	.free = free_picture

const struct sink_kind sink_html = {
	.name = "html", ROW, .missing = html_missing, .end = end_html
};
const struct sink_kind sink_flame = { .name = "flame", ROW, .end = end_flame };
const struct sink_kind sink_heat = { .name = "heat", ROW, .end = end_heat };
