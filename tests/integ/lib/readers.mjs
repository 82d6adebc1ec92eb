// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// readers.mjs CHROMIUM CHROME.json PROFILE.gz FOLDED: what speedscope (in a browser) and pprof-format make of them, as JSON:
// {"speedscope": {file: its own profile}, "pprof": [{"stack": [names, the outermost first], "values": [...]}]}.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const [chromium, ...files] = process.argv.slice(2);
const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), '../../../engine/picture/page/package.json'));
const release = join(dirname(require.resolve('speedscope/package.json')), 'dist/release');
const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/* As the command "speedscope FILE" does it: a script beside, which the page loads. What it exports is what it has understood. */
async function speedscope(browser, file) {
	const page = await browser.newPage({ viewport: { width: 1200, height: 700 } });
	page.setDefaultTimeout(100000);
	const errors = [];
	page.on('pageerror', (e) => errors.push(e.stack));
	page.on('dialog', (d) => { errors.push(d.message()); d.dismiss(); });
	writeFileSync(`${file}.js`, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${readFileSync(file).toString('base64')}")`);
	await page.goto(`file://${release}/index.html#localProfilePath=${resolve(file)}.js`);
	const button = page.locator('text=Export').first();
	await button.waitFor();
	const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
	const profile = JSON.parse(readFileSync(await download.path(), 'utf8'));
	await page.close();
	if (errors.length)
		throw new Error(`${file}: ${errors}`);
	return profile;
}

function pprof(file) {
	const profile = require('pprof-format').Profile.decode(gunzipSync(readFileSync(file)));
	const text = (i) => profile.stringTable.strings[Number(i)];
	const functions = new Map(profile.function.map((f) => [Number(f.id), text(f.name)]));
	const locations = new Map(profile.location.map((l) => [Number(l.id), functions.get(Number(l.line[0].functionId))]));
	return profile.sample.map((s) => ({ stack: s.locationId.map((l) => locations.get(Number(l))).reverse(), values: s.value.map(Number) }));
}

const browser = await require('playwright-core').chromium.launch({ executablePath: chromium, args });
const told = { speedscope: {}, pprof: pprof(files[1]) };
for (const file of files)
	told.speedscope[file] = await speedscope(browser, file);
await browser.close();
console.log(JSON.stringify(told));
