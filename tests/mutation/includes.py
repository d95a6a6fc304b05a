"""Which sources see a header: what is compiled anew when it changes."""

import collections
import functools
import re

import tree

# A header that more sources include is left out of samples: a mutant in it would have most of the tree compiled anew.
# Nearly all of them only declare.
MANY = 50
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@functools.lru_cache(maxsize=None)
def of_checkout():
    """The same of the working tree, tests included."""
    return includers(
        {name: (tree.CHECKOUT / name).read_text() for name in tree.checkout_files() if name.endswith((".cpp", ".hpp"))}
    )


def is_wide(file):
    return len(of_checkout().get(file, ())) > MANY


def includers(sources):
    """{header: the .cpp files that include it, directly or not}, of {file: text}.

    A name is looked for beside its includer, then as the end of any path: promised headers are ddpsim/sim/..."""
    by_end = collections.defaultdict(list)
    for file in sources:
        by_end[file.rsplit("/", 1)[-1]].append(file)
    direct = {
        file: {found for name in INCLUDE.findall(text) for found in named(file, name, sources, by_end)}
        for file, text in sources.items()
    }
    seen_by = collections.defaultdict(set)
    for source in sources:
        if source.endswith(".cpp"):
            for header in reached(source, direct):
                seen_by[header].add(source)
    return seen_by


def named(file, name, sources, by_end):
    beside = file.rsplit("/", 1)[0] + "/" + name
    if beside in sources:
        return [beside]
    return [found for found in by_end[name.rsplit("/", 1)[-1]] if found.endswith("/" + name)]


def reached(source, direct):
    found, open_ = set(), [source]
    while open_:
        for header in direct.get(open_.pop(), ()):
            if header not in found:
                found.add(header)
                open_.append(header)
    return found
