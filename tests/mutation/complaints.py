"""Which mutants keep a rewritten tree from compiling, read off what GCC says.

Every mutant has lines of its own, so the first place of a complaint that lies on such lines names it: the place of the
error itself, else what it was required from, else a note. What the switch may be to blame for is tried without it; what
says that the mutant itself is no C++ is dropped."""

import os
import re

PLACE = re.compile(r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)?\s*(?P<rest>.*)$")
# The two versions do not go together, or what must be known while compiling no longer is.
OF_THE_SWITCH = re.compile(
    r"on_alike|operands to .\?:|constant expression|constexpr|static assertion|lvalue|rvalue|"
    r"throw-expression|array|deduce|redeclar|redefin|jump to|crosses initialization|conditional"
)
# Said after what is really wrong, of the same mutant or of one before it.
ECHO = re.compile(r"<expression error>|template argument \d+ is invalid")


def blocks(output):
    """[(message, [(path, line), ...])], one for each error; the place of the error comes first."""
    found = []
    before = []
    for line in output.splitlines():
        match = PLACE.match(line)
        if match is None:
            continue
        place = (match["path"], int(match["line"]))
        rest = match["rest"]
        if "error:" in rest:
            found.append((rest.partition("error:")[2].strip(), [place, *before]))
            before = []
        elif "required from" in rest or "required by" in rest or "in instantiation" in rest.lower():
            before.append(place)
        elif found:
            found[-1][1].append(place)
    return found


def guilty(output, owners, tree, folder):
    """({number: message} of no C++, {number: message} to be tried singly, files whose errors name no mutant).

    `owners`: {file: for each line the numbers it belongs to}; paths are as the compiler spells them in `folder`."""
    said, unnamed = {}, set()
    for message, places in blocks(output):
        ours = []
        for path, line in places:
            name = os.path.relpath(os.path.join(folder, path), tree)
            if name in owners:
                ours.append((name, owners[name][line - 1] if line <= len(owners[name]) else ()))
        named = next((numbers for _, numbers in ours if numbers), ())
        if not named:
            unnamed.update(name for name, _ in ours[:1])
        for number in named:
            said.setdefault(number, []).append((message, len(named) > 1))
    broken, singly = {}, {}
    for number, messages in said.items():
        real = [(message, shared) for message, shared in messages if not ECHO.search(message)]
        clear = [message for message, shared in real if not shared and not OF_THE_SWITCH.search(message)]
        if clear:
            broken[number] = clear[0]
        elif real:
            singly[number] = real[0][0]
    if not broken and not singly:
        broken = {number: messages[0][0] for number, messages in said.items()}
    return broken, singly, unnamed
