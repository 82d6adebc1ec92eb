// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors
// Promises, child processes, files and a worker thread; each "check" does the same work.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const readline = require('readline');
const { execFile } = require('child_process');
const { Worker, isMainThread, parentPort } = require('worker_threads');

function unit(n) {
	const h = crypto.createHash('sha256');
	for (let i = 0; i < 2000; i++)
		h.update(JSON.stringify({ i, v: [i * n, String(i)] }));
	return h.digest('hex');
}

if (!isMainThread) {
	parentPort.on('message', (n) => parentPort.postMessage(unit(n)));
} else {
	const worker = new Worker(__filename);
	let waiting = [];
	worker.on('message', (m) => waiting.shift()(m));
	const inWorker = (n) => new Promise((r) => { waiting.push(r); worker.postMessage(n); });
	const child = () => new Promise((r) =>
		execFile('sh', ['-c', 'echo sub; exit 4'], (e, out) => r(out + e.code)));
	const check = async () => {
		const all = await Promise.all([inWorker(3), child(), unit(5),
			fs.promises.readFile('/proc/sys/kernel/ostype', 'utf8'),
			new Promise((r) => setTimeout(() => r('later'), 1))]);
		return crypto.createHash('sha256').update(JSON.stringify(all)).digest('hex');
	};
	(async () => {
		console.log('ready');
		for await (const line of readline.createInterface({ input: process.stdin })) {
			if (line === 'end')
				break;
			console.log('ok ' + await check());
		}
		process.exit(0);
	})();
}
