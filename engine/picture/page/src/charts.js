// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Two charts by uPlot: events a second over all of the time, and latencies with percentiles.

import uPlot from 'uplot';

import { latOf } from './data.js';
import { quantile } from './model.js';
import { LEFT, RIGHT, timeKey, timeLabel } from './time.js';
import { byId, css, el, fmtCount, fmtNs, fmtRate } from './util.js';

const FONT = '11px system-ui, sans-serif';
const axis = (more) => ({ stroke: () => css('--muted'), font: FONT, ticks: { stroke: () => css('--line'), width: 1, size: 4 },
	grid: { stroke: () => css('--grid'), width: 1 }, ...more });

/* A chart in @box, with what is dragged out of it told to @selected(lo, hi), in its own units. */
function chart(box, options, data, selected) {
	const u = new uPlot({
		width: Math.max(box.clientWidth, 200), legend: { show: false }, padding: [8, RIGHT, 0, 0],
		cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
		hooks: { setSelect: [(c) => {
			if (c.select.width > 3)
				selected(c.posToVal(c.select.left, 'x'), c.posToVal(c.select.left + c.select.width, 'x'));
			c.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
		}], ...options.hooks }, ...options.rest,
	}, data, box);
	return u;
}

/* What is outside of a selection is dimmed. */
function dimOutside(u, lo, hi) {
	const { ctx, bbox } = u, x0 = u.valToPos(lo, 'x', true), x1 = u.valToPos(hi, 'x', true);
	ctx.save();
	ctx.fillStyle = css('--dim');
	ctx.fillRect(bbox.left, bbox.top, Math.max(0, x0 - bbox.left), bbox.height);
	ctx.fillRect(x1, bbox.top, Math.max(0, bbox.left + bbox.width - x1), bbox.height);
	ctx.strokeStyle = css('--accent');
	ctx.lineWidth = 2;
	ctx.beginPath();
	for (const x of [x0, x1]) {
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
	}
	ctx.stroke();
	ctx.restore();
}

export class RateView {
	constructor(model) {
		this.model = model;
		this.box = byId('rate');
		const span = model.data.span;
		this.u = chart(this.box, {
			hooks: { draw: [(u) => model.sel.time && dimOutside(u, ...model.sel.time)],
				setCursor: [(u) => this.tell(u)] },
			rest: {
				height: 104, scales: { x: { time: false, range: [0, span] }, y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.08] } },
				axes: [axis({ values: (u, vs) => vs.map((v) => timeLabel(v, 0, span)), space: 110, size: 26 }),
					axis({ values: (u, vs) => vs.map(fmtCount), size: LEFT, space: 30 })],
				series: [{}, { stroke: () => css('--accent'), fill: () => css('--accent-soft'), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
			},
		}, [[0], [0]], (lo, hi) => model.set({ time: [Math.max(lo, 0), Math.min(hi, span)] }));
		this.box.addEventListener('keydown', (e) => timeKey(model, e) && e.preventDefault());
		this.box.addEventListener('dblclick', () => model.set({ time: null }));
	}

	tell(u) {
		const i = u.cursor.idx, at = u.data[0][i];
		byId('rate-at').textContent = u.cursor.left < 0 || i === null || at === undefined || u.data[1][i] === null ? ''
			: `${fmtRate(u.data[1][i])} events/s at ${timeLabel(at, 0, this.model.data.span)}`;
	}

	update() {
		const cube = this.model.cube(['time']), n = Math.ceil(this.model.data.span / cube.width) || 1, counts = new Array(n).fill(0);
		this.model.each(['time'], (c, i) => { counts[Math.min(c.t[i], n - 1)] += c.count[i]; });
		const xs = counts.map((c, i) => i * cube.width), perSecond = 1e9 / cube.width;
		/* A step needs an end. */
		this.u.setData([[...xs, this.model.data.span], [...counts.map((c) => c * perSecond), counts[n - 1] * perSecond]]);
	}

	resize() {
		this.u.setSize({ width: Math.max(this.box.clientWidth, 200), height: 104 });
	}
}

const QUANTILES = [['p50', 0.5], ['p90', 0.9], ['p99', 0.99], ['p99.9', 0.999], ['max', 1]];

export class HistogramView {
	constructor(model) {
		this.model = model;
		this.box = byId('histogram');
		this.marks = [];
		this.u = chart(this.box, {
			hooks: { draw: [(u) => this.drawMarks(u)], setCursor: [(u) => this.tell(u)] },
			rest: {
				height: 226, scales: { x: { time: false, range: (u, lo, hi) => [lo - 1, Math.max(hi, lo + 1) + 1] },
					y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.1] } },
				axes: [axis({ splits: (u, i, lo, hi) => this.splits(lo, hi), values: (u, vs) => vs.map((v) => fmtNs(latOf(v))), size: 26, grid: { show: false } }),
					axis({ values: (u, vs) => vs.map(fmtCount), size: 52, space: 36 })],
				series: [{}, { stroke: () => css('--accent'), fill: () => css('--accent-bar'), width: 0,
					paths: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 1 }), points: { show: false } }],
			},
		}, [[0], [0]], (lo, hi) => this.select(lo, hi));
		this.box.addEventListener('dblclick', () => model.set({ lat: null }));
		this.box.addEventListener('keydown', (e) => this.key(e) && e.preventDefault());
	}

	select(lo, hi) {
		this.model.set({ lat: [latOf(Math.max(1, Math.floor(lo))), latOf(Math.floor(hi) + 1) - 1] });
	}

	/* Arrows move the lower edge of the selection, with Shift the upper one. */
	key(e) {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key], bins = this.u.data[0];
		if (!step || bins.length < 2)
			return false;
		let [lo, hi] = this.range || [bins[0], bins[bins.length - 1]];
		if (e.shiftKey)
			hi = Math.max(lo, hi + step);
		else
			lo = Math.min(hi, Math.max(1, lo + step));
		this.range = [lo, hi];
		this.select(lo, hi);
		return true;
	}

	/* Powers of ten, or fewer. */
	splits(lo, hi) {
		const all = [];
		for (let v = 1; v < 1e13; v *= 10) {
			const bin = this.at(v);
			if (bin >= lo && bin <= hi)
				all.push(bin);
		}
		if (all.length > 1)
			return all;
		const step = Math.max(1, Math.round((hi - lo) / 4));
		return [0, 1, 2, 3].map((i) => Math.ceil(lo) + i * step).filter((b) => b >= 1 && b <= hi);
	}

	/* Where a latency is on the axis, in bins and parts of them. */
	at(ns) {
		if (ns < 8)
			return ns + 1;
		const e = Math.floor(Math.log2(ns));
		return (e - 2) * 8 + ns / 2 ** (e - 3) - 7;
	}

	drawMarks(u) {
		const { ctx, bbox } = u, sel = this.model.sel.lat, r = window.devicePixelRatio || 1;
		if (sel)
			dimOutside(u, this.at(sel[0]), this.at(sel[1] + 1));
		ctx.save();
		ctx.font = `${11 * r}px system-ui, sans-serif`;
		ctx.textBaseline = 'top';
		ctx.setLineDash([4 * r, 3 * r]);
		let free = -Infinity, row = 0;
		for (const [name, ns] of this.marks) {
			const x = u.valToPos(this.at(ns), 'x', true);
			if (x < bbox.left || x > bbox.left + bbox.width)
				continue;
			ctx.strokeStyle = css('--mark');
			ctx.lineWidth = r;
			ctx.beginPath();
			ctx.moveTo(x, bbox.top);
			ctx.lineTo(x, bbox.top + bbox.height);
			ctx.stroke();
			const w = ctx.measureText(name).width, left = x + w + 6 * r > bbox.left + bbox.width ? x - w - 4 * r : x + 4 * r;
			row = left < free ? (row + 1) % 4 : 0;
			free = left + w + 4 * r;
			ctx.fillStyle = css('--panel');
			ctx.fillRect(left - 2 * r, bbox.top + row * 14 * r, w + 4 * r, 13 * r);
			ctx.fillStyle = css('--text');
			ctx.fillText(name, left, bbox.top + (row * 14 + 1) * r);
		}
		ctx.restore();
	}

	tell(u) {
		const i = u.cursor.idx;
		if (u.cursor.left < 0 || i === null || !u.data[1][i]) {
			byId('histogram-at').textContent = '';
			return;
		}
		const bin = u.data[0][i];
		byId('histogram-at').textContent = `${fmtNs(latOf(bin))} to ${fmtNs(latOf(bin + this.step))}: ${fmtCount(u.data[1][i])}`;
	}

	update() {
		const hist = this.model.histogram(['lat']), inside = this.model.histogram([]);
		const bins = [...hist.counts.keys()].sort((a, b) => a - b), xs = [], ys = [];
		this.step = hist.step;
		if (!this.model.sel.lat)
			this.range = null;
		for (let b = bins[0]; b <= bins[bins.length - 1]; b += hist.step) {
			xs.push(b);
			ys.push(hist.counts.get(b) || 0);
		}
		this.marks = inside.n ? QUANTILES.map(([name, q]) => [name, quantile(inside, q)]) : [];
		byId('quantiles').replaceChildren(...this.marks.map(([name, ns]) => el('div', { class: 'quantile' }, el('span', { text: name }), el('b', { text: fmtNs(ns) }))));
		byId('histogram-none').hidden = bins.length > 0;
		this.u.setData(xs.length ? [xs, ys] : [[1, 2], [0, 0]]);
	}

	resize() {
		this.u.setSize({ width: Math.max(this.box.clientWidth, 200), height: 226 });
	}
}
