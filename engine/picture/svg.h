/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the drawings have in common: SVG for any browser, light or dark as the reader has it, without a script. */

#ifndef UBP_PICTURE_SVG_H
#define UBP_PICTURE_SVG_H

#include <stdint.h>

#include "engine/picture/out.h"
#include "engine/picture/picture_priv.h"

#define SVG_WIDTH 1200

/* The head of a drawing, with a title; its end. Heights are in pixels. */
void svg_begin(struct out *out, unsigned height, const char *title);
void svg_end(struct out *out);
/* The host, when, and how many events: a line of text at @y. */
void svg_about(struct out *out, const struct picture *p, unsigned y);
/* Nanoseconds as people read them: "1.23 ms". */
#define SVG_NS_SIZE 32
const char *svg_ns(double ns, char buf[SVG_NS_SIZE]);
/* When the first event was, in UTC; NULL: not known. */
#define PICTURE_WHEN_SIZE 64
const char *picture_when(const struct picture *p, char buf[PICTURE_WHEN_SIZE]);

#endif
