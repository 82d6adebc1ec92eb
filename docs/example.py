#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A tracer on libubp by ctypes: example.py PID DEFINITION..., until the process ends. After make install; for machines of 64 bits.

The session begins with no probe, and each definition is added while it runs.
"""
import ctypes as c
import select
import sys

ubp = c.CDLL("libubp.so.1")


class Err(c.Structure):  # struct ubp_err
    _fields_ = [("code", c.c_int), ("line", c.c_uint), ("has_caret", c.c_bool), ("caret", c.c_uint), ("text", c.c_char * 768), ("hint", c.c_char * 256),
                ("command", c.c_char * 4096)]


class Options(c.Structure):  # struct ubp_options: what is not named here is 0, the default
    _fields_ = [("size", c.c_size_t), ("pids", c.POINTER(c.c_int)), ("n_pids", c.c_size_t), ("others", c.c_char * 152)]


EVENT_FN = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
ubp.ubp_event_line.argtypes, ubp.ubp_event_line.restype = [c.c_void_p, c.POINTER(c.c_size_t)], c.c_void_p
ubp.ubp_is_done.restype = c.c_bool
ubp.ubp_drain.restype = c.c_int64
err = Err()


def check(result):
    if result < 0:
        sys.exit(err.text.decode(errors="replace"))


@EVENT_FN
def on_event(_, event):
    size = c.c_size_t()
    line = ubp.ubp_event_line(event, c.byref(size))
    sys.stdout.buffer.write(c.string_at(line, size.value))
    return 0


if len(sys.argv) < 3:
    sys.exit("example.py PID DEFINITION...")
options = Options(c.sizeof(Options), (c.c_int * 1)(int(sys.argv[1])), 1)
session = c.c_void_p()
check(ubp.ubp_session_new(c.byref(options), c.byref(session), c.byref(err)))
check(ubp.ubp_start(session, c.byref(err)))
for definition in sys.argv[2:]:
    check(ubp.ubp_probes_add(session, c.byref(c.c_char_p(definition.encode())), c.c_size_t(1), None, None, None, c.byref(err)))
print("ready", file=sys.stderr, flush=True)
while not ubp.ubp_is_done(session):
    select.select([ubp.ubp_fd(session)], [], [])
    check(ubp.ubp_dispatch(session, on_event, None, c.byref(err)))
ubp.ubp_stop(session)
check(ubp.ubp_drain(session, on_event, None, c.byref(err)))  # what came last
ubp.ubp_session_free(session)
