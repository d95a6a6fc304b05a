"""Splits text into words, and says what each word means by a table.

A row spells one setting in many ways: `overlap_comm=true`, `"overlap_comm": true`, `--overlap_comm`, "overlap comm on".
All become a run of words, whose letters and digits are looked up together: `overlapcomm`. The longest run that the
table has wins. So `stage3_prefetch_bucket_size` is one word, and `zero_optimization.stage` falls into two. A number
is `#` in the table.

A word is understood, or silent (without effect on a step), or refused by name, or unknown. Nothing raises an error.

JSON needs no parser of its own: quotes and braces separate words, and the keys of nested objects follow each other. The
standard library has no YAML parser, and rows hold fragments that none would read.
"""

import dataclasses
import re

LONGEST = 8  # words of a run
TRUE = {"true", "on", "enabled", "enable", "yes", "1", "y"}
FALSE = {"false", "off", "disabled", "disable", "0", "none", "null", "never", "no", "n"}
AUTOMATIC = {"auto", "none", "null", "default"}
NEGATIONS = {"no", "not", "non", "without", "wo", "disable", "disabled", "disabling"}
SCALES = {"": 1, "k": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12}
BYTES = {
    "b": 1, "bytes": 1, "byte": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
VERSIONS = {"version": 3, "minor": 2}  # kinds of versions, with their parts
SHORTEST_SLIP = 7  # letters
MOST = 1e15  # beyond it a number is none
UNITS = SCALES.keys() | BYTES.keys()

# "qwen2.5", a number with a unit, or a word.
TOKEN = re.compile(
    r"[A-Za-z][A-Za-z0-9]*\d\.\d+[A-Za-z]*"
    r"|\d+(?:\.\d+)*(?:e[+-]?\d+)?[A-Za-z]*\d*[A-Za-z]*(?![A-Za-z0-9])"
    r"|[A-Za-z0-9]+",
    re.IGNORECASE,
)
# Names of classes, which say nothing by themselves.
CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]*(?:Layer|Block|Attention|State|Config|Plugin|Policy|Strategy|Dict|Averager)")
NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([a-z]*)")
ENDS_IN_NUMBER = re.compile(r"([a-z]+)(\d+)")


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    plain: str
    # What joins it to the word before: "soft", "assign" or "hard".
    gap: str

    @property
    def number(self):
        """Value and unit, or None."""
        found = NUMBER.fullmatch(self.plain)
        known = found and found.group(2) in UNITS and float(found.group(1)) < MOST
        return (float(found.group(1)), found.group(2)) if known else None


@dataclasses.dataclass(frozen=True)
class Entry:
    """What a run of words means. `read` says how the value behind it is read."""

    concept: str
    read: str  # a name of READERS
    value: object = True
    # A reason why the program cannot simulate it; None if it can.
    refused: "str | None" = None


@dataclasses.dataclass
class Found:
    """The meaning of a text."""

    facts: dict = dataclasses.field(default_factory=dict)
    refused: list = dataclasses.field(default_factory=list)
    unknown: list = dataclasses.field(default_factory=list)

    def add(self, entry, value):
        if entry.read == "degree":
            concept, value = value
            if concept:
                self.facts.setdefault(concept, []).append(value)
        elif entry.refused:
            self.refused.append(entry.refused)
        elif entry.concept and (value is not None or entry.read == "constant"):
            self.facts.setdefault(entry.concept, []).append(value)


def plain(text):
    """Letters and digits alone, points within a number, and `#` for a number."""
    return re.sub(r"[^a-z0-9#.]|(?<!\d)\.|\.(?!\d)", "", text.lower())


def gap_of(between):
    if re.search(r"[=:]", between):
        return "assign"
    return "hard" if re.search(r"[;,|()+&{}\[\]\"'\n<>]|--|→", between) else "soft"


def tokens_of(text):
    text = text.replace("×", "x").replace("–", "-").replace("++", "plusplus")
    text = re.sub(r"(?<![A-Za-z0-9.])(\d+) ?x ?(?=[A-Za-z])", r"\1 x ", text)  # 8xA100
    text = re.sub(r"(?<=\d)x(?=\d)", " x ", re.sub(r"\bx(?=\d)", "x ", text))
    text = re.sub(r"\b[a-z]\w{1,4}\.(?:\d*xlarge|metal)\b", " ", text)  # a machine (machines.py)
    text = re.sub(r"=\s*-1\b", "=auto", text)
    text = re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)
    found, end = [], 0
    for match in TOKEN.finditer(text):
        gap = gap_of(text[end : match.start()]) if found else "hard"
        found.append(Token(match.group(0), match.group(0).lower(), gap))
        end = match.end()
    return found


def run_at(tokens, begin, table):
    """The longest run of words that begins there and is in the table: entry, end, and numbers in it; or None."""
    most = begin + 1
    while most < min(len(tokens), begin + LONGEST) and tokens[most].gap == "soft":
        most += 1
    for end in range(most, begin, -1):
        words = tokens[begin:end]
        for exact in ("".join(token.text for token in words), "".join(token.plain for token in words)):
            if exact in table:
                return table[exact], end, []
        patterns, numbers = [], []
        for token in words:
            number, tail = token.number, ENDS_IN_NUMBER.fullmatch(token.plain)
            if number:
                numbers.append(token)
                patterns.append("#")
            elif tail:
                numbers.append(Token(tail.group(2), tail.group(2), "soft"))
                patterns.append(tail.group(1) + "#")
            else:
                patterns.append(token.plain)
        pattern = "".join(patterns)
        if numbers and pattern in table:
            return table[pattern], end, numbers
        if pattern.endswith("#") and getattr(table.get(pattern[:-1]), "read", "") == "number":
            return table[pattern[:-1]], end, numbers
    return None


def slips(one, other):
    """Whether two words differ by one letter: left out, added, another, or two exchanged."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return one == other
    begin = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    rest, its = one[begin:], other[begin:]
    return rest[1:] == its[1:] or rest[1:] == its or rest == its[1:] or (rest[:2] == its[1::-1] and rest[2:] == its[2:])


def misspelt(word, names):
    """The only name that a long word may have been meant to be; None if there is none, or several."""
    if len(word) < SHORTEST_SLIP or not word.isalpha():
        return None
    near = [name for name in names if abs(len(name) - len(word)) <= 1 and slips(word, name)]
    return near[0] if len(near) == 1 else None


def meaning_at(tokens, begin, table):
    """As run_at; but the name of a setting in front of its value, and a value, are one word, even with a slip."""
    run, end = run_at(tokens, begin, table), begin + 1
    while end < len(tokens) and tokens[end].gap == "soft":
        end += 1
    key = end < len(tokens) and tokens[end].gap == "assign"
    if (key or tokens[begin].gap == "assign") and end - begin <= LONGEST and (run is None or run[1] < end):
        name = misspelt("".join(token.plain for token in tokens[begin:end]), table)
        return (table[name], end, []) if name else run
    return run


def version_of(text, kind):
    found = re.match(r"\d+(?:\.\d+)+", text)
    return ".".join(found.group(0).split(".")[: VERSIONS[kind]]) if found else None


def scaled(token, unit, kind):
    """The value of a number: of elements, of bytes in MiB, of tokens (k is 1024), or a plain one."""
    if kind in VERSIONS:
        return version_of(token.plain, kind)
    value, own = token.number
    unit = own or unit
    if kind == "sized" and unit not in BYTES:
        return None
    if kind == "elements" and unit in BYTES and unit not in SCALES:
        return None
    if kind in ("mib", "sized"):
        return value * BYTES.get(unit, 2**20) / 2**20 if unit not in ("mb", "m") else value
    # A unit of 1e6 bytes. A large number without a unit is one of bytes.
    if kind == "mb":
        return value * BYTES.get(unit, 1e6 if value < 1e5 else 1) / 1e6
    if kind == "bytes":
        return value * BYTES.get(unit, 1) / 2**20
    if kind == "tokens":
        return int(value * (1024 if unit == "k" else SCALES.get(unit, 1)))
    return int(value * SCALES.get(unit, 1)) if kind in ("elements", "count") else value


def read_flag(entry, tokens, at, negated, table):
    """A switch: on, unless it says off or stands behind "no"."""
    del entry
    if at + 1 < len(tokens) and tokens[at].plain in ("enabled", "enable") and tokens[at + 1].gap == "assign":
        at += 1  # "fp16": {"enabled": false}
    if at < len(tokens) and tokens[at].gap != "hard":
        word, run = tokens[at].plain, run_at(tokens, at, table)
        spoken = word in ("on", "off", "enabled", "disabled", "true", "false")
        if spoken or (tokens[at].gap == "assign" and word in TRUE | FALSE and not (run and run[1] > at + 1)):
            return (word in TRUE) != negated, at + 1
    return not negated, at


def read_constant(entry, tokens, at, negated, table):
    """A word that means one value; None behind "no"."""
    value, end = read_flag(entry, tokens, at, negated, table)
    return entry.value if value else None, end


def read_number(entry, tokens, at, negated, table):
    """A number behind its name, or behind another name: `reduce_bucket=allgather_bucket=2e8`."""
    del negated
    while (
        at < len(tokens) and tokens[at].plain in ("of", "is", "to", "size", "about", "x") and tokens[at].gap == "soft"
    ):
        at += 1
    if at < len(tokens) and entry.value in VERSIONS and version_of(tokens[at].plain, entry.value):
        return version_of(tokens[at].plain, entry.value), at + 1
    if at < len(tokens) and tokens[at].number:
        end = at + 1
        unit = (
            tokens[end].plain if end < len(tokens) and tokens[end].gap == "soft" and tokens[end].plain in UNITS else ""
        )
        value = scaled(tokens[at], unit, entry.value)
        return (None, at) if value is None else (value, end + bool(unit))
    if at < len(tokens) and tokens[at].plain in AUTOMATIC:
        return None, at + 1
    inner = run_at(tokens, at, table) if at < len(tokens) and tokens[at].gap == "assign" else None
    if inner and inner[0].read == "number":
        value, _ = read_number(inner[0], tokens, inner[1], False, table)
        return value, at
    return None, at


def read_choice(entry, tokens, at, negated, table):
    """One of several names behind its own. The entry has what each means, "" if none follows, and "!" behind "no"."""
    del table
    alone = entry.value.get("!" if negated else "")
    if at == len(tokens) or tokens[at].gap == "hard":
        return alone, at
    assigned = tokens[at].gap == "assign"
    for begin in range(at, min(len(tokens), at + 3 if assigned else at + 1)):
        if begin > at and tokens[begin].gap == "hard":
            break
        for end in range(min(len(tokens), begin + 5), begin, -1):
            word = "".join(token.plain for token in tokens[begin:end])
            if "#" in entry.value and word.isdigit():
                return int(word), end
            if begin == at and assigned and word not in entry.value:
                word = misspelt(word, entry.value) or word
            if word in entry.value and all(token.gap == "soft" for token in tokens[begin + 1 : end]):
                return entry.value[word], end
    return (None if assigned else alone), at


def read_degree(entry, tokens, at, negated, table):
    """A word that a number gives another meaning: "DP" and "DP=8". A number stands for itself."""
    kind = {"torch": "minor", "nccl": "version"}.get(entry.value[1], "count")
    value, end = read_number(Entry("", "number", kind), tokens, at, False, table)
    if value is not None and tokens[at].gap != "hard":
        return (entry.value[1], value), end
    return (entry.concept, None if negated else entry.value[0]), at


def read_skipped(entry, tokens, at, negated, table):
    """A setting without effect on a step, with its value: one word, and those behind it that no table has."""
    del negated
    if at < len(tokens) and (tokens[at].gap == "assign" or (tokens[at].gap == "soft" and tokens[at].number)):
        at += 1
        while at < len(tokens) and tokens[at].gap == "soft" and run_at(tokens, at, table) is None:
            at += 1
    return entry.value, at


READERS = {
    "flag": read_flag,
    "constant": read_constant,
    "number": read_number,
    "choice": read_choice,
    "degree": read_degree,
    "skipped": read_skipped,
}


def value_at(run, tokens, negated, table):
    """The value of a run of words, and where the next one begins."""
    entry, end, numbers = run
    if not numbers or entry.read != "number":
        return READERS[entry.read](entry, tokens, end, negated, table)
    unit = ""
    if end < len(tokens) and tokens[end].gap == "soft" and tokens[end].plain in BYTES:
        unit = tokens[end].plain
    return scaled(numbers[-1], unit, entry.value), end + bool(unit)


def is_unread(run, value, tokens, end):
    """Whether a setting has a value that cannot be read as one of its own."""
    entry, _, numbers = run
    if entry.read not in ("number", "choice") or value is not None:
        return False
    behind = tokens[end] if end < len(tokens) else None
    return bool(numbers) or bool(behind and (behind.gap == "assign" or behind.gap == "soft" and behind.number))


def is_silent(token, after_silent):
    """Whether an unknown word says nothing: a year, a share, a number behind a silent word, the name of a class."""
    number = token.number
    year = re.fullmatch("20[12][0-9]", token.plain)
    return bool(CLASS_NAME.fullmatch(token.text) or number and (after_silent or year or 0 < number[0] < 1))


def scan(text, table):
    """The meaning of a text by a table of entries."""
    found, tokens, at, negated, silent = Found(), tokens_of(text), 0, False, False
    while at < len(tokens):
        run = meaning_at(tokens, at, table)
        if run is None:
            if tokens[at].plain in NEGATIONS:
                negated = True
            elif not is_silent(tokens[at], silent):
                found.unknown.append(tokens[at].text)
                negated = False
            at += 1
            continue
        entry = run[0]
        value, end = value_at(run, tokens, negated, table)
        if is_unread(run, value, tokens, end):
            found.unknown.append(" ".join(token.text for token in tokens[at : min(end + 1, len(tokens))]))
            end = min(end + 1, len(tokens))
        elif not (entry.refused and (negated or value in (False, None, 0))):
            found.add(entry, value)
        negated, silent, at = False, not entry.concept, end
    return found
