// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// The heat map: time from left to right, latency (or functions) upwards, more is lighter. Drag to select.

import { interpolateCividis, interpolateViridis } from 'd3-scale-chromatic';

import { binOf, latOf } from './data.js';
import { BOTTOM, LEFT, RIGHT, TimeScale, dragging, drawTimeAxis, timeKey, timeLabel } from './time.js';
import { byId, css, fitCanvas, fmtCount, fmtNs, hideTip, isDark, showTip } from './util.js';

const HEIGHT = 284, TOP = 6, MOST_ROWS = 24;

export class HeatView {
	constructor(model) {
		this.model = model;
		this.canvas = byId('heat');
		this.mode = model.data.cube.lat.some((l) => l > 0) ? 'lat' : 'keys';
		this.cursor = null;
		dragging(this.canvas, byId('heat-drag'), {
			done: (...box) => this.select(...box),
			click: (x, y) => { this.cursor = this.cellAt(x, y); this.draw(); },
			hover: (x, y, e) => this.hover(x, y, e),
		});
		this.canvas.addEventListener('dblclick', () => model.set({ time: null, lat: null }));
		this.canvas.addEventListener('keydown', (e) => this.key(e) && e.preventDefault());
		for (const b of document.querySelectorAll('[data-heat]'))
			b.addEventListener('click', () => { this.mode = b.dataset.heat; this.cursor = null; this.update(); });
	}

	/* Which rows there are: {n, label(row), of(cube, i), select(lo, hi)}, row 0 at the bottom. */
	rows(cube) {
		return this.mode === 'lat' ? this.latRows(cube) : this.keyRows();
	}

	latRows(cube) {
		let lo = Infinity, hi = 0;
		for (const l of this.model.data.cube.lat)
			if (l) {
				lo = Math.min(lo, l);
				hi = Math.max(hi, l);
			}
		/* Two bins a row, or as many as the cells tell apart. */
		const per = Math.max(cube.step, hi - lo > 100 ? 4 : 2), base = Math.floor((lo - 1) / per) * per + 1, n = hi ? Math.floor((hi - base) / per) + 1 : 0;
		return {
			n, edge: (row) => fmtNs(latOf(base + row * per)),
			tell: (row) => `${fmtNs(latOf(base + row * per))} to ${fmtNs(latOf(base + (row + 1) * per))}`,
			of: (c, i) => c.lat[i] ? Math.floor((c.lat[i] - base) / per) : -1,
			select: (a, b) => ({ lat: [latOf(base + a * per), latOf(base + (b + 1) * per) - 1] }),
			at: (ns) => (binOf(ns) - base) / per,
		};
	}

	keyRows() {
		const totals = new Map();
		this.model.each(['time', 'keys'], (c, i) => totals.set(c.key[i], (totals.get(c.key[i]) || 0) + c.count[i]));
		const keys = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, MOST_ROWS).reverse();
		const row = new Map(keys.map((key, i) => [key, i])), name = (r) => this.model.data.keys[keys[r]].name;
		return {
			n: keys.length, label: name, tell: name, of: (c, i) => row.has(c.key[i]) ? row.get(c.key[i]) : -1,
			select: (a, b) => ({ keys: new Set(keys.slice(a, b + 1)) }),
		};
	}

	update() {
		for (const b of document.querySelectorAll('[data-heat]'))
			b.setAttribute('aria-pressed', b.dataset.heat === this.mode);
		byId('heat-title').textContent = this.mode === 'lat' ? 'Latency over time' : 'Functions over time';
		const skip = this.mode === 'lat' ? ['lat'] : ['keys'], width = this.canvas.parentNode.clientWidth;
		/* Names want room. */
		this.left = this.mode === 'lat' ? LEFT : Math.max(LEFT, Math.min(150, width / 4));
		const cube = this.model.cube(skip), rows = this.rows(cube), [lo, hi] = this.model.window();
		const first = Math.floor(lo / cube.width), n = Math.max(1, Math.ceil(hi / cube.width) - first);
		/* Not more columns than are seen. */
		const per = Math.ceil(n / Math.max(60, (width - this.left - RIGHT) / 3)), cols = Math.ceil(n / per);
		const cells = new Float64Array(cols * Math.max(rows.n, 1));
		let most = 0;
		this.model.each(skip, (c, i) => {
			const row = rows.of(c, i), col = Math.floor((c.t[i] - first) / per);
			if (row < 0 || row >= rows.n || col < 0 || col >= cols)
				return;
			const at = row * cols + col;
			cells[at] += c.count[i];
			most = Math.max(most, cells[at]);
		});
		Object.assign(this, { rowsNow: rows, cells, cols, first: first * cube.width, colWidth: per * cube.width, most });
		byId('heat-none').hidden = rows.n > 0;
		byId('heat-scale-most').textContent = most ? fmtCount(most) : '';
		byId('heat-bins').textContent = `a column is ${fmtNs(this.colWidth)}`;
		this.draw();
	}

	draw() {
		const width = this.canvas.parentNode.clientWidth, g = fitCanvas(this.canvas, width, HEIGHT);
		const scale = this.scale = new TimeScale(this.model.window(), width, this.left), { rowsNow: rows, cells, cols } = this;
		const h = this.rowHeight = (HEIGHT - TOP - BOTTOM) / Math.max(rows.n, 1);
		const colour = isDark() ? interpolateViridis : interpolateCividis, y = (row) => HEIGHT - BOTTOM - (row + 1) * h;
		g.fillStyle = css('--well');
		g.fillRect(this.left, TOP, scale.width, HEIGHT - TOP - BOTTOM);
		g.save();
		g.beginPath();
		g.rect(this.left, TOP, scale.width, HEIGHT - TOP - BOTTOM);
		g.clip();
		const logMost = Math.log1p(this.most);
		for (let row = 0; row < rows.n; row++)
			for (let col = 0; col < cols; col++) {
				const n = cells[row * cols + col];
				if (!n)
					continue;
				const x0 = scale.x(this.first + col * this.colWidth), x1 = scale.x(this.first + (col + 1) * this.colWidth);
				g.fillStyle = colour(0.12 + 0.88 * Math.log1p(n) / logMost);
				g.fillRect(x0, y(row), Math.max(1, x1 - x0 + 0.4), h + (rows.label && h > 8 ? -1 : 0.4));
			}
		const lat = this.mode === 'lat' && this.model.sel.lat;
		if (lat)
			this.drawBand(g, scale, rows, lat);
		if (this.cursor)
			this.drawCursor(g, scale, y, h);
		g.restore();
		this.drawRows(g, rows, y, h);
		drawTimeAxis(g, scale, HEIGHT);
	}

	drawBand(g, scale, rows, [lo, hi]) {
		const bottom = HEIGHT - BOTTOM - rows.at(lo) * this.rowHeight, top = HEIGHT - BOTTOM - rows.at(hi + 1) * this.rowHeight;
		g.fillStyle = css('--dim');
		g.fillRect(scale.left, TOP, scale.width, Math.max(0, top - TOP));
		g.fillRect(scale.left, bottom, scale.width, HEIGHT);
		g.strokeStyle = css('--accent');
		g.lineWidth = 1.5;
		g.strokeRect(scale.left + 1, top, scale.width - 2, bottom - top);
	}

	drawCursor(g, scale, y, h) {
		const { col, row, anchor } = this.cursor, from = anchor || this.cursor;
		const x0 = scale.x(this.first + Math.min(col, from.col) * this.colWidth), x1 = scale.x(this.first + (Math.max(col, from.col) + 1) * this.colWidth);
		const top = y(Math.max(row, from.row)), bottom = y(Math.min(row, from.row)) + h;
		for (const [colour, w] of [[css('--panel'), 4], [css('--text'), 2]]) {
			g.strokeStyle = colour;
			g.lineWidth = w;
			g.strokeRect(x0 - 1, top - 1, Math.max(3, x1 - x0 + 2), bottom - top + 2);
		}
	}

	drawRows(g, rows, y, h) {
		g.fillStyle = css('--muted');
		g.textAlign = 'right';
		g.textBaseline = 'middle';
		const every = Math.max(1, Math.ceil(16 / h));
		for (let row = 0; row < rows.n; row += every) {
			let text = rows.label ? rows.label(row) : rows.edge(row);
			while (text.length > 3 && g.measureText(text).width > this.left - 10)
				text = `${text.slice(0, -2)}…`;
			g.fillText(text, this.left - 6, rows.label ? y(row) + h / 2 : y(row) + h);
		}
	}

	cellAt(x, y) {
		const col = Math.floor((this.scale.ns(x) - this.first) / this.colWidth), row = Math.floor((HEIGHT - BOTTOM - y) / this.rowHeight);
		return col >= 0 && col < this.cols && row >= 0 && row < this.rowsNow.n ? { col, row } : null;
	}

	tellCell({ col, row }) {
		const n = this.cells[row * this.cols + col], at = this.first + col * this.colWidth;
		return [`${fmtCount(n)} ${this.mode === 'lat' ? 'calls' : 'events'}`, this.rowsNow.tell(row),
			`at ${timeLabel(at, 0, this.model.data.span)}, for ${fmtNs(this.colWidth)}`];
	}

	hover(x, y, e) {
		const cell = e && this.cellAt(x, y);
		if (cell)
			showTip(e.clientX, e.clientY, this.tellCell(cell));
		else
			hideTip();
	}

	selectCells(a, b, c, d) {
		const span = this.model.data.span;
		this.cursor = null;
		this.model.set({ time: [Math.max(0, this.first + a * this.colWidth), Math.min(span, this.first + (b + 1) * this.colWidth)],
			...this.rowsNow.select(c, d) });
	}

	select(x0, y0, x1, y1) {
		const clamp = (v, n) => Math.max(0, Math.min(n - 1, v)), rows = this.rowsNow.n;
		if (!rows)
			return;
		const col = (x) => clamp(Math.floor((this.scale.ns(x) - this.first) / this.colWidth), this.cols);
		const row = (y) => clamp(Math.floor((HEIGHT - BOTTOM - y) / this.rowHeight), rows);
		this.selectCells(col(x0), col(x1), row(y1), row(y0));
	}

	/* Arrows move a cell, with Shift they widen it, Enter selects it. */
	key(e) {
		const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key], c = this.cursor;
		if (e.key === 'Enter' && c) {
			const a = c.anchor || c;
			this.selectCells(Math.min(a.col, c.col), Math.max(a.col, c.col), Math.min(a.row, c.row), Math.max(a.row, c.row));
			return true;
		}
		if (!move || !this.rowsNow.n)
			return timeKey(this.model, e);
		const from = c || { col: Math.floor(this.cols / 2), row: Math.floor(this.rowsNow.n / 2) };
		this.cursor = {
			col: Math.max(0, Math.min(this.cols - 1, from.col + move[0])), row: Math.max(0, Math.min(this.rowsNow.n - 1, from.row + move[1])),
			anchor: e.shiftKey ? from.anchor || { col: from.col, row: from.row } : null,
		};
		byId('said').textContent = this.tellCell(this.cursor).join(', ');
		this.draw();
		return true;
	}

	resize() {
		this.update();
	}
}
