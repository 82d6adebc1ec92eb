// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Tables: functions, threads, and the events that the page keeps.

import { quantile } from './model.js';
import { byId, el, fmtCount, fmtExact, fmtNs, keyColour } from './util.js';

/* A table whose rows select: click, Enter or blank; with Control, Shift or Meta they are added. */
class PickTable {
	constructor(id, which, heads) {
		this.which = which;
		this.body = byId(id);
		this.heads = heads;
		this.sort = heads.find((h) => h.first).name;
		const row = el('tr', {}, ...heads.map((h) => el('th', { scope: 'col', class: h.text ? 'text' : h.minor ? 'minor' : '' },
			el('button', { text: h.name, title: h.title, on: { click: () => { this.sort = h.name; this.update(); } } }))));
		this.rows = el('tbody');
		this.body.replaceChildren(el('table', {}, el('thead', {}, row), this.rows));
		this.headCells = [...row.children];
	}

	fill(items, model) {
		const by = this.heads.find((h) => h.name === this.sort), chosen = model.sel[this.which];
		items.sort((a, b) => by.text ? a[by.of].localeCompare(b[by.of]) : b[by.of] - a[by.of]);
		this.headCells.forEach((c, i) => c.setAttribute('aria-sort', this.heads[i].name === this.sort ? this.heads[i].text ? 'ascending' : 'descending' : 'none'));
		const most = Math.max(...items.map((item) => item.weigh), 0), at = document.activeElement && document.activeElement.dataset.pick;
		this.rows.replaceChildren(...items.slice(0, 500).map((item) => {
			const pick = (e) => model.toggle(this.which, item.id, !(e.ctrlKey || e.metaKey || e.shiftKey));
			const row = el('tr', { tabindex: 0, 'data-pick': `${this.which}${item.id}`, 'aria-selected': Boolean(chosen && chosen.has(item.id)).toString(), on: {
				click: pick, keydown: (e) => {
					if (e.key === 'Enter' || e.key === ' ') {
						e.preventDefault();
						pick(e);
					} else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
						const to = e.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
						if (to)
							to.focus();
						e.preventDefault();
					}
				},
			} }, ...this.heads.map((h) => el('td', { text: h.show ? h.show(item[h.of]) : item[h.of], class: h.text ? 'text' : h.minor ? 'minor' : '', title: h.text ? item[h.of] : null })));
			row.style.setProperty('--part', `${most ? 100 * item.weigh / most : 0}%`);
			if (item.colour)
				row.firstChild.prepend(Object.assign(el('i', { class: 'dot' }), { style: `background:${item.colour}` }));
			return row;
		}));
		if (at)
			this.rows.querySelector(`[data-pick="${at}"]`)?.focus();
	}
}

/* What each id of a column has: hits, calls, time, and its own histogram. */
function sums(model, skip, column) {
	const all = new Map();
	model.each(skip, (c, i) => {
		const id = c[column][i], n = c.count[i];
		let s = all.get(id);
		if (!s)
			all.set(id, s = { id, events: 0, n: 0, total: 0, counts: new Map(), step: c.step });
		s.events += n;
		if (!c.lat[i])
			return;
		s.n += n;
		s.total += c.ns[i];
		s.counts.set(c.lat[i], (s.counts.get(c.lat[i]) || 0) + n);
	});
	return [...all.values()];
}

const ns = (v) => v ? fmtNs(v) : '';
const count = (v) => v ? fmtCount(v) : '';

export class FunctionsView extends PickTable {
	constructor(model) {
		const hasTime = model.data.cube.lat.some((l) => l > 0);
		super('functions', 'keys', [
			{ name: 'function', of: 'name', text: true }, { name: 'events', of: 'events', show: count, first: !hasTime, minor: hasTime },
			...hasTime ? [{ name: 'calls', of: 'n', show: count }, { name: 'total', of: 'total', show: ns, first: true, title: 'time in it and in what it called' },
				{ name: 'p50', of: 'p50', show: ns, minor: true }, { name: 'p99', of: 'p99', show: ns }, { name: 'max', of: 'max', show: ns }] : [],
		]);
		this.model = model;
	}

	update() {
		this.fill(sums(this.model, ['keys'], 'key').map((s) => ({ ...s, name: this.model.data.keys[s.id].name, colour: keyColour(s.id),
			p50: quantile(s, 0.5), p99: quantile(s, 0.99), max: quantile(s, 1), weigh: s.total || s.events })), this.model);
	}
}

export class ThreadsView extends PickTable {
	constructor(model) {
		super('threads', 'threads', [
			{ name: 'thread', of: 'name', text: true }, { name: 'pid', of: 'pid', minor: true }, { name: 'tid', of: 'tid' },
			{ name: 'events', of: 'events', show: count, first: true }, { name: 'in calls', of: 'total', show: ns, title: 'time in calls, those that they made counted again' },
		]);
		this.model = model;
	}

	update() {
		this.fill(sums(this.model, ['threads'], 'thread').map((s) => {
			const t = this.model.data.threads[s.id];
			return { ...s, name: t.comm, pid: t.pid || '', tid: t.tid || '', weigh: s.events };
		}), this.model);
	}
}

const ROW = 24;
/* Two events that follow each other are told apart. */
const exactTime = (t) => `${(t / 1e6).toFixed(6)} ms`;

/* Only the rows that are seen are there. */
export class EventsView {
	constructor(model) {
		this.model = model;
		this.box = byId('events');
		this.list = [];
		this.sort = 'time';
		this.at = -1;
		this.space = el('div', { class: 'space' });
		this.rows = el('div', { class: 'rows' });
		this.space.append(this.rows);
		this.box.append(this.space);
		this.box.addEventListener('scroll', () => this.draw());
		this.box.addEventListener('keydown', (e) => this.key(e) && e.preventDefault());
		byId('filter').addEventListener('input', (e) => model.set({ text: e.target.value.trim().toLowerCase() }));
		for (const b of document.querySelectorAll('[data-sort]'))
			b.addEventListener('click', () => { this.sort = b.dataset.sort; this.update(); });
		const { events, keys, threads } = model.data;
		this.lower = (i) => `${keys[events.key[i]].name} ${threads[events.thread[i]].comm} ${threads[events.thread[i]].tid} ${events.text[i]}`.toLowerCase();
	}

	update() {
		const { data, sel } = this.model, { events } = data, list = [], words = sel.text ? sel.text.split(/\s+/) : null;
		const byCalls = sel.path && sel.path.tree.kind === 'calls', paths = byCalls ? events.path : events.stack;
		for (let i = 0; i < events.time.length; i++)
			if (this.model.has(events.key[i], events.thread[i], events.time[i], events.ns[i], paths[i]) &&
			    (!words || words.every((w) => this.lower(i).includes(w))))
				list.push(i);
		if (this.sort === 'latency')
			list.sort((a, b) => events.ns[b] - events.ns[a]);
		this.list = list;
		this.at = -1;
		this.space.style.height = `${list.length * ROW}px`;
		this.box.scrollTop = 0;
		for (const b of document.querySelectorAll('[data-sort]'))
			b.setAttribute('aria-pressed', b.dataset.sort === this.sort);
		const kept = events.time.length, all = data.meta.events;
		byId('events-n').textContent = `${fmtExact(list.length)} of ${fmtExact(kept)}${kept < all ? ' kept' : ''}`;
		byId('events-told').textContent = kept < all ? `The page keeps ${fmtExact(kept)} of ${fmtExact(all)} events: ${data.told.events}. All other views count all of them.` : '';
		this.draw();
	}

	draw() {
		const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4), n = Math.ceil(this.box.clientHeight / ROW) + 8;
		const { events, keys, threads } = this.model.data;
		this.rows.style.top = `${first * ROW}px`;
		this.rows.replaceChildren(...this.list.slice(first, first + n).map((i, k) => {
			const t = threads[events.thread[i]];
			return el('div', { class: first + k === this.at ? 'row at' : 'row', role: 'row', on: { click: () => { this.at = first + k; this.box.focus(); this.draw(); }, dblclick: () => this.around(i) } },
				el('span', { class: 'time', text: exactTime(events.time[i]) }), el('span', { class: 'thread', text: `${t.comm} ${t.tid}`, title: `${t.comm} ${t.tid}` }),
				el('span', { class: 'cpu', text: events.cpu[i] }), el('span', { class: 'name', text: `${events.back[i] ? '← ' : ''}${keys[events.key[i]].name}`, title: keys[events.key[i]].name }),
				el('span', { class: 'ns', text: events.ns[i] ? fmtNs(events.ns[i]) : '' }), el('span', { class: 'args', text: events.text[i], title: events.text[i] }));
		}));
	}

	/* The time around an event. */
	around(i) {
		const { events, span } = this.model.data, half = Math.max(events.ns[i] * 2, span / 200), t = events.time[i];
		this.model.set({ time: [Math.max(0, t - half), Math.min(span, t + half)] });
	}

	key(e) {
		const page = Math.floor(this.box.clientHeight / ROW) - 1, step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
		if (e.key === 'Enter' && this.at >= 0) {
			this.around(this.list[this.at]);
			return true;
		}
		if (!step || !this.list.length)
			return false;
		this.at = Math.max(0, Math.min(this.list.length - 1, this.at + step));
		const y = this.at * ROW;
		if (y < this.box.scrollTop)
			this.box.scrollTop = y;
		else if (y + ROW > this.box.scrollTop + this.box.clientHeight)
			this.box.scrollTop = y + ROW - this.box.clientHeight;
		this.draw();
		return true;
	}

	resize() {
		this.draw();
	}
}
