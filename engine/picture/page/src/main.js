// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// The page: data in, views out.

import { HistogramView, RateView } from './charts.js';
import { readData } from './data.js';
import { FlameView } from './flame.js';
import { HeatView } from './heat.js';
import { Model, quantile } from './model.js';
import { EventsView, FunctionsView, ThreadsView } from './tables.js';
import { spanText } from './time.js';
import { TimelineView } from './timeline.js';
import { byId, el, fmtCount, fmtExact, fmtNs, fmtRate } from './util.js';

const THEMES = ['system', 'light', 'dark'];

function head(data) {
	const { meta } = data, what = [meta.host, meta.when, meta.kernel && `Linux ${meta.kernel}`, meta.machine].filter(Boolean);
	document.title = `ubp: ${meta.host || 'report'}${meta.when ? `, ${meta.when}` : ''}`;
	byId('what').textContent = what.join(' · ');
	byId('told').replaceChildren(...data.told.warnings.map((text) => el('li', { text })));
	byId('told').hidden = !data.told.warnings.length;
}

function tiles(model) {
	const hist = model.histogram([]), [lo, hi] = model.window(), threads = new Set();
	model.each([], (c, i) => threads.add(c.thread[i]));
	const tile = (name, value, title) => el('div', { class: 'tile', title }, el('b', { text: value }), el('span', { text: name }));
	byId('tiles').replaceChildren(
		tile('events', fmtCount(hist.all), fmtExact(hist.all)), tile('events/s', fmtRate(hist.all / ((hi - lo) / 1e9))), tile('of time', fmtNs(hi - lo)),
		tile(threads.size === 1 ? 'thread' : 'threads', fmtCount(threads.size)),
		...hist.n ? [tile('calls timed', fmtCount(hist.n), fmtExact(hist.n)), tile('median', fmtNs(quantile(hist, 0.5))), tile('p99', fmtNs(quantile(hist, 0.99))),
			tile('longest', fmtNs(quantile(hist, 1)))] : [],
		...model.data.meta.lost ? [tile('lost', fmtCount(model.data.meta.lost), 'recorded by nobody: the target was faster than what reads')] : []);
}

/* A chip for each selection, which takes it back. */
function chips(model) {
	const { sel, data } = model, names = (set, of) => [...set].slice(0, 3).map(of).join(', ') + (set.size > 3 ? ` and ${set.size - 3} more` : '');
	const all = [
		sel.time && ['time', spanText(sel.time, data.span)], sel.lat && ['lat', `${fmtNs(sel.lat[0])} to ${fmtNs(sel.lat[1])}`],
		sel.keys && ['keys', names(sel.keys, (k) => data.keys[k].name)],
		sel.threads && ['threads', names(sel.threads, (t) => `${data.threads[t].comm} ${data.threads[t].tid}`)],
		sel.path && ['path', `below ${sel.path.tree.name(sel.path.node)}`],
	].filter(Boolean);
	const bar = byId('chips');
	bar.replaceChildren(...all.map(([which, text]) => el('button', { class: 'chip', title: 'take this selection back', 'data-chip': which,
		on: { click: () => model.set({ [which]: null }) } }, el('span', { text }), el('span', { class: 'x', text: '×', 'aria-hidden': 'true' }))),
	all.length ? el('button', { class: 'plain', id: 'clear', text: 'clear all', title: 'Esc', on: { click: () => clear(model) } })
		: el('span', { class: 'hint', text: 'Drag in a chart or click a row: all other views show only what is selected.' }));
	bar.classList.toggle('has', all.length > 0);
}

function clear(model) {
	byId('filter').value = '';
	model.clear();
}

function theme(redraw) {
	const root = document.documentElement, button = byId('theme');
	let at = 0;
	const put = (i) => {
		at = i;
		if (i)
			root.dataset.theme = THEMES[i];
		else
			delete root.dataset.theme;
		byId('theme-name').textContent = THEMES[i];
		redraw();
	};
	button.addEventListener('click', () => put((at + 1) % THEMES.length));
	window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}

const VIEWS = ['rate', 'heat', 'histogram', 'functions', 'timeline', 'flame', 'events'];

function keys(model) {
	document.addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === 'Escape') {
			if (!document.querySelector('dialog[open]'))
				clear(model);
			return;
		}
		if (e.target.matches('input'))
			return;
		const view = VIEWS[Number(e.key) - 1];
		if (view) {
			const box = byId(view);
			(box.tabIndex >= 0 ? box : box.querySelector('[tabindex="0"]'))?.focus({ preventScroll: true });
			box.closest('section').scrollIntoView({ block: 'nearest' });
		} else if (e.key === '/') {
			byId('filter').focus();
		} else if (e.key === '?') {
			byId('help').showModal();
		} else if (e.key === 't') {
			byId('theme').click();
		} else {
			return;
		}
		e.preventDefault();
	});
}

function dialogs() {
	byId('about-text').textContent = byId('licences').textContent;
	for (const name of ['help', 'about'])
		byId(`${name}-open`).addEventListener('click', () => byId(name).showModal());
	for (const b of document.querySelectorAll('dialog .close'))
		b.addEventListener('click', () => b.closest('dialog').close());
}

function start() {
	const data = readData(byId('data').textContent), model = new Model(data);
	byId('data').remove();
	head(data);
	const views = [RateView, HeatView, HistogramView, FunctionsView, ThreadsView, TimelineView, FlameView, EventsView].map((View) => new View(model));
	const draw = () => {
		tiles(model);
		chips(model);
		for (const view of views)
			view.update();
		document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1);
	};
	const redraw = () => {
		for (const view of views) {
			if (view.u)
				view.u.redraw();
			else
				view.update();
		}
	};
	model.onChange(draw);
	draw();
	theme(redraw);
	keys(model);
	dialogs();
	let width = document.body.clientWidth;
	new ResizeObserver(() => {
		if (document.body.clientWidth === width)
			return;
		width = document.body.clientWidth;
		requestAnimationFrame(() => views.forEach((view) => view.resize && view.resize()));
	}).observe(document.body);
}

start();
