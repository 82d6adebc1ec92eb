# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Talks to spec_dump (see spec_dump.c for the protocol)."""

import os
import subprocess


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def decode(data):
    return data.decode("utf-8", "surrogateescape")


class Client:
    def __init__(self, options):
        self.process = subprocess.Popen([os.path.join(os.environ["TOOLS"], "spec_dump")] + options,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, verb, number, data=b""):
        self.process.stdin.write(f"{verb} {number}\n".encode() + data)
        self.process.stdin.flush()
        fields = []
        while True:
            head = self.process.stdout.readline().split()
            if len(head) != 2:
                raise RuntimeError(f"spec_dump ended in the middle of {verb} {data!r}")
            value = decode(self.process.stdout.read(int(head[1])))
            self.process.stdout.read(1)
            if head[0] == b"end":
                return fields
            fields.append((head[0].decode(), value))

    def write(self, data, verb="write"):
        """The answer as a dict: rc, lines, and on failure text, caret, command."""
        fields = self.ask(verb, len(data), data)
        answer = {key: value for key, value in fields if key != "line"}
        answer["rc"] = int(answer["rc"])
        answer["lines"] = [value for key, value in fields if key == "line"]
        return answer

    def format(self, i):
        return dict(self.ask("format", i)).get("format")

    def clear(self):
        self.ask("clear", 0)

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError("spec_dump failed")
