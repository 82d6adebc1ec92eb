# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Every definition that was tried on a kernel gets the kernel's answer here too:
tests/corpus/definitions.jsonl against the parser, nothing left out."""

import errno
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "tool"))
from spec_client import Client, decode, encode  # noqa: E402

# Rows whose answer differs on purpose: id -> reason. Also in docs/differences.md.
DELIBERATE = {id: "a name of the kernel's own events" for id in ("d1297", "d1298", "d1300")}

# Rows that the kernel refuses with a reason, and extended grammar accepts: registers that
# only ubp reads, and arguments by their number. What is read back ends so.
EXTENDED = {"d0296": "%gs_base", "d0302": "%xmm0", "d0446": "arg1=%di", "d0482": "a=%di", "d0486": "arg1=+0(%di)", "d1406": "x=+8(%di)"}

FILES = {
    "@BIN@": "spectgt", "@BINCOLON@": "specx:y", "@EMPTY@": "specempty", "@TXT@": "spectxt",
    "@NOEXEC@": "specnoexec", "@DASH@": "specq-foo.bar", "@DOT@": "specq2.1-x",
    "@UNDER@": "spec_q3_x", "@DIGIT@": "1spec", "@LEADDOT@": ".spec",
    "@LONGNAME@": "spec" + 96 * "n", "@SPECIAL@": "spec+q=1,x",
}


def make_files(top):
    """Create what the placeholders stand for; returns placeholder -> text."""
    paths = {"@DIR@": top, "@BASE@": "spectgt", "@NOFILE@": top + "/specnofile"}
    for key, name in FILES.items():
        paths[key] = f"{top}/{name}"
        with open(paths[key], "wb") as f:
            f.write(b"" if key == "@EMPTY@" else b"placeholder\n")
    os.chmod(paths["@NOEXEC@"], 0o644)
    paths["@SYMLINK@"] = top + "/speclink"
    os.symlink(paths["@BIN@"], paths["@SYMLINK@"])
    paths["@DANGLING@"] = top + "/specdangling"
    os.symlink("specgone", paths["@DANGLING@"])
    paths["@FIFO@"] = top + "/specfifo"
    os.mkfifo(paths["@FIFO@"])
    long = top
    while len(long) < 900:
        long += "/" + 90 * "d"
    os.makedirs(long)
    paths["@LONG@"] = long + "/" + "l" * (1000 - len(long))
    with open(paths["@LONG@"], "wb"):
        pass
    return paths


def padded(text, paths):
    """@PADn@: a line of n bytes, blanks before its last arg; @PADNLn@: and a newline."""
    for kind, end in (("@PADNL", "\n"), ("@PAD", "")):
        if text.startswith(kind):
            size = int(text[len(kind):].rstrip("@"))
            head, tail = f"p:spec_d/e {paths['@BIN@']}:0x100 ", "%di"
            return head + " " * (size - len(head) - len(tail)) + tail + end
    return None


def expand(text, paths):
    whole = padded(text, paths)
    if whole is not None:
        return whole
    for key, path in paths.items():
        text = text.replace(key, path)
    return text


def same_text(want, got, paths):
    return expand(want, paths) == got


def expected_caret(error, paths):
    """The corpus counts columns with the placeholders in the command."""
    command, caret = error["command"], error["caret"]
    if caret > len(encode(command)):
        return len(encode(expand(command, paths))) + caret - len(encode(command))
    return len(encode(expand(decode(encode(command)[:caret]), paths)))


def compare_error(row, got, paths):
    want = row["error"]
    if want is None:
        if "caret" in got:
            yield f"logged {got['text']!r}, the kernel nothing"
        elif not row["accepted"] and not got.get("text"):
            yield "no text of our own where the kernel is silent"
        return
    if got.get("text") != want["text"]:
        yield f"text {got.get('text')!r}, want {want['text']!r}"
    if not same_text(want["command"], got.get("command", ""), paths):
        yield f"command {got.get('command')!r}, want {want['command']!r}"
    if int(got.get("caret", -1)) != expected_caret(want, paths):
        yield f"caret {got.get('caret')}, want {expected_caret(want, paths)}"


def compare_lists(row, before, got, paths):
    added = [x for x in got["lines"] if x not in before]
    gone = [x for x in before if x not in got["lines"]]
    if added != [expand(x, paths) for x in row["listing"]]:
        yield f"listing {added}, want {row['listing']}"
    if gone != [expand(x, paths) for x in row.get("removed", [])]:
        yield f"removed {gone}, want {row.get('removed', [])}"


def compare_format(row, client, got):
    if "format" not in row:
        return
    text = client.format(len(got["lines"]) - 1)
    if text != row["format"].replace("ID: @ID@", "ID: 0"):
        yield f"format {text!r}, want {row['format']!r}"


def check_row(client, row, paths):
    client.clear()
    before = []
    for text in row.get("pre", []):
        answer = client.write(encode(expand(text, paths)))
        if answer["rc"] != 0:
            yield f"the definition before it was refused: {answer.get('text')}"
        before = answer["lines"]
    got = client.write(encode(expand(row["def"], paths)))
    want = 0 if row["errno"] is None else -getattr(errno, row["errno"])
    if row["accepted"] != (want == 0):
        yield "the row contradicts itself"
    if got["rc"] != want:
        yield f"result {got['rc']}, want {want}"
    yield from compare_error(row, got, paths)
    yield from compare_lists(row, before, got, paths)
    yield from compare_format(row, client, got)


def is_silent(row):
    """Refused without a reason: there, extended grammar has room for more."""
    return not row["accepted"] and row["error"] is None


def check_extended(rows, paths):
    """Number of rows that extended grammar should accept and does not."""
    client = Client([])
    refused = 0
    for row in rows:
        client.clear()
        got = client.write(encode(expand(row["def"], paths)))
        if got["rc"] != 0 or not got["lines"][0].endswith(EXTENDED[row["id"]]):
            print(f"{row['id']} {row['def']!r}: {got}")
            refused += 1
    client.close()
    return refused


def check_rows(rows, paths, options):
    """Number of rows that are answered in another way than the kernel does."""
    client = Client(options)
    failed = 0
    for row in rows:
        differences = list(check_row(client, row, paths))
        if row["id"] in DELIBERATE:
            if not differences:
                differences = ["listed as different on purpose, but it is not"]
            else:
                continue
        failed += bool(differences)
        for difference in differences:
            print(f"{row['id']} {row['def'][:200]!r}: {difference}"
                  .encode("utf-8", "backslashreplace").decode())
    client.close()
    print(f"{len(rows)} definitions {options}, {failed} with another answer than the kernel's")
    return failed


def main():
    paths = make_files(os.getcwd())
    corpus = os.path.join(os.environ["UBP_SRC"], "tests", "corpus", "definitions.jsonl")
    with open(corpus, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    failed = check_rows(rows, paths, ["-s"])
    failed += check_rows([row for row in rows
                          if not is_silent(row) and row["id"] not in EXTENDED], paths, [])
    failed += check_extended([row for row in rows if row["id"] in EXTENDED], paths)
    return 1 if failed or len(rows) < 1000 else 0


sys.exit(main())
