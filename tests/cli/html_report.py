"""A page that --report wrote, taken apart; standard library only."""

import base64
import gzip
import html
import json
import re

DOCUMENTS = re.compile(r'<script type="application/gzip" id="documents">([A-Za-z0-9+/=]*)</script>')
PLAIN = re.compile(r'<pre id="plain">(.*?)</pre>', re.DOTALL)


def envelope(page):
    """What the page's script reads."""
    return json.loads(gzip.decompress(base64.b64decode(DOCUMENTS.search(page)[1], validate=True)))


def plain(page):
    """What is shown where no script runs."""
    return html.unescape(PLAIN.search(page)[1])


def report_text(content):
    """The page for the corpus: its documents by name alone, for what is in each is kept where --json prints it."""
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
