"""Which mutants keep a rewritten tree from compiling, read off what GCC says.

Every mutant has lines of its own, so the first place of a complaint that lies on such lines names it: the place of the
error itself, else what it was required from, else a note. What the switch may be to blame for is tried without it; what
says that the mutant itself is no C++ is dropped."""
import os
import pathlib
import re

PLACE = re.compile(r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)?\s*(?P<rest>.*)$")
# The two versions do not go together, or what must be known while compiling no longer is.
OF_THE_SWITCH = re.compile(r"on_alike|operands to .\?:|constant expression|constexpr|static assertion|lvalue|rvalue|"
                           r"throw-expression|cannot bind|array|deduce|redeclar|redefin|undeclared|not declared|jump to|"
                           r"crosses initialization|incomplete|narrowing|conditional")


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

    `owners`: {file: for each line the numbers it belongs to}; paths are as the compiler, run in `folder`, spells them."""
    broken, singly, unnamed = {}, {}, set()
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
            (singly if len(named) > 1 or OF_THE_SWITCH.search(message) else broken)[number] = message
    return {number: message for number, message in broken.items() if number not in singly}, singly, unnamed
