# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What random triggers are about: events on functions of rndtgt.c with random arguments, and the parts that hit them."""

# Function: the part that calls it, and its parameters: a number, or a pointer to a string or to numbers of 32 bits.
FUNCTIONS = {
    "pt_num": ("num", "nnnn"), "pt_key": ("key", "nnn"), "pt_tie": ("tie", "nn"), "pt_str": ("str", "sns"),
    "pt_many": ("many", "nn"), "pt_in": ("lat", "nns"), "pt_out": ("lat", "nns"), "pt_max": ("max", "nns"),
    "pt_flip": ("flip", "n"), "pt_tick": ("flip", "n"), "pt_ptr": ("ptr", "nn"), "pt_comm": ("comm", "n"),
    "pt_wide": ("wide", "na"), "pt_work": ("work", "nn"), "pt_rec": ("work", "n"), "pt_thr": ("thr", "n"),
}
RANDOM = "pt_num", "pt_key", "pt_str", "pt_in", "pt_out", "pt_max", "pt_work"   # what seed=N calls
PAIRS = ("pt_in", "pt_out"), ("pt_flip", "pt_tick"), ("pt_key", "pt_max"), ("pt_in", "pt_max"), ("pt_str", "pt_out"), ("pt_work", "pt_in")
REGISTERS = "%di", "%si", "%dx", "%cx"
NAMES = "id", "vv", "ww", "k", "v", "n2", "value", "delta"
STRINGS = "ss", "s", "tt", "name"
SPECIAL = "cpu", "stacktrace", "hitcount", "comm", "flags", "pid"
NUMBERS = ("u64",) * 6 + ("s64", "u32", "s32", "u16", "s16", "u8", "s8", "x64", "x32", "x16", "x8", "char")


class Event:
    def __init__(self, name, function, returns):
        self.name, self.function, self.returns = name, function, returns
        self.args = {}      # name: type
        self.texts = []

    @property
    def path(self):
        return "uprobes/" + self.name

    @property
    def full(self):
        return "uprobes." + self.name

    def numbers(self):
        return [n for n, t in self.args.items() if t not in ("string", "array")]

    def strings(self):
        return [n for n, t in self.args.items() if t == "string"]

    def add(self, name, text, kind):
        if name not in self.args:
            self.args[name] = kind
            self.texts.append(f"{name}={text}")

    def definition(self):
        kind = "r" if self.returns else "p"
        return " ".join([f"{kind}:{self.name} @BIN@:@OFF({self.function})@", *self.texts])


def number_type(rnd):
    if rnd.random() < 0.07:
        width = rnd.randrange(1, 17)
        return f"b{width}@{rnd.randrange(0, 17)}/{rnd.choice((32, 64))}"
    return rnd.choice(NUMBERS)


def add_argument(rnd, event, at, kind):
    register = REGISTERS[at]
    if kind == "s" and rnd.random() < 0.85:
        event.add(rnd.choice(STRINGS), f"+0({register}):{rnd.choice(('string', 'string', 'ustring'))}", "string")
    elif kind == "a" and rnd.random() < 0.8:
        if rnd.random() < 0.5:
            event.add(rnd.choice(NAMES), f"+0({register}):u32[{rnd.randrange(1, 5)}]", "array")
        else:
            event.add(rnd.choice(NAMES), f"+{4 * rnd.randrange(4)}({register}):{rnd.choice(('u32', 's32', 'u64', 's16'))}", "s32")
    else:
        kind = number_type(rnd)
        name = rnd.choice(SPECIAL if rnd.random() < 0.04 else NAMES)
        event.add(name, f"{register}:{kind}", kind)


def make_event(rnd, name, function, first):
    """@first: the type of an argument id that all events of a world have, so that their keys can meet."""
    parameters = FUNCTIONS[function][1]
    event = Event(name, function, function in ("pt_work", "pt_rec") and rnd.random() < 0.4)
    if event.returns:
        event.add("id", f"$retval:{first}", first)
        if rnd.random() < 0.5:
            event.add("ret", "$retval:s32", "s32")
    else:
        at = parameters.index("n")
        event.add("id", f"{REGISTERS[at]}:{first}", first)
        for i, kind in enumerate(parameters):
            if rnd.random() < 0.8:
                add_argument(rnd, event, i, kind)
    if rnd.random() < 0.1:
        event.add("own", "$comm", "string")
    if rnd.random() < 0.06:
        event.add("lit", rnd.choice(("\\42:u64", "\\-3:s32", '\\"text":string')), "u64")
        event.args["lit"] = "string" if "text" in event.texts[-1] else event.args["lit"]
    return event


class World:
    """Definitions and what is run: shared by some rows, so that what is the same is made once."""

    def __init__(self, rnd):
        n = rnd.choice((1, 1, 2, 2, 2, 3))
        seeded = rnd.random() < 0.6
        if n > 1 and rnd.random() < 0.7:
            functions = list(rnd.choice(PAIRS))
        else:
            functions = [rnd.choice(RANDOM if seeded else list(FUNCTIONS)) for _ in range(n)]
        functions = list(dict.fromkeys(functions))
        if not set(functions) <= set(RANDOM):
            seeded = False
        first = rnd.choice(("u64",) * 4 + ("u32", "s32", "s64", "x64", "u8"))
        self.events = [make_event(rnd, "ev" + f[3:], f, first) for f in functions]
        if seeded:
            self.parts = [f"seed={rnd.randrange(1, 1 << 20)}"]
        else:
            self.parts = list(dict.fromkeys(FUNCTIONS[f][0] for f in functions))
        self.definitions = [e.definition() for e in self.events]
