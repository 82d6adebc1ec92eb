// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// What is selected, and the cells that are: a selection in one view narrows the others, never its own.

import { binOf, latOf } from './data.js';

export class Model {
	constructor(data) {
		this.data = data;
		this.listeners = [];
		this.clear(true);
	}

	clear(silent = false) {
		this.sel = { time: null, lat: null, keys: null, threads: null, path: null, text: '' };
		if (!silent)
			this.changed();
	}

	onChange(fn) {
		this.listeners.push(fn);
	}

	set(part) {
		Object.assign(this.sel, part);
		this.changed();
	}

	changed() {
		if (this.pending)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			for (const fn of this.listeners)
				fn(this);
		});
	}

	/* Add @id to a set, or take it out; the last one out: no selection. */
	toggle(which, id, only) {
		const had = this.sel[which], set = new Set(only ? [] : had);
		if (had && had.has(id) && (!only || had.size === 1))
			set.delete(id);
		else
			set.add(id);
		this.set({ [which]: set.size ? set : null });
	}

	window() {
		return this.sel.time || [0, this.data.span];
	}

	/* The counts of the finest cells that know what is asked: with a path, those of its tree, which are coarser. */
	cube(skip) {
		return this.sel.path && !skip.includes('path') ? this.sel.path.tree.cube : this.data.cube;
	}

	/* fn(cube, i) for each cell that all selections but those in @skip have in them. */
	each(skip, fn, of = null) {
		const cube = of || this.cube(skip), { time, lat, keys, threads, path } = this.sel;
		const has = (name) => this.sel[name] && !skip.includes(name);
		const t0 = has('time') ? Math.floor(time[0] / cube.width) : 0;
		const t1 = has('time') ? Math.ceil(time[1] / cube.width) : Infinity;
		const l0 = has('lat') ? binOf(lat[0]) - cube.step + 1 : 0, l1 = has('lat') ? binOf(lat[1]) : Infinity;
		const k = has('keys') ? keys : null, th = has('threads') ? threads : null;
		const node = has('path') && cube === path.tree.cube ? path.node : -1, ends = node >= 0 ? path.tree.ends : null;
		for (let i = 0; i < cube.t.length; i++) {
			if (cube.t[i] < t0 || cube.t[i] >= t1 || cube.lat[i] < l0 || cube.lat[i] > l1)
				continue;
			if ((k && !k.has(cube.key[i])) || (th && !th.has(cube.thread[i])) || (ends && !ends.has(node, cube.path[i])))
				continue;
			fn(cube, i);
		}
		return cube;
	}

	/* Hits by latency: those that @skip does not leave out. {counts: Map(bin -> n), n, total} */
	histogram(skip) {
		const counts = new Map();
		let n = 0, all = 0, total = 0;
		const cube = this.each(skip, (c, i) => {
			all += c.count[i];
			if (!c.lat[i])
				return;
			counts.set(c.lat[i], (counts.get(c.lat[i]) || 0) + c.count[i]);
			n += c.count[i];
			total += c.ns[i];
		});
		return { counts, n, all, total, step: cube.step };
	}

	/* Whether an event or slice, of which more is known than of a cell, is selected. */
	has(key, thread, time, ns, path) {
		const s = this.sel;
		return (!s.keys || s.keys.has(key)) && (!s.threads || s.threads.has(thread)) && (!s.time || (time >= s.time[0] && time <= s.time[1])) &&
			(!s.lat || (ns >= s.lat[0] && ns <= s.lat[1])) && (!s.path || path === undefined || s.path.tree.ends.has(s.path.node, path));
	}
}

/* The latency that a part @q of them does not exceed, as the middle of its bin. */
export function quantile(hist, q) {
	const bins = [...hist.counts.keys()].sort((a, b) => a - b);
	let left = hist.n * q;
	for (const bin of bins) {
		const n = hist.counts.get(bin);
		if (left <= n) {
			const lo = latOf(bin), hi = latOf(bin + hist.step);
			return lo + (hi - lo) * Math.max(0, left / n);
		}
		left -= n;
	}
	return bins.length ? latOf(bins[bins.length - 1] + hist.step) : 0;
}
