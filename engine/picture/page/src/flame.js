// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Flame graph and icicle of the stacks, or of the calls, that are selected; by d3-flame-graph.

import flamegraph from 'd3-flame-graph';
import { select } from 'd3-selection';

import { byId, colourOf, el, fmtCount, fmtExact, fmtNs, GREY, inkOn, keyColour } from './util.js';

const CELL = 19;

export class FlameView {
	constructor(model) {
		this.model = model;
		this.box = byId('flame');
		this.trees = model.data.trees;
		this.tree = this.trees[0] || null;
		this.inverted = true;
		this.by = 'ns';
		this.keyOf = new Map(model.data.keys.map((key, i) => [key.name, i]));
		byId('flame-trees').replaceChildren(...this.trees.length > 1 ? this.trees.map((tree) => el('button', { text: tree.kind, 'data-tree': tree.kind,
			on: { click: () => { this.tree = tree; this.update(); } } })) : []);
		for (const b of document.querySelectorAll('[data-flame]'))
			b.addEventListener('click', () => { this.inverted = b.dataset.flame === 'icicle'; this.update(); });
		for (const b of document.querySelectorAll('[data-by]'))
			b.addEventListener('click', () => { this.by = b.dataset.by; this.update(); });
		byId('flame-search').addEventListener('input', () => this.search());
		this.box.addEventListener('keydown', (e) => this.key(e) && e.preventDefault());
	}

	/* What has hits, as the library wants it: {name, value: its own, children}. */
	build() {
		const { tree } = this, { nodes } = tree, n = nodes.parent.length, own = new Float64Array(n), sum = new Float64Array(n);
		const byNs = this.by === 'ns' && tree.kind === 'calls';
		this.model.each(['path'], (c, i) => {
			own[c.path[i]] += byNs ? c.self[i] : c.count[i];
		}, tree.cube);
		sum.set(own);
		for (let i = n - 1; i > 0; i--)
			sum[nodes.parent[i]] += sum[i];
		const items = new Array(n), root = { name: tree.name(0), value: own[0], children: [], node: 0 };
		items[0] = root;
		for (let i = 1; i < n; i++)
			if (sum[i] > 0) {
				items[i] = { name: tree.name(i), value: own[i], children: [], node: i };
				items[nodes.parent[i]].children.push(items[i]);
			}
		this.total = sum[0];
		this.byNs = byNs;
		return root;
	}

	amount(v) {
		return this.byNs ? fmtNs(v) : fmtExact(v);
	}

	label(d) {
		const all = this.total ? `, ${(100 * d.value / this.total).toFixed(1)} %` : '';
		return `${d.data.name}: ${this.amount(d.value)}${this.byNs ? '' : this.tree.kind === 'calls' ? ' calls' : ' events'}${all}` +
			(d.data.value && d.children ? `; itself ${this.amount(d.data.value)}` : '');
	}

	colour(d) {
		const name = d.data.name;
		if (!d.data.node)
			return GREY;
		if (this.keyOf.has(name))
			return keyColour(this.keyOf.get(name));
		let hash = 7;
		for (let i = 0; i < name.length; i++)
			hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
		return colourOf(hash);
	}

	pressed() {
		const byTime = this.tree && this.tree.kind === 'calls';
		for (const b of document.querySelectorAll('[data-flame]'))
			b.setAttribute('aria-pressed', (b.dataset.flame === 'icicle') === this.inverted);
		for (const b of document.querySelectorAll('[data-tree]'))
			b.setAttribute('aria-pressed', this.tree && b.dataset.tree === this.tree.kind);
		for (const b of document.querySelectorAll('[data-by]')) {
			b.setAttribute('aria-pressed', b.dataset.by === (byTime ? this.by : 'count'));
			b.hidden = !byTime;
		}
	}

	update() {
		this.pressed();
		const data = this.tree && this.build(), none = !data || !this.total;
		byId('flame-none').hidden = !none;
		byId('flame-left').textContent = this.tree && this.tree.folded ? `${fmtCount(this.tree.folded)} hits whose path came too late stand at their callers` : '';
		this.box.hidden = none;
		if (none)
			return;
		if (this.chart)
			this.chart.destroy();
		this.frame = null;
		this.chart = flamegraph().width(this.box.clientWidth).cellHeight(CELL).inverted(this.inverted).selfValue(true).sort((a, b) => b.value - a.value)
			.transitionDuration(0).minFrameSize(0.7).title('').setLabelHandler((d) => this.label(d)).setColorMapper((d) => this.tint(d))
			.setDetailsHandler((text) => { byId('flame-at').textContent = text || this.resting(); })
			.setSearchMatch((d, term) => d.data.name.toLowerCase().includes(term)).setSearchHandler((r, sum, total) => this.found(r, sum, total))
			.onClick((d) => this.clicked(d));
		select(this.box).datum(data).call(this.chart);
		this.root = select(this.box).datum();
		this.zoom();
		this.search();
		this.settle();
		/* The library leaves two rows for a title. */
		this.box.firstChild.style.marginBlock = this.inverted ? `0 ${-2 * CELL}px` : `${-2 * CELL}px 0`;
		this.ink();
	}

	tint(d) {
		return this.term && !d.highlight ? '#8888884d' : this.colour(d);
	}

	/* Frames do not grow to their width, they have it. */
	settle() {
		for (const g of this.box.querySelectorAll('g')) {
			select(g.firstChild).interrupt().attr('width', g.getAttribute('width'));
			g.querySelector('.d3-flame-graph-label').textContent = g.getAttribute('name');
		}
	}

	/* Names are black or white, as their frames want it. */
	ink() {
		for (const div of this.box.querySelectorAll('.d3-flame-graph-label')) {
			const d = select(div.parentNode.parentNode).datum();
			div.style.color = this.term && !d.highlight ? '' : inkOn(this.colour(d));
		}
	}

	resting() {
		const path = this.model.sel.path;
		return path ? `only below ${path.tree.name(path.node)}` : this.total ? `${this.amount(this.total)} in all` : '';
	}

	find(node) {
		let found = null;
		this.root.each((d) => { if (d.data.node === node) found = d; });
		return found;
	}

	/* The frame that is selected fills the width. */
	zoom() {
		const { path } = this.model.sel, d = path && path.tree === this.tree ? this.find(path.node) : null;
		if (d) {
			this.zooming = true;
			this.chart.zoomTo(d);
			this.zooming = false;
		}
		byId('flame-at').textContent = this.resting();
	}

	clicked(d) {
		if (this.zooming)
			return;
		this.model.set({ path: d.data.node ? { tree: this.tree, node: d.data.node } : null });
	}

	search() {
		const term = byId('flame-search').value.trim().toLowerCase();
		if (!this.chart || (!term && !this.term))
			return;
		this.term = term;
		if (term) {
			this.chart.search(term);
		} else {
			byId('flame-found').textContent = '';
			this.chart.clear();
		}
		this.ink();
	}

	found(results, sum) {
		byId('flame-found').textContent = `${fmtCount(results.length)} frames, ${this.total ? (100 * sum / this.total).toFixed(1) : 0} %`;
	}

	/* Arrows go to callers, callees and neighbours; Enter selects. */
	key(e) {
		const deeper = this.inverted ? 'ArrowDown' : 'ArrowUp', back = this.inverted ? 'ArrowUp' : 'ArrowDown';
		let d = this.frame || this.root;
		if (!d)
			return false;
		const row = d.parent ? d.parent.children : [d], at = row.indexOf(d);
		switch (e.key) {
		case deeper: d = d.children && d.children.length ? d.children[0] : d; break;
		case back: d = d.parent || d; break;
		case 'ArrowLeft': d = row[Math.max(0, at - 1)]; break;
		case 'ArrowRight': d = row[Math.min(row.length - 1, at + 1)]; break;
		case 'Enter': this.clicked(d); return true;
		default: return false;
		}
		this.frame = d;
		select(this.box).selectAll('g').classed('at', (other) => other === d);
		byId('flame-at').textContent = byId('said').textContent = this.label(d);
		return true;
	}

	resize() {
		this.update();
	}
}
