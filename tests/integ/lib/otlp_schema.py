# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The messages of opentelemetry-proto 1.x that are used, as OTLP/JSON has them: names in lowerCamelCase, ids hexadecimal, numbers of 64 bits as decimal
strings, enumerations as numbers. What is not in here is an error."""

import re


def hexadecimal(digits):
    return lambda x: isinstance(x, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", x) and set(x) != {"0"}


def big(low, high):
    return lambda x: isinstance(x, str) and re.fullmatch("-?[0-9]+", x) and low <= int(x) < high


def text(x):
    return isinstance(x, str) and x.encode("utf-8") is not None


def double(x):
    return (isinstance(x, (int, float)) and not isinstance(x, bool)) or x in ("NaN", "Infinity", "-Infinity")


def boolean(x):
    return isinstance(x, bool)


def enum(most):
    return lambda x: isinstance(x, int) and not isinstance(x, bool) and 0 <= x <= most


U64, I64 = big(0, 1 << 64), big(-(1 << 63), 1 << 63)
ANY = {"stringValue": text, "intValue": I64, "doubleValue": double, "boolValue": boolean}
ANY["arrayValue"] = {"values": [ANY]}
PAIRS = [{"key": text, "value": ANY}]
RESOURCE, SCOPE = {"attributes": PAIRS}, {"name": text, "version": text}
SPAN = {"traceId": hexadecimal(32), "spanId": hexadecimal(16), "parentSpanId": hexadecimal(16), "name": text, "kind": enum(5),
        "startTimeUnixNano": U64, "endTimeUnixNano": U64, "attributes": PAIRS, "status": {"message": text, "code": enum(2)}}
LOG = {"timeUnixNano": U64, "severityNumber": enum(24), "body": ANY, "attributes": PAIRS}
POINT = {"attributes": PAIRS, "startTimeUnixNano": U64, "timeUnixNano": U64}
NUMBERS = [{**POINT, "asInt": I64, "asDouble": double}]
METRIC = {"name": text, "description": text, "unit": text, "gauge": {"dataPoints": NUMBERS},
          "sum": {"dataPoints": NUMBERS, "aggregationTemporality": enum(2), "isMonotonic": boolean},
          "histogram": {"dataPoints": [{**POINT, "count": U64, "sum": double, "bucketCounts": [U64], "explicitBounds": [double]}],
                        "aggregationTemporality": enum(2)}}
REQUESTS = {
    "/v1/traces": {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": [SPAN]}]}]},
    "/v1/logs": {"resourceLogs": [{"resource": RESOURCE, "scopeLogs": [{"scope": SCOPE, "logRecords": [LOG]}]}]},
    "/v1/metrics": {"resourceMetrics": [{"resource": RESOURCE, "scopeMetrics": [{"scope": SCOPE, "metrics": [METRIC]}]}]},
}


def check(message, path):
    """Raises ValueError."""
    def look(value, want, where):
        if isinstance(want, dict):
            if not isinstance(value, dict) or not set(value) <= set(want):
                raise ValueError(f"{where}: {value}")
            for key, inner in value.items():
                look(inner, want[key], f"{where}.{key}")
        elif isinstance(want, list):
            if not isinstance(value, list):
                raise ValueError(f"{where}: {value}")
            for inner in value:
                look(inner, want[0], f"{where}[]")
        elif not want(value):
            raise ValueError(f"{where}: {value!r}")
    look(message, REQUESTS[path], path)


def path_of(message):
    return {"resourceSpans": "/v1/traces", "resourceLogs": "/v1/logs", "resourceMetrics": "/v1/metrics"}[next(iter(message))]


def items(message):
    """(resource's attributes, item) of spans, log records or metrics."""
    for resource in next(iter(message.values())):
        scopes = next(v for k, v in resource.items() if k.startswith("scope"))
        for scope in scopes:
            for item in next(v for k, v in scope.items() if k != "scope"):
                yield attributes(resource["resource"]), item


def attributes(of):
    return {a["key"]: value_of(a["value"]) for a in of.get("attributes", [])}


def value_of(value):
    kind, inner = next(iter(value.items()), (None, None))
    if kind == "arrayValue":
        return [value_of(v) for v in inner["values"]]
    return int(inner) if kind == "intValue" else inner
