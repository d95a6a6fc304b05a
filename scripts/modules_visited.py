#!/usr/bin/env python3
"""Lists the modules that a value visits: follows one parameter through the calls that pass it on.

    scripts/modules_visited.py jobs/src/build_job.cpp:build_job:request [--root CHECKOUT]

A module is a source file with its header. The value is the parameter, its members, and names bound to either; anything
computed from it is another value. Calls are followed in the order in which they are written, each function once. A
return is a call into a module that the value had left. Returning to the caller does not count.
"""

import argparse
import pathlib
import re
import sys

FOLDERS = ("sim", "formats", "models", "topologies", "traces", "diagnose", "calibrate", "jobs", "reports", "cli")
DEFINITION = re.compile(
    r"^(?!\s|//|#|using|namespace|return|else|if|for|while|switch|struct|class|enum)"
    r"[\w:<>,&*\s\[\]]*?\b(\w+)\(",
    re.MULTILINE,
)
CALL = re.compile(r"(?<![\w.>:])(?:\w+::)*(\w+)\(")
WORDS = {
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "catch",
    "static_cast",
    "move",
    "get",
    "get_if",
    "holds_alternative",
}


def bare(text):
    """`text` with comments and string literals blanked. Positions stay the same."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group(0))
    text = re.sub(r"//[^\n]*", blank, text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda found: '"' + " " * (len(found.group(0)) - 2) + '"', text)


def closing(text, at):
    """The position of the bracket that closes the one at `at`, or -1."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = []
    for place in range(at, len(text)):
        letter = text[place]
        if letter in pairs:
            depth.append(pairs[letter])
        elif depth and letter == depth[-1]:
            depth.pop()
            if not depth:
                return place
    return -1


def split_arguments(text):
    """Splits at commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= text[place - 1 : place + 1] != "->"
        elif letter == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return parts + [text[begin:]]


class Function:
    def __init__(self, path, name, parameters, body, promised):
        self.module, self.folder, self.name, self.body, self.promised = path.stem, path.parts[0], name, body, promised
        self.parameters = [(re.findall(r"\w+", part.split("=")[0]) or [""])[-1] for part in split_arguments(parameters)]


def functions_of(root):
    """Every function that is defined at the outermost level, by name."""
    texts = {
        path.relative_to(root): bare(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.[ch]pp"))
    }
    # Other modules may call only functions that a header declares.
    promised = {
        (path.stem, name)
        for path, text in texts.items()
        if path.suffix == ".hpp"
        for name in re.findall(r"\b(\w+)\(", text)
    }
    found = {}
    for path, text in texts.items():
        for start in DEFINITION.finditer(text):
            name, opened = start.group(1), start.end() - 1
            closed = closing(text, opened)
            behind = re.match(r"\)\s*(?:const)?\s*(?:noexcept)?\s*\{", text[closed:]) if closed > 0 else None
            if behind:
                brace = closed + behind.end() - 1
                found.setdefault(name, []).append(
                    Function(
                        path,
                        name,
                        text[opened + 1 : closed],
                        text[brace : closing(text, brace) + 1],
                        (path.stem, name) in promised,
                    )
                )
    return found


class Walk:
    def __init__(self, functions, within):
        self.functions, self.within, self.route, self.seen = functions, within, [], set()

    def follow(self, function, parameter):
        if (function.module, function.name, parameter) in self.seen:
            return
        self.seen.add((function.module, function.name, parameter))
        names = {parameter}
        carries = lambda text: any(re.search(rf"(?<![\w.>]){name}\b", text) for name in names)
        events = [(found.start(), "call", found) for found in CALL.finditer(function.body)]
        events += [
            (found.start(), "name", found)
            for found in re.finditer(
                r"&\s*(\w+)\s*=\s*\*?([\w.>*-]+);|auto&?\s*(\w+)\s*=\s*&?\*?([\w.>-]+);", function.body
            )
        ]
        for _, kind, found in sorted(events, key=lambda event: event[0]):
            if kind == "name":
                name, value = found.group(1) or found.group(3), found.group(2) or found.group(4)
                if carries(value):
                    names.add(name)
                continue
            closed = closing(function.body, found.end() - 1)
            for position, argument in enumerate(split_arguments(function.body[found.end() : closed])):
                # If the argument is itself a call, the value is followed into that call instead.
                if re.search(r"\w\(", argument) or not carries(argument):
                    continue
                self.enter(function, found.group(1), position)

    def enter(self, caller, name, position):
        if name in WORDS or name not in self.functions:
            return
        there = [one for one in self.functions[name] if position < len(one.parameters) and one.folder in self.within]
        own = [one for one in there if one.module == caller.module] or [one for one in there if one.promised]
        if len({one.module for one in own}) != 1:
            return  # ambiguous: several modules define it
        if own[0].module != caller.module:
            self.route.append(own[0].module)
        for one in own:
            self.follow(one, one.parameters[position])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("value", metavar="FILE:FUNCTION:PARAMETER")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--within", nargs="+", default=FOLDERS, metavar="FOLDER", help="do not enter other folders")
    parser.add_argument("--route", action="store_true", help="print the modules in the order of the visits")
    arguments = parser.parse_args()
    file, function, parameter = arguments.value.split(":")
    walk = Walk(functions_of(arguments.root), arguments.within)
    module = pathlib.Path(file).stem
    starts = [one for one in walk.functions.get(function, []) if one.module == module and parameter in one.parameters]
    if not starts:
        sys.exit(f"{arguments.value}: no such function or parameter. Write FILE:FUNCTION:PARAMETER")
    walk.follow(starts[0], parameter)
    route = [module] + [name for place, name in enumerate(walk.route) if place == 0 or walk.route[place - 1] != name]
    returns = sum(name in route[:place] for place, name in enumerate(route))
    if arguments.route:
        print(" ".join(route))
    print(f"{len(set(route))} modules in {len(route)} visits, {returns} of them returns")


if __name__ == "__main__":
    main()
