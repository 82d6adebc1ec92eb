# SPDX-License-Identifier: LGPL-2.1-or-later
# Every filter of the corpus: accepted or not, errno, message, caret, the text
# that is shown, and which of the twelve hits pass must be the kernel's.
import errno
import json
import os
import subprocess
import sys

CORPUS = os.path.join(os.environ['UBP_SRC'], 'tests', 'corpus')
DUMP = os.path.join(os.environ['TOOLS'], 'filter_dump')

# Where we differ on purpose (docs/differences.md, "Filters"): row -> our answer,
# either the hits that pass or (errno, message, caret).
ALL = list(range(12))
DIFFERENCES = {
    # A number of the kernel's event, and the state of its scheduler: ours are 0.
    'f0287': [],   # common_type > 0
    'f0288': ALL,  # common_flags == 0
    'f0289': [],   # common_flags == 255
    'f0290': [],   # common_preempt_count == 255
    'f0291': ALL,  # common_preempt_count == 0
    # Compares with the addresses of a function of the kernel.
    'f0182': (errno.EINVAL, 'Function not found', 23),  # n.function == vfs_read
}


def to_bytes(text):
    return text.encode('utf-8', 'surrogateescape')


def to_hex(data):
    return data.hex() or '.'


def shown(answer):
    return 'passes %s' % answer if isinstance(answer, list) else 'fails with %s' % (answer,)


def wanted(row):
    """What the kernel answered: a list of hits, or (errno, message, caret)."""
    if row['accepted']:
        return row['passed']
    error = row['error'] or {'text': None, 'caret': None}
    return (getattr(errno, row['errno']), error['text'], error['caret'])


def parse(line):
    """An answer of filter_dump, and the command it shows."""
    word, rest = line.rstrip('\n').split(' ', 1)
    if word == 'ok':
        return [int(i) for i in rest.split(',')] if rest != '-' else [], None
    code, caret, command, message = rest.split(' ', 3)
    command = b'' if command == '.' else bytes.fromhex(command)
    return (int(code), message, int(caret)), command


def main():
    with open(os.path.join(CORPUS, 'filters_hits.json')) as file:
        hits = json.load(file)
    with open(os.path.join(CORPUS, 'filters.jsonl')) as file:
        rows = [json.loads(line) for line in file]
    lines = []
    for hit in hits:
        text = '-' if hit['s'] is None else to_hex(to_bytes(hit['s']))
        lines.append('hit %d %s %d' % (hit['n'], text, hit['d']))
    for row in rows:
        kind = 1 if ' CPU=%dx ' in row['definition'] else 0
        lines.append('filter %d %s' % (kind, to_hex(to_bytes(row['filter']))))
    run = subprocess.run([DUMP], input='\n'.join(lines) + '\n', text=True,
                         stdout=subprocess.PIPE, check=True)
    answers = run.stdout.splitlines()
    bad = len(answers) != len(rows)
    for row, line in zip(rows, answers):
        got, command = parse(line)
        want = wanted(row)
        if row['id'] in DIFFERENCES:
            if want == DIFFERENCES[row['id']]:
                print('%s: listed as a difference, but there is none' % row['id'])
                bad = True
            want = DIFFERENCES[row['id']]
        elif not row['accepted'] and not row['error'] and isinstance(got, tuple):
            want, got = want[0], got[0]  # nothing was logged
        elif row['error'] and to_bytes(row['error']['command']).rstrip() != command:
            print('%s: shows %r' % (row['id'], command))
            bad = True
        if got != want:
            print('%s: %r %s, the kernel %s' % (row['id'], row['filter'], shown(got), shown(want)))
            bad = True
    print('%d rows, %d of them with a listed difference' % (len(rows), len(DIFFERENCES)))
    return 1 if bad or len(rows) < 240 else 0


sys.exit(main())
