"""Writes tables of words: each function here makes entries for several spellings of one meaning."""

from vocabulary.scan import Entry, plain


def words_of(spellings):
    """Spellings, which stand in texts with commas between them."""
    return [one.strip() for text in spellings for one in text.split(",")]


def named(entry, spellings):
    return {plain(spelling): entry for spelling in words_of(spellings)}


def flag(concept, *spellings):
    """A switch, such as `overlap_comm` or `overlap_comm=false`."""
    return named(Entry(concept, "flag"), spellings)


def means(concept, value, *spellings):
    """Words that mean one value, such as FULL_SHARD."""
    return named(Entry(concept, "constant", value), spellings)


def cased(concept, value, *spellings):
    """As `means`, but only for one word written so: `DataParallel` is a class, and "data parallel" is not."""
    return {spelling: Entry(concept, "constant", value) for spelling in words_of(spellings)}


def number(concept, kind, *spellings):
    """A number of one of the kinds of tables.KINDS."""
    return named(Entry(concept, "number", kind), spellings)


def choice(concept, values, *spellings, alone=None, denied=None):
    """A key whose value is one of several names. `values` has the spellings of each."""
    names = {plain(word): value for value, words in values.items() for word in words}
    names |= {"": alone, "!": denied} | ({"#": True} if "#" in values else {})
    return named(Entry(concept, "choice", names), spellings)


def degree(concept, value, counted, *spellings):
    """Words that mean a value alone, and a number of another concept ("" for none) in front of a number."""
    return named(Entry(concept, "degree", (value, counted)), spellings)


def silent(*spellings):
    """Words that change nothing in a step."""
    return named(Entry("", "constant", None), spellings)


def silent_keys(*spellings):
    """Settings that change nothing in a step, with their values."""
    return named(Entry("", "skipped", "", None), spellings)


def refused(reason, *spellings):
    """Words of what the program does not simulate."""
    return named(Entry("", "flag", True, reason), spellings)


def joined(*tables):
    """One table. A spelling may have only one meaning."""
    whole = {}
    for table in tables:
        for spelling, entry in table.items():
            assert whole.setdefault(spelling, entry) == entry, f"{spelling} means two things"
    return whole
