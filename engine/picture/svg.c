/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void svg_begin(struct out *out, unsigned height, const char *title)
{
	out_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" "
		   "width=\"%u\" height=\"%u\" ",
		   SVG_WIDTH, height, SVG_WIDTH, height);
	out_text(out, "font-family=\"system-ui,'DejaVu Sans',sans-serif\" font-size=\"12\">\n"
		      "<style>\n"
		      ".page{fill:#fff}.well{fill:#eceef1}text{fill:#1b1f24}.muted{fill:#"
		      "57606a}.ink{fill:#111}.paper{fill:#fff}\n"
		      "rect:hover{stroke:#1b1f24}.line{stroke:#d4d8de}\n"
		      "@media "
		      "(prefers-color-scheme:dark){.page{fill:#171b22}.well{fill:#0b0e12}text{"
		      "fill:#e6e9ee}.muted{fill:#9aa4b0}\n"
		      ".ink{fill:#111}.paper{fill:#fff}rect:hover{stroke:#fff}.line{stroke:#"
		      "2d343e}}\n"
		      "</style>\n");
	out_printf(out,
		   "<rect class=\"page\" width=\"%u\" height=\"%u\"/>\n<text x=\"16\" y=\"26\" "
		   "font-size=\"16\" font-weight=\"600\">%s</text>\n",
		   SVG_WIDTH, height, title);
}

void svg_end(struct out *out)
{
	out_text(out, "</svg>\n");
}

const char *picture_when(const struct picture *p, char buf[PICTURE_WHEN_SIZE])
{
	time_t t =
		(time_t)((p->about.real_ns + (p->first_ns - p->about.clock_ns)) / 1000000000);
	struct tm tm;

	if (!p->about.real_ns || !gmtime_r(&t, &tm) ||
	    !strftime(buf, PICTURE_WHEN_SIZE, "%Y-%m-%d %H:%M:%S UTC", &tm))
		return NULL;
	return buf;
}

const char *svg_ns(double ns, char buf[SVG_NS_SIZE])
{
	static const struct {
		double from;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "\302\265s" }, { 1, "ns" } };
	size_t i = 0;

	while (i < 3 && ns < units[i].from)
		i++;
	(void)snprintf(buf, SVG_NS_SIZE, "%.3g %s", ns / units[i].from, units[i].unit);
	return buf;
}

void svg_about(struct out *out, const struct picture *p, unsigned y)
{
	char when[PICTURE_WHEN_SIZE], span[SVG_NS_SIZE];

	out_printf(out, "<text class=\"muted\" x=\"16\" y=\"%u\">", y);
	if (p->about.host) {
		out_xml(out, p->about.host, strlen(p->about.host));
		out_text(out, ", ");
	}
	if (picture_when(p, when))
		out_printf(out, "%s, ", when);
	out_printf(out, "%" PRIu64 " event%s in %s", p->n_events, p->n_events == 1 ? "" : "s",
		   svg_ns((double)picture_span(p), span));
	if (p->n_lost)
		out_printf(out, ", %" PRIu64 " lost", p->n_lost);
	out_text(out, "</text>\n");
}
