// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// views.mjs CHROMIUM PAGE FOLDER [NEW]: how far the views of the page are from FOLDER's pictures, as JSON: {picture: number}. NEW: these
// pictures are made. Either way what is seen now is in the current folder, the page and each view, an eighth as large.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [chromium, file, folder, isNew] = process.argv.slice(2);
const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), '../../../engine/picture/page/package.json'));
const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
	'--font-render-hinting=none', '--disable-lcd-text'];
const browser = await require('playwright-core').chromium.launch({ executablePath: chromium, args });
const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, colorScheme: 'light', locale: 'en-US', reducedMotion: 'reduce' });
const page = await context.newPage(), paper = await context.newPage();

const url = (png) => `data:image/png;base64,${png.toString('base64')}`;

/* An eighth as wide and high, each sample the mean of what it was. */
const smaller = async (png) => Buffer.from((await paper.evaluate(async (from) => {
	const image = new Image();
	image.src = from;
	await image.decode();
	const full = new OffscreenCanvas(image.width, image.height), w = image.width >> 3, h = image.height >> 3;
	const context = full.getContext('2d', { willReadFrequently: true });
	context.drawImage(image, 0, 0);
	const pixels = context.getImageData(0, 0, image.width, image.height).data, canvas = document.createElement('canvas');
	canvas.width = w;
	canvas.height = h;
	const to = canvas.getContext('2d'), small = to.createImageData(w, h);
	for (let y = 0; y < h; y++)
		for (let x = 0; x < w; x++)
			for (let c = 0; c < 4; c++) {
				let sum = 0;
				for (let i = 0; i < 64; i++)
					sum += pixels[4 * ((8 * y + (i >> 3)) * image.width + 8 * x + (i & 7)) + c];
				small.data[4 * (y * w + x) + c] = Math.round(sum / 64);
			}
	to.putImageData(small, 0, 0);
	return canvas.toDataURL('image/png');
}, url(png))).split(',')[1], 'base64');

/* How far @other is from @one, as a part of how far that is from the one colour that most of it has: 0, the same; 1, as if nothing was drawn. */
const difference = (one, other) => paper.evaluate(async (both) => {
	const [p, q] = await Promise.all(both.map(async (from) => {
		const image = new Image();
		image.src = from;
		await image.decode();
		const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
		context.drawImage(image, 0, 0);
		return context.getImageData(0, 0, image.width, image.height);
	}));
	const at = (image, x, y) => (x < image.width && y < image.height ? [0, 1, 2].map((c) => image.data[4 * (y * image.width + x) + c]) : [255, 0, 255]);
	const far = (a, b) => Math.max(...a.map((v, c) => Math.abs(v - b[c]))), counts = new Map();
	for (let y = 0; y < p.height; y++)
		for (let x = 0; x < p.width; x++)
			counts.set(String(at(p, x, y)), (counts.get(String(at(p, x, y))) ?? 0) + 1);
	const ground = [...counts].sort((a, b) => b[1] - a[1])[0][0].split(',').map(Number);
	let off = 0, drawn = 0;
	for (let y = 0; y < Math.max(p.height, q.height); y++)
		for (let x = 0; x < Math.max(p.width, q.width); x++) {
			off += far(at(p, x, y), at(q, x, y));
			drawn += far(at(p, x, y), ground);
		}
	return off / drawn;
}, [url(one), url(other)]);

const told = {}, views = ['rate', 'heat', 'histogram', 'timeline', 'flame'];
async function pictures(state) {
	await page.screenshot({ fullPage: true, path: `${state}.png` });
	for (const view of views) {
		const name = `${view}-${state}`, small = await smaller(await page.locator(`#${view}`).screenshot({ animations: 'disabled', caret: 'hide' }));
		writeFileSync(`${name}.png`, small);
		if (isNew)
			writeFileSync(`${folder}/${name}.png`, small);
		told[name] = await difference(readFileSync(`${folder}/${name}.png`), small);
	}
}
async function drawn(action) {
	const before = await page.evaluate(() => document.body.dataset.ready);
	await action();
	await page.waitForFunction((n) => document.body.dataset.ready !== n, before);
}

await page.goto(`file://${file}`);
await page.waitForSelector('body[data-ready]');
await pictures('light');
await drawn(() => page.locator('#functions tbody tr', { hasText: 'down' }).click());
await page.mouse.move(0, 0);
await pictures('selected');
await drawn(() => page.keyboard.press('Escape'));
await page.emulateMedia({ colorScheme: 'dark' });
/* It draws anew in its next frame. */
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
await pictures('dark');
await browser.close();
console.log(JSON.stringify(told));
