"""Writes names and sentences as Python source, for python_commands.py and python_results.py."""

import keyword
import re
import textwrap

WIDTH = 120


def identifier(word):
    return word + "_" if keyword.iskeyword(word) else word


def sentence(text):
    """`text` with a full stop, and with a capital unless it begins with a name such as `bucket_cap_mb`."""
    begins_with_word = re.fullmatch(r"[a-z][a-z'-]*[,:;.]?", text.split()[0])
    capital = text[0].upper() + text[1:] if begins_with_word else text
    return capital + ("" if text.endswith((".", "!", "?")) else ".")


def wrapped(text, indent, rest=None):
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def docstring(text, indent):
    """The lines of a docstring with this text only."""
    return wrapped('"""' + escaped(sentence(text)) + '"""', indent)


def escaped(text):
    return text.replace("\\", "\\\\")
