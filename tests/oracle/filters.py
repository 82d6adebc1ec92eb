# SPDX-License-Identifier: LGPL-2.1-or-later
# Random filters, the kernel's answer beside ours: accepted or not, errno,
# message, caret. The events are defined on /bin/true and never enabled.
# Usage: filters.py [SEED [SECONDS]]
import ctypes
import errno
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

DUMP = os.path.join(os.environ['TOOLS'], 'filter_dump')
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 15
WORKERS = 4  # the kernel may make a writer wait for a grace period
GROUP = 'ubpf_x%d' % os.getpid()

# The fixtures of filter_dump, in the order of their numbers.
DEFINITIONS = [
    r'p:%s/%s %s:%#x n=%%di sn=%%di:s64 n32=%%di:u32 s32=%%di:s32 u8=%%dx:u8 s8=%%dx:s8 '
    r'x16=%%dx:x16 c=%%dx:char bf=%%dx:b4@0/8 s=+0(%%si):string us=+0(%%si):ustring '
    r'arr=+0(%%si):u8[4] arr3=+0(%%si):u8[3] sarr=+0x10(\0x1100000a0):string[2] '
    r'lit=\"lit" cm=$comm',
    r'p:%s/%s %s:%#x n=%%di comm=$comm CPU=%%dx cpu=%%dx:u8 COMM=%%dx:u16',
    r'r:%s/%s %s:%#x n=%%di s=+0(%%di):string',
]

FIELDS = ('n sn n32 s32 u8 s8 x16 c bf arr arr3 s us sarr lit cm comm COMM cpu CPU common_pid '
          'common_type common_flags common_preempt_count __probe_ip __probe_func '
          '__probe_ret_ip stacktrace').split()
BAD_FIELDS = ['x', 'nn', '_', 'N', '1', 'common_cpu_', 'n.x', 'n[0]', '', '\xe9', 'n\xd7',
              's.ustring', 'n.ustring', 's.function', 'n.function', 'u8.function',
              'cm.ustring.function', 'n.function.ustring', 'common_stacktrace', 'STACKTRACE', 'common_cpu',
              'common_comm', 'common_tgid', 'Comm', 'Cpu']
OPS = ['==', '!=', '<', '<=', '>', '>=', '&', '~']
BAD_OPS = ['=', '!', '=!', '=<', '=>', '<>', '===', '|', '&&', '', '^', '~~', '!~', '~=']
NUMBERS = ['0', '1', '-1', '255', '256', '0x7f', '0xFF', '0XfF', '010', '08', '0x', '0b1', '1a',
           '--1', '- 1', '+1', '18446744073709551615', '18446744073709551616',
           '9223372036854775807', '9223372036854775808', '-9223372036854775808',
           '-9223372036854775809', '0xffffffffffffffff', '-0x8000000000000000', '-0', '00',
           '-', '1\xe9', '1_', '1.5', '01777777777777777777777', '02000000000000000000000']
CPU_LISTS = ['0', '1', '0-1', 'all', 'N', '0-N', '0,1', ' 0 , 1 ', '', ' ', ',', '2', '8191',
             '1-0', '0-', '-1', '0:1/2', '0-1:1/2', '0-1:2/1', '0-1:1/0', '0-1:1/2all',
             'all:1/2', 'ALL', 'aLl1', 'x', '0x1', '99999999999', 'n', 'N-N', '0-1:/2', '0;1',
             '0\xa01', '0-1:1/2,0', '0-1:1/2x']
PATTERNS = ['', '*', '**', 'a*', '*a', '*a*', 'a*b', 'a?b', '[a-c]', '[!a]', '[', '[a-', '\\',
            '!a', '!', '!*', '1*', '!1', 'a&&b', '||', '(', ')', ' ', '\xe9', 'CPUS{0}', "it's",
            'say "']


class Grammar:
    """Makes filters that are mostly right, and some that are not."""

    def __init__(self, rng):
        self.rng = rng

    def blank(self):
        return self.rng.choice(['', ' ', ' ', ' ', '  ', '\t', '\xa0'])

    def string(self):
        rng = self.rng
        quote = rng.choice('"\'')
        text = rng.choice(PATTERNS + ['x' * rng.choice([254, 255, 256, 300])])
        end = quote if rng.random() < .97 else rng.choice(['', '"', "'"])
        return quote + text + end

    def number(self):
        rng = self.rng
        if rng.random() < .5:
            return rng.choice(NUMBERS)
        if rng.random() < .1:
            return '0' * rng.randrange(20, 26) + '1'
        value = rng.randrange(1 << rng.randrange(1, 66))
        return rng.choice(['', '', '-']) + rng.choice(['%d', '%#x', '0%o']) % value

    def cpus(self):
        rng = self.rng
        if rng.random() < .1:
            return rng.choice(['CPUS', 'CPUS0', 'CPUS {0}', 'CPUS{', 'CPUS{0', 'CPU{0}', 'CPUS{}',
                               'cpus{0}'])
        return 'CPUS{%s}' % rng.choice(CPU_LISTS)

    def value(self):
        rng = self.rng
        kind = rng.random()
        if kind < .45:
            return self.number()
        if kind < .8:
            return self.string()
        if kind < .93:
            return self.cpus()
        return rng.choice(['', 'abc', '$1', '(1)', '*', '{0}', '\xe9', 'no_such_function_',
                           '"', '\\', ';'])

    def pred(self):
        rng = self.rng
        field = rng.choice(FIELDS if rng.random() < .93 else BAD_FIELDS)
        op = rng.choice(OPS if rng.random() < .95 else BAD_OPS)
        return ''.join([field, self.blank(), op, self.blank(), self.value()])

    def good_pred(self):
        """One that the kernel takes, so that what follows is reached."""
        rng = self.rng
        if rng.random() < .5:
            return '%s %s %d' % (rng.choice(['n', 'n32', 'cpu']), rng.choice(OPS[:7]),
                                 rng.randrange(100))
        return 'n%s%d' % (rng.choice(OPS[:7]), rng.randrange(100))

    def term(self, depth):
        rng = self.rng
        bangs = ''.join(rng.choice(['!', '! ']) for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])))
        if depth and rng.random() < .35:
            inner = self.expression(depth - 1) if rng.random() < .97 else ''
            return bangs + '(' + self.blank() + inner + self.blank() + ')'
        return bangs + (self.good_pred() if rng.random() < .7 else self.pred())

    def expression(self, depth):
        rng = self.rng
        text = self.term(depth)
        while rng.random() < .45:
            joint = rng.choice(['&&', '||']) if rng.random() < .95 else \
                rng.choice(['&', '|', '', '&&&', '|||', '&|', 'and', '#', '&& ||'])
            text += self.blank() + joint + self.blank() + self.term(depth)
        return text

    def damage(self, text):
        """Remove, double or insert a byte."""
        rng = self.rng
        at = rng.randrange(len(text) + 1)
        what = rng.randrange(3)
        if what == 0:
            return text[:at] + text[at + 1:]
        if what == 1:
            return text[:at] + text[at:at + 1] * 2 + text[at + 1:]
        return text[:at] + rng.choice('()!&|"\' =~<>{}n1*-\xa0') + text[at:]

    def filter(self):
        rng = self.rng
        kind = rng.random()
        if kind < .02:
            return rng.choice(['', ' ', '0', ' 0 ', '00', '1', 'none', '()', '!', '!!', '( )',
                               '&&', '||', '(', ')', ')(', '!(', 'n', '!=', '!~ "a"', '=='])
        if kind < .05:
            return '(' * rng.randrange(60) + self.good_pred() + ')' * rng.randrange(60)
        if kind < .08:
            text = self.good_pred()
            return text + rng.choice([' ' * rng.choice([10, 4070, 4095 - len(text),
                                                        4096 - len(text)]), ' &&', '||', ' && !'])
        text = self.blank() + self.expression(4)
        if rng.random() < .25:
            text = self.damage(text)
        return text + self.blank()


def is_harmless(text):
    """
    An operator at the end of the text, behind others, makes the kernel read in
    front of an array, and warn: not what this test is after.
    """
    return not re.search(r'(&&|\|\|)[\s\xa0!(]*$', text) or \
        len(re.findall(r'&&|\|\|', text)) == 1


def write_file(path, data, flags=os.O_WRONLY):
    fd = os.open(path, flags)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


class Kernel:
    """An instance of the tracer with its own error log, and events in it."""

    def __init__(self, root, number):
        self.dir = '%s/instances/%s_%d' % (root, GROUP, number)
        os.mkdir(self.dir)

    def close(self):
        os.rmdir(self.dir)

    def answer(self, kind, text):
        """None when accepted, or (errno, message, caret, command)."""
        log = self.dir + '/error_log'
        path = '%s/events/%s/e%d/filter' % (self.dir, GROUP, kind)
        write_file(log, b'\n', os.O_WRONLY | os.O_TRUNC)
        try:
            write_file(path, text)
        except OSError as error:
            code = error.errno
        else:
            return None
        with open(log, 'rb') as file:
            lines = file.read().decode('latin-1').split('\n')
        if len(lines) < 3:
            return (code, None, -1, b'')
        message = lines[0].split('event filter parse error: error: ', 1)[1]
        command = lines[1][len('  Command: '):]
        return (code, message.strip(), lines[2].index('^') - len('  Command: '),
                command.encode('latin-1'))


class Ours:
    def __init__(self):
        self.dump = subprocess.Popen([DUMP], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, kind, text):
        self.dump.stdin.write(b'filter %d %s\n' % (kind, text.hex().encode() or b'.'))
        self.dump.stdin.flush()
        line = self.dump.stdout.readline().decode('latin-1').rstrip('\n')
        if line.startswith('ok '):
            return None
        _, code, caret, command, message = line.split(' ', 4)
        command = b'' if command == '.' else bytes.fromhex(command)
        if int(caret) < 0:
            message = None  # the kernel logs nothing, our text is our own
        return (int(code), message, int(caret), command)

    def close(self):
        self.dump.stdin.close()
        return self.dump.wait()


def compare(root, number, until):
    """One worker. Returns how many answers were compared; prints what differs."""
    kernel, ours = Kernel(root, number), Ours()
    grammar = Grammar(random.Random('%d.%d' % (SEED, number)))
    n = n_accepted = n_bad = 0
    try:
        while time.monotonic() < until and n_bad < 10:
            text = grammar.filter()
            if not is_harmless(text):
                continue
            kind = grammar.rng.choice([0, 0, 0, 1, 2])
            data = text.encode('latin-1')
            want, got = kernel.answer(kind, data), ours.answer(kind, data)
            n += 1
            n_accepted += want is None
            if want != got:
                n_bad += 1
                print('fixture %d: %r\n  kernel: %s\n  ours:   %s' % (kind, text, want, got))
        for kind in range(len(DEFINITIONS)):
            kernel.answer(kind, b'0')
    finally:
        if ours.close() != 0:
            n_bad += 1
            print('filter_dump failed')
        kernel.close()
    print('worker %d: %d filters, %d accepted' % (number, n, n_accepted))
    sys.stdout.flush()
    return 0 if n_bad == 0 and n_accepted and n > n_accepted else 1


def mount_tracefs():
    """Where tracefs is. In a mount name space of our own if it has to be mounted."""
    for root in ('/sys/kernel/tracing', '/sys/kernel/debug/tracing'):
        if os.path.exists(root + '/uprobe_events'):
            return root
    libc = ctypes.CDLL(None, use_errno=True)
    root = tempfile.mkdtemp(dir='.').encode()
    clone_newns, ms_rec_private = 0x20000, 0x44000
    if libc.unshare(clone_newns) < 0 or \
            libc.mount(b'none', b'/', None, ms_rec_private, None) < 0 or \
            libc.mount(b'tracefs', root, b'tracefs', 0, None) < 0:
        print('tracefs cannot be mounted: %s' % os.strerror(ctypes.get_errno()))
        sys.exit(77)
    if not os.path.exists(os.path.join(root, b'uprobe_events')):
        print('the kernel has no uprobe events')
        sys.exit(77)
    return os.path.abspath(root.decode())


def entry_offset(path):
    """File offset of the ELF entry point, which is executable code."""
    with open(path, 'rb') as file:
        head = file.read(64)
        entry = int.from_bytes(head[24:32], 'little')
        file.seek(int.from_bytes(head[32:40], 'little'))
        for _ in range(int.from_bytes(head[56:58], 'little')):
            phdr = file.read(56)
            offset, vaddr = (int.from_bytes(phdr[i:i + 8], 'little') for i in (8, 16))
            size = int.from_bytes(phdr[32:40], 'little')
            if int.from_bytes(phdr[:4], 'little') == 1 and vaddr <= entry < vaddr + size:
                return entry - vaddr + offset
    raise ValueError('%s: no entry point' % path)


def define(root, target):
    offset = entry_offset(target)
    for kind, definition in enumerate(DEFINITIONS):
        line = definition % (GROUP, 'e%d' % kind, target, offset)
        write_file(root + '/uprobe_events', line.encode() + b'\n', os.O_WRONLY | os.O_APPEND)


def undefine(root):
    for kind in range(len(DEFINITIONS)):
        try:
            write_file(root + '/uprobe_events', b'-:%s/e%d\n' % (GROUP.encode(), kind),
                       os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise


def run_workers(root):
    until = time.monotonic() + SECONDS
    pids = []
    try:
        for number in range(WORKERS):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    status = compare(root, number, until)
                finally:
                    sys.stdout.flush()
                    os._exit(status)
            pids.append(pid)
        while pids:
            if os.waitpid(pids[0], 0)[1] != 0:
                return 1
            pids.pop(0)
        return 0
    finally:
        # Their instances hold the events: they must go first.
        for pid in pids:
            try:
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    root = mount_tracefs()
    print('seed %d' % SEED, flush=True)
    with open(root + '/README') as readme:
        if not re.search(r'type:.*\bchar\b', readme.read()):
            print("this kernel's grammar is older than 6.3's: filters are refused otherwise")
            return 77
    try:
        define(root, os.path.realpath('/bin/true'))
        return run_workers(root)
    except PermissionError as error:
        print('no right to define uprobe events: %s' % error)
        return 77
    finally:
        undefine(root)


sys.exit(main())
