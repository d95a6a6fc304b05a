"""Every kind of document that ddpsim prints: commands of the corpus (tests/golden), run with --json."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import patience  # noqa: E402
from golden import cases, prepared_folder  # noqa: E402

WITHOUT_JSON = ("sweep", "import")  # print documents without --json


def printed(program, one_in=1):
    """Yields the arguments and the document of each command that prints one.

    The lines of a sweep come as one document, with the points under "points". Of the commands that print text in the
    corpus, every `one_in`-th is run."""
    lines, texts = {}, 0
    for case in cases():
        words = [word for word in case.command if word != "--json"]
        if not words or words[0] not in WITHOUT_JSON:
            words.append("--json")
            texts += "--json" not in case.command
            # `list` prints several kinds of documents, each in one case only.
            if "--json" not in case.command and texts % one_in and words[0] != "list":
                continue
        lines.setdefault(tuple(words), words)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for words, text in zip(lines.values(), threads.map(lambda words: output(program, words), lines.values())):
            document = parsed(text)
            if document is not None and "schema" in document:  # skips schemas
                yield words, document


def output(program, words):
    """The output of the command in a folder with the files of the corpus, or else the first document it writes."""
    with prepared_folder() as (here, before):
        run = subprocess.run(
            [program, *words],
            cwd=here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=patience.seconds(300),
        )
        written = sorted(path for path in here.glob("*.json*") if path.name not in before)
        return run.stdout or "".join(path.read_text(encoding="utf-8") for path in written[:1])


def parsed(text):
    if not text.startswith("{"):
        return None
    try:
        return json.loads(text)
    except ValueError:
        head, *points = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return {**head, "points": points} if head.get("schema") == "ddpsim.sweep/1" else None
