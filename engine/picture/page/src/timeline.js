// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Threads, a lane each: how much there is in a strip, calls as slices below it, events alone as ticks. Drag to select a time.

import { BOTTOM, LEFT, TimeScale, dragging, drawTimeAxis, timeKey, timeLabel } from './time.js';
import { byId, css, fitCanvas, fmtCount, fmtNs, hideTip, inkOn, keyColour, showTip } from './util.js';

const LABEL = 27, STRIP = 14, ROW = 17, GAP = 7, MOST_LANES = 100, MOST_ROWS = 16;

export class TimelineView {
	constructor(model) {
		this.model = model;
		this.canvas = byId('timeline');
		this.axis = byId('timeline-axis');
		this.byThread = this.group();
		dragging(this.canvas, byId('timeline-drag'), {
			axis: 'x',
			done: (x0, y0, x1) => model.set({ time: [Math.max(0, this.scale.ns(x0)), Math.min(model.data.span, this.scale.ns(x1))] }),
			click: (x, y) => this.click(x, y), hover: (x, y, e) => this.hover(x, y, e),
		});
		this.canvas.addEventListener('dblclick', () => model.set({ time: null }));
		this.canvas.addEventListener('keydown', (e) => timeKey(model, e) && e.preventDefault());
	}

	/* Slices and events of each thread, and how many rows its slices take. */
	group() {
		const { slices, events, threads } = this.model.data, all = threads.map(() => ({ slices: [], ticks: [], rows: 0 }));
		for (let i = 0; i < slices.start.length; i++) {
			const lane = all[slices.thread[i]];
			lane.slices.push(i);
			lane.rows = Math.max(lane.rows, Math.min(slices.depth[i] + 1, MOST_ROWS));
		}
		for (let i = 0; i < events.time.length; i++)
			if (!events.ns[i] && !events.paired[i])
				all[events.thread[i]].ticks.push(i);
		return all;
	}

	/* The threads that have most come first. */
	update() {
		const counts = new Map(), [lo, hi] = this.model.window(), cube = this.model.cube([]);
		const first = Math.floor(lo / cube.width), n = Math.max(1, Math.ceil(hi / cube.width) - first), strips = new Map();
		this.most = 0;
		this.model.each([], (c, i) => {
			const t = c.thread[i];
			let strip = strips.get(t);
			counts.set(t, (counts.get(t) || 0) + c.count[i]);
			if (!strip)
				strips.set(t, strip = new Float64Array(n));
			strip[c.t[i] - first] += c.count[i];
			this.most = Math.max(this.most, strip[c.t[i] - first]);
		});
		const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
		this.lanes = order.slice(0, MOST_LANES).map((thread) => ({ thread, strip: strips.get(thread), ...this.byThread[thread] }));
		this.stripStart = first * cube.width;
		this.stripWidth = cube.width;
		byId('timeline-left').textContent = order.length > MOST_LANES ? `${fmtCount(order.length - MOST_LANES)} more threads have less` : '';
		byId('timeline-none').hidden = order.length > 0;
		this.draw();
	}

	draw() {
		const width = this.canvas.parentNode.clientWidth;
		let y = 4;
		for (const lane of this.lanes) {
			lane.y = y;
			lane.height = Math.max(STRIP + Math.max(lane.rows, lane.ticks.length ? 0.5 : 0) * ROW, LABEL) + GAP;
			y += lane.height;
		}
		const g = fitCanvas(this.canvas, width, Math.max(y, 40)), scale = this.scale = new TimeScale(this.model.window(), width);
		this.shown = [];
		for (const lane of this.lanes)
			this.drawLane(g, scale, lane, width);
		drawTimeAxis(fitCanvas(this.axis, width, BOTTOM), scale, BOTTOM);
	}

	drawLane(g, scale, lane, width) {
		const thread = this.model.data.threads[lane.thread];
		g.strokeStyle = css('--grid');
		g.beginPath();
		g.moveTo(0, lane.y + lane.height - GAP / 2);
		g.lineTo(width, lane.y + lane.height - GAP / 2);
		g.stroke();
		g.fillStyle = css('--text');
		g.textAlign = 'left';
		g.textBaseline = 'top';
		g.save();
		g.beginPath();
		g.rect(0, lane.y, LEFT - 6, lane.height);
		g.clip();
		g.fillText(thread.comm, 6, lane.y + 2);
		g.fillStyle = css('--muted');
		g.fillText(thread.tid ? String(thread.tid) : '', 6, lane.y + 15);
		g.restore();
		g.save();
		g.beginPath();
		g.rect(LEFT, lane.y, scale.width, lane.height);
		g.clip();
		this.drawStrip(g, scale, lane);
		this.drawTicks(g, scale, lane);
		this.drawSlices(g, scale, lane);
		g.restore();
	}

	drawStrip(g, scale, lane) {
		g.fillStyle = css('--accent');
		const log = Math.log1p(this.most);
		for (let i = 0; i < lane.strip.length; i++)
			if (lane.strip[i]) {
				const x0 = scale.x(this.stripStart + i * this.stripWidth), x1 = scale.x(this.stripStart + (i + 1) * this.stripWidth);
				const h = Math.max(1, (STRIP - 2) * Math.log1p(lane.strip[i]) / log);
				g.fillRect(x0, lane.y + STRIP - 2 - h, Math.max(1, x1 - x0), h);
			}
	}

	drawTicks(g, scale, lane) {
		const { events } = this.model.data, y = lane.y + STRIP;
		let last = -1;
		for (const i of lane.ticks) {
			const x = Math.round(scale.x(events.time[i]));
			if (x === last || x < LEFT || x > LEFT + scale.width || !this.model.has(events.key[i], lane.thread, events.time[i], 0, undefined))
				continue;
			last = x;
			g.fillStyle = keyColour(events.key[i]);
			g.fillRect(x, y, 2, 8);
		}
	}

	drawSlices(g, scale, lane) {
		const { slices, keys } = this.model.data, ends = new Float64Array(MOST_ROWS).fill(-1), none = this.model.sel.path;
		for (const i of lane.slices) {
			const start = slices.start[i], dur = slices.dur[i], depth = slices.depth[i], key = slices.key[i];
			if (start + dur < scale.lo || start > scale.hi || depth >= MOST_ROWS)
				continue;
			if (!this.model.has(key, lane.thread, this.clampTime(start, dur), dur, none && none.tree.kind === 'calls' ? slices.path[i] : undefined))
				continue;
			const x0 = Math.max(scale.x(start), LEFT - 1), x1 = Math.min(scale.x(start + dur), LEFT + scale.width + 1), w = Math.max(x1 - x0, 1);
			/* What is not wider than the pixel that is drawn already is not seen. */
			if (x0 + w <= ends[depth] && w <= 1)
				continue;
			ends[depth] = Math.max(ends[depth], Math.floor(x0) + 1);
			const y = lane.y + STRIP + depth * ROW, colour = keyColour(key);
			g.fillStyle = colour;
			g.fillRect(x0, y, w > 3 ? w - 0.7 : w, ROW - 2);
			if (w > 3)
				this.shown.push({ i, x0, x1: x0 + w, y, thread: lane.thread });
			if (w > 34) {
				g.save();
				g.beginPath();
				g.rect(x0, y, w - 4, ROW);
				g.clip();
				g.fillStyle = inkOn(colour);
				g.textBaseline = 'middle';
				g.fillText(keys[key].name, x0 + 4, y + ROW / 2 - 1);
				g.restore();
			}
		}
	}

	/* A call that reaches into the window is seen. */
	clampTime(start, dur) {
		const [lo, hi] = this.model.window();
		return Math.max(start, Math.min(lo, start + dur)) > hi ? start : Math.max(start, lo);
	}

	at(x, y) {
		for (let k = this.shown.length - 1; k >= 0; k--) {
			const s = this.shown[k];
			if (x >= s.x0 && x <= s.x1 && y >= s.y && y < s.y + ROW)
				return s;
		}
		return null;
	}

	laneAt(y) {
		return this.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height);
	}

	click(x, y) {
		const slice = this.at(x, y), lane = this.laneAt(y);
		if (slice)
			this.model.toggle('keys', this.model.data.slices.key[slice.i], true);
		else if (lane && x < LEFT)
			this.model.toggle('threads', lane.thread, true);
	}

	hover(x, y, e) {
		const slice = e && this.at(x, y), lane = e && this.laneAt(y), { data } = this.model;
		this.canvas.style.cursor = slice || (lane && x < LEFT) ? 'pointer' : 'crosshair';
		if (slice) {
			const s = data.slices, i = slice.i;
			showTip(e.clientX, e.clientY, [data.keys[s.key[i]].name, fmtNs(s.dur[i]), `from ${timeLabel(s.start[i], 0, data.span)}`]);
		} else if (lane && x < LEFT) {
			const t = data.threads[lane.thread];
			showTip(e.clientX, e.clientY, [t.comm, `thread ${t.tid} of process ${t.pid}`, 'click to select it']);
		} else {
			hideTip();
		}
	}

	resize() {
		this.draw();
	}
}
