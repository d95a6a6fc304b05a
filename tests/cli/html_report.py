"""Takes a page of --report apart. Standard library only."""

import base64
import gzip
import html
import json
import re

DOCUMENTS = re.compile(r'<script type="application/gzip" id="documents">([A-Za-z0-9+/=]*)</script>')
PLAIN = re.compile(r'<pre id="plain">(.*?)</pre>', re.DOTALL)


def envelope(page):
    """The data that the script of the page reads."""
    return json.loads(gzip.decompress(base64.b64decode(DOCUMENTS.search(page)[1], validate=True)))


def plain(page):
    """The text that is shown without scripts."""
    return html.unescape(PLAIN.search(page)[1])


def report_text(content):
    """The page as the corpus stores it: only the names of its documents, because results of --json have their
    contents."""
    page = content.decode("utf-8")
    try:
        whole = envelope(page)
    except (TypeError, ValueError, OSError) as problem:
        return f"(no report: {problem})\n"
    documents = "".join(f"document {name}: {document['schema']}\n" for name, document in whole["documents"].items())
    words = "".join(f"words of {kind}: {', '.join(of)}\n" for kind, of in whole["words"].items())
    return (
        f"{whole['schema']}, {whole['program']}\ncommand: {whole['command']}\nverdict: {whole['verdict']}\n{documents}{words}"
        f"plain text: {'the same' if plain(page) == whole['text'] else 'another'}\n{whole['text']}"
    )
