// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Elements, numbers as text, colours.

/* Text is set as text, never parsed: names and values were chosen by what was traced. */
export function el(tag, props = {}, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (key === 'text')
			e.textContent = value;
		else if (key === 'on')
			for (const [name, fn] of Object.entries(value))
				e.addEventListener(name, fn);
		else if (value === true)
			e.setAttribute(key, '');
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(key, value);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}
export const byId = (id) => document.getElementById(id);

const digits = (x) => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);

export function fmtNs(ns) {
	if (ns === 0)
		return '0';
	const abs = Math.abs(ns);
	if (abs < 1000)
		return `${Number.isInteger(ns) ? ns : digits(ns)} ns`;
	if (abs < 1e6)
		return `${digits(ns / 1e3)} µs`;
	if (abs < 1e9)
		return `${digits(ns / 1e6)} ms`;
	if (abs < 600e9)
		return `${digits(ns / 1e9)} s`;
	return abs < 36e11 ? `${digits(ns / 6e10)} min` : `${digits(ns / 36e11)} h`;
}

export function fmtCount(n) {
	if (n < 1e5)
		return Math.round(n).toLocaleString('en-US');
	return n < 1e6 ? `${(n / 1e3).toFixed(0)} k` : n < 1e9 ? `${digits(n / 1e6)} M` : `${digits(n / 1e9)} G`;
}
export const fmtExact = (n) => Math.round(n).toLocaleString('en-US');
export const fmtRate = (n) => n < 10 ? n.toFixed(1) : fmtCount(n);

/* At most @most round numbers in [lo, hi]. */
export function ticks(lo, hi, most) {
	const raw = (hi - lo) / Math.max(most, 1), unit = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].find((k) => k * unit >= raw) * unit;
	const out = [];
	for (let v = Math.ceil(lo / step) * step; v <= hi; v += step)
		out.push(v);
	return out;
}

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const isDark = () => css('color-scheme') === 'dark';

/* Okabe and Ito's colours, which people tell apart whatever colours they see; not black, which is no colour in the dark. */
const OKABE_ITO = ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7'];
export const GREY = '#999999';
export const colourOf = (i) => OKABE_ITO[i % OKABE_ITO.length];
/* Number 0 is all others. */
export const keyColour = (i) => i ? colourOf(i - 1) : GREY;
/* Black or white, whichever is read better on it. */
export function inkOn(colour) {
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
	return 0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2 > 0.18 ? '#111111' : '#ffffff';
}

/* A canvas as large as its box, in pixels of the screen. */
export function fitCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const g = canvas.getContext('2d');
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = '11px system-ui, sans-serif';
	return g;
}

const tip = () => byId('tip');
export function showTip(x, y, lines) {
	const t = tip();
	t.replaceChildren(...lines.map((line, i) => el('div', { text: line, class: i ? '' : 'first' })));
	t.hidden = false;
	t.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - t.offsetWidth - 8))}px`;
	t.style.top = `${y + 18 + t.offsetHeight > window.innerHeight ? y - t.offsetHeight - 10 : y + 18}px`;
}
export const hideTip = () => { tip().hidden = true; };
