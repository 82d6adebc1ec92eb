// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// page.mjs CHROMIUM PAGE EVIL THREADS ROUNDS: what a person does with the page of report_html.py.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [chromium, file, evil, nThreads, nRounds] = process.argv.slice(2);
const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), '../../../engine/picture/page/package.json'));
const calls = nThreads * nRounds, all = 2 * calls + 1;
const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
/* A folder of its own for what it keeps is playwright's habit. */
const browser = await require('playwright-core').chromium.launch({ executablePath: chromium, args });
const page = await browser.newPage({ viewport: { width: 1300, height: 900 }, colorScheme: 'light' });
const said = [], asked = [];
page.on('console', (m) => said.push(m.text()));
page.on('pageerror', (e) => said.push(e.stack));
page.on('request', (r) => asked.push(r.url()));

const text = (selector) => page.locator(selector).first().innerText();
const tile = async (name) => Number((await page.locator('.tile', { has: page.locator(`span:text-is("${name}")`) }).locator('b').innerText()).replaceAll(',', ''));
const chips = () => page.locator('.chip').evaluateAll((all) => all.map((c) => c.dataset.chip));
/* What is done ends in a drawing of all views. */
async function drawn(action) {
	const before = await page.evaluate(() => document.body.dataset.ready);
	await action();
	await page.waitForFunction((n) => document.body.dataset.ready !== n, before);
}
const cleared = async () => {
	await drawn(() => page.keyboard.press('Escape'));
	assert.deepEqual(await chips(), []);
	assert.equal(await tile('events'), all);
};
const box = (selector) => page.locator(selector).boundingBox();
async function drag(selector, x0, y0, x1, y1) {
	await page.locator(selector).scrollIntoViewIfNeeded();
	const b = await box(selector);
	await page.mouse.move(b.x + x0 * b.width, b.y + y0 * b.height);
	await page.mouse.down();
	await page.mouse.move(b.x + x1 * b.width, b.y + y1 * b.height, { steps: 3 });
	await page.mouse.up();
}
const inked = (selector) => page.locator(selector).evaluate((canvas) => {
	const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), colours = new Set();
	for (let i = 0; i < data.length; i += 4)
		colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
	return colours.size;
});

await page.goto(`file://${file}`);
await page.waitForSelector('body[data-ready]');

/* --- all of it --- */
assert.equal(await tile('events'), all);
assert.equal(await tile('calls timed'), calls);
assert.match(await page.title(), /^ubp: /);
assert.equal(await page.locator('#threads tbody tr').count(), Number(nThreads) + 1);
assert.ok((await text('#threads')).includes('<b>t'), 'a name that is markup is shown as it is');
assert.equal(await page.locator('main b:text-is("t"), main img').count(), 0);
for (const canvas of ['#heat', '#timeline', '#rate canvas', '#histogram canvas'])
	assert.ok(await inked(canvas) > 3, `${canvas} is drawn`);
assert.ok(await page.locator('#flame g.frame').count() >= 2);

/* --- a selection in one view narrows the others --- */
await drawn(() => page.locator('#functions tbody tr', { hasText: 'tick' }).click());
assert.equal(await tile('events'), 2 * calls);
assert.equal(await page.locator('#functions tbody tr').count(), 2, 'but not itself');
await drawn(() => page.locator('#threads tbody tr').first().click());
assert.equal(await tile('events'), 2 * nRounds);
assert.deepEqual(await chips(), ['keys', 'threads']);
assert.ok((await text('#events-n')).startsWith(`${2 * nRounds} of`), await text('#events-n'));
await drawn(() => page.locator('[data-chip=threads]').click());
assert.deepEqual(await chips(), ['keys']);
await cleared();

await drawn(() => drag('#heat', 0.3, 0.05, 0.7, 0.9));
assert.deepEqual(await chips(), ['time', 'lat']);
assert.ok(await tile('events') < all);
await cleared();
await drawn(() => drag('#timeline', 0.3, 0.2, 0.6, 0.3));
assert.deepEqual(await chips(), ['time']);
await cleared();
await drawn(() => drag('#rate .u-over', 0.2, 0.5, 0.5, 0.5));
assert.deepEqual(await chips(), ['time']);
await cleared();
await drawn(() => drag('#histogram .u-over', 0.02, 0.5, 0.6, 0.5));
assert.deepEqual(await chips(), ['lat']);
assert.ok(await tile('calls timed') <= calls);
await cleared();
await drawn(() => page.locator('#flame g[name=tick] rect').click());
assert.deepEqual(await chips(), ['path']);
assert.equal(await tile('calls timed'), calls);
await cleared();

/* --- the same by keys --- */
await page.keyboard.press('2');
await page.keyboard.press('ArrowLeft');
await page.keyboard.press('Shift+ArrowRight');
await page.keyboard.press('Shift+ArrowUp');
assert.match(await page.locator('#said').textContent(), /calls/);
await drawn(() => page.keyboard.press('Enter'));
assert.deepEqual(await chips(), ['time', 'lat']);
await cleared();
await page.keyboard.press('1');
await drawn(() => page.keyboard.press('+'));
await drawn(() => page.keyboard.press('ArrowRight'));
assert.deepEqual(await chips(), ['time']);
await cleared();
await page.keyboard.press('6');
await page.keyboard.press('ArrowDown');
await drawn(() => page.keyboard.press('Enter'));
assert.deepEqual(await chips(), ['path']);
await cleared();
await page.keyboard.press('7');
await page.keyboard.press('ArrowDown');
assert.equal(await page.locator('#events .row.at').count(), 1);

/* --- events, and what an argument would like to be --- */
await page.keyboard.press('/');
await drawn(() => page.keyboard.type('put'));
assert.equal(await page.locator('#events .row').count(), 1);
assert.ok((await text('#events .row')).includes(evil), await text('#events .row'));
assert.notEqual(await page.title(), 'owned');
await cleared();

/* --- help, about, light and dark --- */
await page.locator('h1').click();
await page.keyboard.press('?');
assert.ok(await page.locator('#help').isVisible());
await page.keyboard.press('Escape');
await page.locator('#about-open').click();
for (const name of ['uplot', 'd3-flame-graph', 'Apache License', 'd3-scale-chromatic'])
	assert.ok((await page.locator('#about-text').textContent()).includes(name), `${name} is named`);
await page.locator('#about .close').click();
const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor), light = await paper();
await page.screenshot({ path: 'light.png' });
await page.emulateMedia({ colorScheme: 'dark' });
const dark = await paper();
assert.notEqual(dark, light);
await page.screenshot({ path: 'dark.png' });
await page.keyboard.press('t');
assert.equal(await paper(), light, 'the toggle is stronger than the system');
await page.keyboard.press('t');
assert.equal(await paper(), dark);
await page.setViewportSize({ width: 400, height: 800 });
/* Nothing reaches beyond a narrow screen, once it is drawn for that. */
await page.waitForFunction(() => document.documentElement.scrollWidth <= 400);
await page.screenshot({ path: 'narrow.png' });

await browser.close();
assert.deepEqual(said, []);
assert.deepEqual(asked.filter((url) => url !== `file://${file}`), [], 'nothing else is loaded');
