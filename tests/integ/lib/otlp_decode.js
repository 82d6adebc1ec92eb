// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors
// otlp_decode.js FILE: each line of it is made a message of the schema that OpenTelemetry publishes, encoded and decoded again; prints how many
// spans, log records and data points came through. OTLP_MODULES is the folder in which npm has put the schema.
"use strict";
const fs = require("fs");
const { createRequire } = require("module");
const from = createRequire(process.env.OTLP_MODULES + "/node_modules/");
const root = from("@opentelemetry/otlp-transformer/build/src/generated/root");
const v1 = root.opentelemetry.proto.collector;
const kinds = {
	resourceSpans: v1.trace.v1.ExportTraceServiceRequest,
	resourceLogs: v1.logs.v1.ExportLogsServiceRequest,
	resourceMetrics: v1.metrics.v1.ExportMetricsServiceRequest,
};
// Ids are bytes in the schema, and hexadecimal in OTLP/JSON alone.
const ids = new Set(["traceId", "spanId", "parentSpanId"]);
const bytes = (key, value) => (ids.has(key) ? Buffer.from(value, "hex") : value);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
// An array without elements is none in the schema.
const sorted = (x) => Array.isArray(x) ? x.map(sorted)
	: x && typeof x === "object" && !Buffer.isBuffer(x) ? Object.fromEntries(Object.keys(x).sort()
		.filter((k) => !(Array.isArray(x[k]) && !x[k].length)).map((k) => [k, sorted(x[k])])) : x;
let spans = 0, logs = 0, points = 0;
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n").filter((x) => x)) {
	const json = JSON.parse(line);
	const kind = kinds[Object.keys(json)[0]];
	const object = JSON.parse(line, (k, v) => v && v.type === "Buffer" ? Buffer.from(v.data) : bytes(k, v));
	const message = kind.decode(kind.encode(kind.fromObject(object)).finish());
	const wrong = kind.verify(message);
	if (wrong)
		throw new Error(wrong);
	const back = kind.toObject(message, { longs: String, bytes: (b) => b, json: true });
	const hex = JSON.parse(JSON.stringify(back, function (k, v) { return ids.has(k) ? Buffer.from(this[k]).toString("hex") : v; }));
	if (!same(sorted(hex), sorted(json)))
		throw new Error(("not the same when it is decoded: " + line).slice(0, 1000));
	for (const r of json.resourceSpans || []) spans += r.scopeSpans[0].spans.length;
	for (const r of json.resourceLogs || []) logs += r.scopeLogs[0].logRecords.length;
	for (const r of json.resourceMetrics || [])
		for (const m of r.scopeMetrics[0].metrics) points += (m.sum || m.gauge || m.histogram).dataPoints.length;
}
console.log(spans, logs, points);
