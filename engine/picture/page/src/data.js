// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// What the page is told: one JSON object, columns in it as base64 (engine/picture/html.c says what each is).

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

function bytesOf(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/* {"u16": "base64"} to the array it is; other values stay. */
function column(value) {
	if (!value || typeof value !== 'object' || Array.isArray(value))
		return value;
	const name = Object.keys(value).find((key) => TYPES[key]);
	return name ? new TYPES[name](bytesOf(value[name]).buffer) : value;
}

function columns(table) {
	const out = {};
	for (const key in table)
		out[key] = column(table[key]);
	return out;
}

/* Latencies are binned in eighths of an octave; a cell says 1 more, 0 is "has none". */
export const SUB = 8;
export function latOf(bin) {
	const b = bin - 1;
	return b < SUB ? b : (SUB + b % SUB) * 2 ** (Math.floor(b / SUB) - 1);
}
export function binOf(ns) {
	if (ns < SUB)
		return Math.floor(ns) + 1;
	const e = Math.floor(Math.log2(ns));
	return (e - 2) * SUB + Math.floor(ns / 2 ** (e - 3)) - SUB + 1;
}

export function readData(text) {
	const d = JSON.parse(text);
	d.cube = columns(d.cube);
	d.slices = columns(d.slices);
	d.events = columns(d.events);
	d.trees = d.trees.map((tree) => {
		const t = { ...tree, nodes: columns(tree.nodes), cube: columns(tree.cube) };
		t.name = (node) => node ? d.names[t.nodes.name[node]] : 'all';
		t.ends = endsOf(t.nodes.parent);
		return t;
	});
	d.span = Math.max(d.span, 1);
	return d;
}

/* Nodes come behind their parents. Which nodes a node contains is asked by numbers in order of depth-first search. */
function endsOf(parent) {
	const n = parent.length, size = new Uint32Array(n).fill(1), first = new Uint32Array(n), next = new Uint32Array(n);
	for (let i = n - 1; i > 0; i--)
		size[parent[i]] += size[i];
	if (n)
		next[0] = 1;
	for (let i = 1; i < n; i++) {
		first[i] = next[parent[i]];
		next[parent[i]] += size[i];
		next[i] = first[i] + 1;
	}
	return { first, size, has: (a, b) => first[b] >= first[a] && first[b] < first[a] + size[a] };
}
