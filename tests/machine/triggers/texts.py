# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Random texts of triggers: the language of events/GROUP/EVENT/trigger and of synthetic_events."""

MODIFIERS = "hex", "sym", "sym-offset", "log2", "buckets=", "execname", "syscall", "usecs", "percent", "graph", "stacktrace", "descending"
KEY_MODIFIERS = ("hex",) * 3 + ("log2", "log2", "buckets=", "buckets=", "sym", "sym-offset", "syscall")
VALUE_MODIFIERS = "hex", "percent", "graph", "percent", "graph"
SIZES = "1", "100", "128", "129", "256", "0x200", "1024", "0", "131072", "131073", "x", "", "-1", "0200"
SYNTH_TYPES = ("u64", "s64", "u32", "s32", "int", "unsigned int", "long", "unsigned long", "u8", "s16", "pid_t", "bool", "char[]", "char[16]",
               "char[256]", "gfp_t", "unsigned char", "char")
WORDS = ("keys=", "key=", "vals=", "val=", "values=", "sort=", "size=", "name=", "clock=", "pause", "cont", "continue", "clear", "nohitcount", "NOHC",
         "onmatch(", "onmax(", "onchange(", "trace(", "save(", "snapshot()", "hitcount", "common_pid", "common_cpu", "$", " if ", "hist:", ".hex",
         ".log2", ".buckets=3", ".descending", ":", "=", ",", "(", ")", ".", "!", " ", "0", "-", "+", "*", "/", "id", "v0=id", "common_stacktrace",
         "common_timestamp", "&&", "||", "==", "~", "\"", "\t", "\n", "\\", "uprobes.", "synthetic")


def chance(rnd, p):
    return rnd.random() < p


def number(rnd):
    return rnd.choice(("0", "1", "2", "3", "5", "7", "10", "100", "256", "1000", "1048576", "0x10", "010", "4294967295", "18446744073709551615",
                       "18446744073709551616", "-1", "0x", "1a")[:14 if chance(rnd, 0.93) else None])


def plain_number(rnd):
    return rnd.choice(("1", "2", "3", "5", "7", "8", "10", "64", "100", "255", "1000", "0x10", "1048575", "1048577"))


class Texts:
    """Texts about the events of a world. What was written before is known: variables, histograms, synthetic events."""

    def __init__(self, rnd, world):
        self.rnd, self.world = rnd, world
        self.variables = []     # (event, name, expression)
        self.named = set()      # (event, name): of variables, those of texts that are not done, too
        self.written = []       # (event, text) of triggers
        self.synths = {}        # name: [(type, field)]
        # Keys of the histograms that refer to each other are alike.
        self.common_keys = rnd.choice((["id"], ["id"], ["id"], ["id.hex"], ["common_pid"]))

    # --- fields and expressions ---
    def field(self, event, wrong=0.012):
        rnd = self.rnd
        if chance(rnd, wrong):
            return rnd.choice(("nope", "comm", "", " id", "Id", "common_comm", "$nope", "__probe_ip", "1"))
        if chance(rnd, 0.1):
            return rnd.choice(("common_cpu", "cpu", "hitcount", "common_flags", "common_preempt_count", "common_pid", "CPU",
                               "common_stacktrace", "__probe_func" if event.returns else "__probe_ip"))
        if event.strings() and chance(rnd, 0.25):
            return rnd.choice(event.strings())
        return rnd.choice(event.numbers() or list(event.args))

    def atom(self, event):
        rnd, r = self.rnd, self.rnd.random()
        if r < 0.55:
            return rnd.choice(event.numbers() or ["id"]) + (rnd.choice((".hex", ".log2", ".buckets=3", ".usecs")) if chance(rnd, 0.05) else "")
        if r < 0.8:
            return plain_number(rnd) if chance(rnd, 0.9) else number(rnd)
        if r < 0.95 and self.variables:
            owner, name, _ = rnd.choice(self.variables)
            return f"{owner.full}.${name}" if chance(rnd, 0.2) else "$" + name
        return self.field(event)

    def expression(self, event):
        rnd = self.rnd
        text = self.atom(event)
        for _ in range(rnd.choice((0, 1, 1, 1, 1, 1, 2, 2, 3 if chance(rnd, 0.5) else 1, 4 if chance(rnd, 0.2) else 0))):
            text += rnd.choice("++--**//") + self.atom(event)
        r = rnd.random()
        if r < 0.06:
            return f"-({text})"
        return "-" + text if r < 0.07 else text

    def modified(self, event, modifiers, p):
        rnd, text = self.rnd, self.field(event)
        if text == "common_pid" and chance(rnd, 0.4):
            return text + ".execname"
        if chance(rnd, p):
            modifier = rnd.choice(MODIFIERS if chance(rnd, 0.05) else modifiers)
            text += "." + modifier
            if modifier.endswith("="):
                text += rnd.choice(("2", "3", "10", "100", "0x10")) if chance(rnd, 0.9) else number(rnd)
        return text

    def key(self, event):
        return self.expression(event) if chance(self.rnd, 0.07) else self.modified(event, KEY_MODIFIERS, 0.3)

    def value(self, event):
        rnd = self.rnd
        if chance(rnd, 0.12):
            return self.expression(event)
        if chance(rnd, 0.1):
            return rnd.choice(("hitcount", "hitcount.percent", "hitcount.graph", "hitcount.hex"))
        return self.modified(event, VALUE_MODIFIERS, 0.35)

    def variable(self, event):
        rnd = self.rnd
        names = [n for n in ("v0", "v1", "x", "lat", "ts0", "y2") if (event, n) not in self.named or chance(rnd, 0.03)] or ["v9"]
        name = rnd.choice(names) if chance(rnd, 0.97) else rnd.choice(("id", "1", "$x", " x", "", "pause"))
        self.named.add((event, name))
        if chance(rnd, 0.4):
            text = self.modified(event, ("hex", "usecs"), 0.1)
        else:
            text = self.expression(event)
        return name, text

    # --- items of a histogram ---
    def sort(self, event, keys, values):
        rnd, fields = self.rnd, []
        for _ in range(rnd.choice((1, 1, 1, 2, 2, 3 if chance(rnd, 0.2) else 2))):
            field = rnd.choice([*keys, *values, "hitcount"])
            field = field.split(".")[0] if chance(rnd, 0.96) else field
            if chance(rnd, 0.015):
                field = self.field(event, 0.5)
            fields.append(field + rnd.choice(("", "", ".descending", ".ascending", ".desc" if chance(rnd, 0.1) else "")))
        return ",".join(fields)

    def action(self, event, handler):
        rnd, r = self.rnd, self.rnd.random()
        if handler == "onmatch" or (r < 0.4 and (self.synths or chance(rnd, 0.05))):
            return self.synth_call(event)
        if r < 0.85:
            fields = [self.long_name(self.field(event)) for _ in range(rnd.choice((1, 1, 2, 3)))]
            return f"save({','.join(fields)})"
        return "snapshot()"

    def long_name(self, name):
        """Names of one letter are no parameters of actions."""
        return name if len(name) > 1 or chance(self.rnd, 0.05) else "id"

    def parameter(self, event, kind, other):
        rnd = self.rnd
        want_string = kind.startswith("char[")
        names = event.strings() if want_string else event.numbers()
        if other and chance(rnd, 0.25):
            names = other.strings() if want_string else other.numbers()
        own = [n for o, n, _ in self.variables if o in (event, other)]
        if own and not want_string and chance(rnd, 0.55):
            return "$" + rnd.choice(own)
        if other and chance(rnd, 0.08) and (other.strings() if want_string else other.numbers()):
            return f"{other.full}.{rnd.choice(other.strings() if want_string else other.numbers())}"
        if not want_string and chance(rnd, 0.05):
            return rnd.choice((number(rnd), "common_pid", "common_cpu", "$nope", "hitcount"))
        # A number is never given for a string: the kernel takes some for addresses.
        long = [n for n in names if len(n) > 1]
        return rnd.choice(long or names) if names else ("own" if want_string else "id")

    def synth_call(self, event, other=None):
        rnd = self.rnd
        if not self.synths or chance(rnd, 0.02):
            return "trace(nosynth,id)"
        name = rnd.choice(list(self.synths))
        parameters = [self.parameter(event, kind, other) for kind, _ in self.synths[name]]
        if chance(rnd, 0.04):
            parameters.append("id")
        if chance(rnd, 0.1):
            parameters = [f" {p} " for p in parameters]
        return f"{name}({','.join(parameters)})" if chance(rnd, 0.4) else f"trace({','.join([name, *parameters])})"

    def handler(self, event, own):
        rnd = self.rnd
        kind = rnd.choice(("onmatch", "onmatch", "onmax", "onmax", "onchange"))
        if kind == "onmatch":
            other = rnd.choice(self.world.events)
            return f"onmatch({other.full}).{self.synth_call(event, other)}"
        names = own or [n for _, n, _ in self.variables] or ["nope"]
        return f"{kind}(${rnd.choice(names)}).{self.action(event, kind)}"

    def filter(self, event):
        rnd = self.rnd
        def one():
            if event.strings() and chance(rnd, 0.3):
                return f"{rnd.choice(event.strings())} {rnd.choice(('==', '!=', '~'))} \"{rnd.choice(('apple', 'ban*', '*an*', '*e', 'nothing', ''))}\""
            if chance(rnd, 0.07):
                return rnd.choice(("common_pid != 0", "common_pid > 5", "comm == \"trigtgt\"", "common_cpu == 0", "CPU < 1", "nope == 1"))
            return f"{rnd.choice(event.numbers() or ['id'])}{rnd.choice((' ', ''))}{rnd.choice(('==', '!=', '<', '>', '<=', '>=', '&'))} {number(rnd)}"
        text = one()
        for _ in range(rnd.choice((0, 0, 0, 1, 1, 2))):
            text = f"{text} {rnd.choice(('&&', '||'))} {one()}"
        return f"!({text})" if chance(rnd, 0.1) else text

    def histogram(self, event, keys=None, variables=(), handlers=()):
        """@keys, @variables (name, text), @handlers: what it must have."""
        rnd = self.rnd
        keys = keys or [self.key(event) for _ in range(rnd.choice((1, 1, 1, 2, 2, 3, 4 if chance(rnd, 0.1) else 1)))]
        items = [f"{rnd.choice(('keys', 'keys', 'keys', 'key'))}={','.join(keys)}"]
        values = [self.value(event) for _ in range(rnd.choice((0, 0, 0, 1, 1, 2, 2, 3 if chance(rnd, 0.1) else 1)))]
        if values:
            items.append(f"{rnd.choice(('vals', 'vals', 'val', 'values'))}={','.join(values)}")
        mine = list(variables)
        mine += [self.variable(event) for _ in range(rnd.choice((0, 0, 0, 0, 0, 1, 2)))]
        if mine and chance(rnd, 0.3):
            items.append(",".join(f"{n}={t}" for n, t in mine))
        else:
            items += [f"{n}={t}" for n, t in mine]
        for p, item in ((0.35, lambda: "sort=" + self.sort(event, keys, values)), (0.2, lambda: "size=" + rnd.choice(SIZES if chance(rnd, 0.15) else SIZES[1:6])),
                        (0.1 if values else 0.01, lambda: rnd.choice(("nohitcount", "NOHC"))), (0.02, lambda: rnd.choice(("pause", "cont", "clear", "continue"))),
                        (0.06, lambda: "name=" + rnd.choice(("foo", "foo", "bar", ""))), (0.03, lambda: "clock=" + rnd.choice(("mono", "global", "zzz", "counter")))):
            if chance(rnd, p):
                items.append(item())
        if chance(rnd, 0.15):
            rnd.shuffle(items)
        items += handlers
        if chance(rnd, 0.05) and (mine or self.synths):
            items.append(self.handler(event, [n for n, _ in mine]))
        text = "hist:" + ":".join(items)
        if chance(rnd, 0.15):
            text += " if " + self.filter(event)
        self.variables += [(event, n, t) for n, t in mine if not any(o is event and m == n for o, m, _ in self.variables)]
        return text

    # --- other triggers ---
    def plain(self, event):
        rnd = self.rnd
        command = rnd.choice(("traceon", "traceoff", "stacktrace", "snapshot", "enable_event", "disable_event", "enable_hist", "disable_hist"))
        if command.endswith(("_event", "_hist")):
            targets = [e.path.replace("/", ":") for e in self.world.events] + ["synthetic:" + s for s in self.synths]
            command += ":" + (rnd.choice(targets) if chance(rnd, 0.93) else rnd.choice(("uprobes:nope", "uprobes", "", ":", "nope:nope")))
        if chance(rnd, 0.4):
            command += ":" + rnd.choice(("1", "2", "3", "5", "0", "0x3", "unlimited", "", "-1", "7x", "18446744073709551615")[:5 if chance(rnd, 0.7) else None])
        if chance(rnd, 0.4):
            command += " if " + self.filter(event)
        return command

    def synthetic(self, name=None):
        rnd = self.rnd
        name = name or rnd.choice(("syn_a", "syn_b", "lat_ev", "9x", "a-b")[:3 if chance(rnd, 0.95) else None])
        fields = []
        for i in range(rnd.choice((1, 1, 2, 2, 3))):
            fields.append((rnd.choice(SYNTH_TYPES if chance(rnd, 0.25) else ("u64", "u64", "u64", "s64", "char[]")), f"f{i}"))
        self.synths[name] = fields
        between = rnd.choice(("; ", ";", " ; ", " "))
        return f"{name} {between.join(f'{t} {f}' for t, f in fields)}"

    def mutated(self, text):
        """@text, broken somewhere."""
        rnd = self.rnd
        for _ in range(rnd.choice((1, 1, 1, 2, 3))):
            at = rnd.randrange(len(text) + 1)
            end = min(len(text), at + rnd.choice((1, 1, 2, 5)))
            how = rnd.randrange(7)
            if how == 0:
                text = text[:at] + text[end:]
            elif how == 1:
                text = text[:at] + rnd.choice(WORDS) + text[at:]
            elif how == 2:
                text = text[:at] + rnd.choice(WORDS) + text[end:]
            elif how == 3:
                text = text[:end] + text[at:end] + text[end:]
            elif how == 4:
                text = text[:at]
            else:
                items = text.split(":")
                a, b = rnd.randrange(len(items)), rnd.randrange(len(items))
                if how == 5:
                    items[a], items[b] = items[b], items[a]
                elif chance(rnd, 0.5):
                    items.insert(a, items[b])
                elif len(items) > 1:
                    del items[a]
                text = ":".join(items)
        return text
