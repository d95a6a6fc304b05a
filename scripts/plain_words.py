"""The words that plain_english.py refuses, and what to write instead. One list, read by the lint alone."""

import re

# Rule 5: a comment names what it describes. "Where … is" is refused where it opens a condition before the thing said.
OPENERS = re.compile(
    r"(Of|That|Those|So many|As many|Whose|Where\b[^.,:;]*\b(is|are|was|were|has|have)\b|…|\.\.\.)(?=\W|$)"
)

# Rule 6: behind code there is room for a unit.
TRAILING_WORDS = 8


def _phrases(*pairs: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in pairs]


# Refused wherever people read: no ordinary meaning saves them.
PHRASES = _phrases(
    (r"\blevers?\b", '"setting"'),
    (r"\bunexplained slowdown\b|\bwhat several GPUs cost\b", '"multi-GPU overhead"'),
    (r"\breference step\b", '"baseline"'),
    (r"\bno measurement stands behind\b", '"not calibrated"'),
    (r"\bWhich PyTorch runs\b", '"PyTorch version unknown (pass --torch)"'),
    (r"\bfour times in five\b", '"80 % interval"'),
    (r"\bhas its all-reduce in the open\b|\bin the open\b", '"exposed" or "transfers"'),
    (r"\bis its specification\b|\bof specification\b", '"data sheet values"'),
)

# Refused in identifiers and keys, where the word stands for one thing.
NAMES = [
    (re.compile(r"\b\w*(?:FourInFive|four_in_five)\w*\b"), '"80_percent"'),
    (re.compile(r"\b\w*(?:InTheOpen|in_the_open)\w*\b"), '"exposed"'),
    (re.compile(r"\bBeside\b"), '"SideStream", or what it stands beside'),
    (re.compile(r"\b(?:Alike|alike_)\b"), "what is equal"),
    (re.compile(r"\b\w*[sS]tretch\w*\b"), '"interval"'),
    (re.compile(r"\b\w*[lL]evers?\w*\b"), '"setting"'),
    (re.compile(r"\b\w*(?:unexplained_slowdown|UnexplainedSlowdown|unexplainedSlowdown)\w*\b"), '"multi_gpu_overhead"'),
    (re.compile(r"\b\w*(?:reference_step|ReferenceStep|referenceStep)\w*\b"), '"baseline"'),
]

# Keys that the design promises, whatever the word list says.
PROMISED = {"levers", "better_lever", "unexplained_us"}
