// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// What the views over time have in common: an axis, dragging, keys. Time is nanoseconds from the first event.

import { css, fmtNs, ticks } from './util.js';

export const LEFT = 74, RIGHT = 14, BOTTOM = 22;

/* A time on an axis from @lo to @hi: the digits that differ there are shown. */
export function timeLabel(ns, lo, hi) {
	const span = hi - lo;
	const [unit, name] = hi >= 1e9 ? [1e9, 's'] : hi >= 1e6 ? [1e6, 'ms'] : hi >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
	const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(span / unit / 8))));
	return `${(ns / unit).toFixed(places)} ${name}`;
}

export class TimeScale {
	constructor(window, width, left = LEFT) {
		[this.lo, this.hi] = window;
		this.left = left;
		this.width = Math.max(width - left - RIGHT, 10);
	}
	x(ns) {
		return this.left + (ns - this.lo) / (this.hi - this.lo) * this.width;
	}
	ns(x) {
		return this.lo + (x - this.left) / this.width * (this.hi - this.lo);
	}
}

export function drawTimeAxis(g, scale, height) {
	g.fillStyle = css('--muted');
	g.strokeStyle = css('--line');
	g.textBaseline = 'top';
	g.beginPath();
	for (const t of ticks(scale.lo, scale.hi, Math.max(2, scale.width / 110))) {
		const x = Math.round(scale.x(t)) + 0.5;
		g.moveTo(x, height - BOTTOM);
		g.lineTo(x, height - BOTTOM + 4);
		const label = timeLabel(t, scale.lo, scale.hi), w = g.measureText(label).width;
		g.textAlign = 'left';
		g.fillText(label, Math.max(2, Math.min(x - w / 2, scale.left + scale.width + RIGHT - w - 2)), height - BOTTOM + 7);
	}
	g.stroke();
}

/* done(x0, y0, x1, y1) after a drag; click(x, y) where the pointer did not move; hover(x, y, event), without arguments: gone. */
export function dragging(canvas, overlay, { done, click, hover, axis }) {
	let from = null;
	const at = (e) => {
		const box = canvas.getBoundingClientRect();
		return [e.clientX - box.left, e.clientY - box.top];
	};
	canvas.addEventListener('pointerdown', (e) => {
		if (e.button === 0) {
			from = at(e);
			canvas.setPointerCapture(e.pointerId);
			hover();
		}
	});
	canvas.addEventListener('pointermove', (e) => {
		const [x, y] = at(e);
		if (!from) {
			hover(x, y, e);
			return;
		}
		const [a, b] = [Math.min(x, from[0]), Math.max(x, from[0])], whole = axis === 'x';
		const [c, d] = whole ? [0, canvas.clientHeight - BOTTOM] : [Math.min(y, from[1]), Math.max(y, from[1])];
		overlay.hidden = Math.abs(x - from[0]) < 4 && Math.abs(y - from[1]) < 4;
		Object.assign(overlay.style, { left: `${canvas.offsetLeft + a}px`, width: `${b - a}px`, top: `${canvas.offsetTop + c}px`, height: `${d - c}px` });
	});
	const end = (e) => {
		const start = from;
		from = null;
		overlay.hidden = true;
		if (!start || e.type === 'pointercancel')
			return;
		const [x, y] = at(e);
		if (Math.abs(x - start[0]) < 4 && Math.abs(y - start[1]) < 4)
			click(x, y, e);
		else
			done(Math.min(x, start[0]), Math.min(y, start[1]), Math.max(x, start[0]), Math.max(y, start[1]));
	};
	canvas.addEventListener('pointerup', end);
	canvas.addEventListener('pointercancel', end);
	canvas.addEventListener('pointerleave', () => from || hover());
}

/* Arrows move in time, + and - go nearer and farther. True: the key was one of these. */
export function timeKey(model, e) {
	const [a, b] = model.window(), width = b - a, span = model.data.span;
	const put = (lo, hi) => {
		const w = Math.min(Math.max(hi - lo, Math.min(10, span)), span);
		const start = Math.max(0, Math.min(lo, span - w));
		model.set({ time: w >= span ? null : [start, start + w] });
		return true;
	};
	switch (e.key) {
	case 'ArrowLeft': return put(a - width / 4, b - width / 4);
	case 'ArrowRight': return put(a + width / 4, b + width / 4);
	case '+': case '=': return put(a + width / 4, b - width / 4);
	case '-': return put(a - width / 2, b + width / 2);
	case 'Home': return put(0, width);
	case 'End': return put(span - width, span);
	default: return false;
	}
}

export const spanText = ([a, b], span) => `${timeLabel(a, 0, span)} to ${timeLabel(b, 0, span)} (${fmtNs(b - a)})`;
