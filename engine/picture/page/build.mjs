// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// node build.mjs OUT: the page in two parts, OUT/page.head and OUT/page.tail, between which ubp-report puts the data.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url)), out = process.argv[2];
if (!out)
	throw new Error('usage: node build.mjs OUT');

const bundled = (entry, more) => build({ absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, metafile: true,
	charset: 'ascii', legalComments: 'none', ...more });
/* The style that d3-flame-graph brings has colours and fonts that are not ours. */
/* d3-flame-graph asks what the constructor of a node is called. */
const script = await bundled('src/main.js', { format: 'iife', keepNames: true, target: 'es2022', loader: { '.css': 'empty' } });
const style = await bundled('src/all.css', {});

/* Who wrote what is in the bundle, and on which terms. */
function licences(inputs) {
	const names = new Set(inputs.map((path) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
	return [...names].sort().map((name) => {
		const dir = join(here, 'node_modules', name), { version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
		const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((f) => join(dir, f)).find(existsSync);
		if (!file)
			throw new Error(`${name} comes without its licence`);
		return `${name} ${version} (${license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
	}).join(`\n${'-'.repeat(72)}\n\n`);
}

const text = (result) => {
	const code = result.outputFiles[0].text;
	if (/<\/(script|style)|<!--/i.test(code))
		throw new Error('the bundle would end its own element');
	return code;
};
const js = text(script), parts = {
	'@HASH@': `sha256-${createHash('sha256').update(js).digest('base64')}`, '@STYLE@': text(style), '@SCRIPT@': js,
	'@LICENCES@': licences([...Object.keys(script.metafile.inputs), ...Object.keys(style.metafile.inputs)]).replaceAll('</', '<\\/').replaceAll('<!--', '<\\!--'),
};
let page = readFileSync(join(here, 'index.html'), 'utf8');
for (const [mark, value] of Object.entries(parts))
	page = page.replace(mark, () => value);
const at = page.indexOf('@DATA@');
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'page.head'), page.slice(0, at));
writeFileSync(join(out, 'page.tail'), page.slice(at + '@DATA@'.length));
