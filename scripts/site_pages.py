#!/usr/bin/env python3
"""Gathers the pages of the documentation site in one folder, laid out as in the repository, so that their links hold.

    scripts/site_pages.py [--page FILE] -o FOLDER PROGRAM...

The pages are those of the repository, with the files they link to. Two more are written from what the program tells about
itself: the commands (`ddpsim list --commands --json`) and the documents (`ddpsim list --schema NAME --json`). PROGRAM may be
several words, for example an emulator and its argument. FILE is ddpsim.html, which the site then has and links to. A link to a file that is not there ends this with exit code 1."""

import argparse
import json
import pathlib
import re
import shutil
import sys

from command_pages import asked
from man_page import EXIT_STATUS
from schemas import schema_texts

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages outside docs that the site shows too.
OTHER_PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "python/README.md",
    "real/README.md",
    "traces/README.md",
)
COMMANDS, DOCUMENTS = "docs/reference/commands.md", "docs/reference/documents.md"
GENERATED = (COMMANDS, DOCUMENTS)
# A block that holds a file: ```json workload.json. The site shows the name above the block.
NAMED_BLOCK = re.compile(r"^(```\w+) (\S+)$", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")


def pages_of_the_repository():
    """Paths relative to the root."""
    return [*OTHER_PAGES, *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def linked_files(page):
    """What a page links to inside the repository, as paths relative to the root."""
    for target in LINK.findall(without_code((ROOT / page).read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            linked = (ROOT / page).parent.joinpath(target).resolve()
            yield target, str(linked.relative_to(ROOT)) if linked.is_relative_to(ROOT) else None


def copy_pages(folder):
    """Copies pages and what they link to. Returns a sentence for each link that leads nowhere."""
    pages = pages_of_the_repository()
    wanted, wrong = set(pages), []
    for page in pages:
        for target, path in linked_files(page):
            if path is None or not (path in GENERATED or (ROOT / path).is_file()):
                wrong.append(f"{page} links to {target}, which is no file of the repository")
            elif path.endswith(".md") and path not in (*pages, *GENERATED):
                wrong.append(f"{page} links to {target}, which the site does not show; name the file without a link")
            elif path not in GENERATED:
                wanted.add(path)
    for path in wanted:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        (folder / page).write_text(NAMED_BLOCK.sub(r'\1 title="\2"', text), encoding="utf-8")
    return wrong


def add_simulator(page, folder):
    """Puts ddpsim.html at the root of the site. The pages for newcomers link to it where they name it first."""
    shutil.copy(page, folder / "ddpsim.html")
    for name, target in (("README.md", "ddpsim.html"), ("docs/start.md", "../ddpsim.html")):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("`ddpsim.html`", f"[`ddpsim.html`]({target})", 1), encoding="utf-8")


def cell(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(*rows):
    head, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *body)) + "\n"


def spelled(option):
    names = ", ".join(f"`{name}`" for name in (option["short"], option["name"]) if name)
    value = "|".join(option["choices"]) if option["choices"] else option["value"]
    return cell(names) + (f" {cell(value)}" if value else "")


def commands_page(offered):
    yield "# Commands\n"
    yield "Which commands are there, and which options does each take?\n"
    yield f"    {offered['commands'][0]['example']}\n"
    yield "This page repeats `ddpsim COMMAND --help`. Options have the same spelling and meaning in every command.\n"
    yield table(
        ("Command", "What it answers"),
        *((f"[`{command['name']}`](#{command['name']})", cell(command["summary"])) for command in offered["commands"]),
    )
    yield "## Exit codes\n"
    yield table(("Code", "Meaning"), *EXIT_STATUS)
    for command in offered["commands"]:
        arguments = " ".join(
            argument["name"] + ("..." if argument["repeated"] else "") for argument in command["positionals"]
        )
        yield f"## {command['name']}\n"
        yield f"`ddpsim {command['name']} [OPTION...] {arguments}`: {cell(command['summary'])}\n".replace(" `:", "`:")
        yield f"    {command['example']}\n"
        if command["positionals"]:
            yield table(
                ("Argument", "Meaning"),
                *((f"`{argument['name']}`", cell(argument["summary"])) for argument in command["positionals"]),
            )
        for group in dict.fromkeys(option["group"] for option in command["options"]):
            yield f"**{group}**\n"
            yield table(
                ("Option", "Meaning"),
                *(
                    (spelled(option), cell(option["summary"]))
                    for option in command["options"]
                    if option["group"] == group
                ),
            )


JSON_TYPES = {
    "string": "text",
    "boolean": "true or false",
    "array": "list",
    "number": "number",
    "integer": "integer",
    "null": "null",
}


def type_of(member, name_of):
    """The type of a member in words, with links to the parts that have a table of their own."""
    if "$ref" in member:
        name = name_of(member["$ref"].rpartition("/")[2])
        return f"[{name}](#{anchor(name)})"
    if "anyOf" in member:
        return " or ".join(type_of(one, name_of) for one in member["anyOf"])
    if "enum" in member:
        return " or ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in member["enum"])
    kind = member.get("type", "any value")
    words = " or ".join(JSON_TYPES.get(one, one) for one in ([kind] if isinstance(kind, str) else kind))
    inner = member.get("items") or member.get("additionalProperties")
    return f"{words} of {type_of(inner, name_of)}" if isinstance(inner, dict) and inner else words


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def members_table(part, name_of):
    required = part.get("required", [])
    return table(
        ("Key", "Type", "Meaning"),
        *(
            (
                f"`{key}`",
                cell(type_of(member, name_of)) + ("" if key in required else ", optional"),
                cell(member.get("description", "")),
            )
            for key, member in part.get("properties", {}).items()
        ),
    )


def documents_page(schemas):
    """Each document, then the parts of documents. A part that several documents share stands there once."""
    parts, name_in = {}, {}
    for document, schema in schemas.items():
        for name, part in schema.get("$defs", {}).items():
            title = name if parts.get(name, part) == part else f"{name} of {document}"
            parts[title] = part
            name_in[document, name] = title
    yield "# Documents\n"
    yield "What does each key of a JSON document mean?\n"
    yield "    ddpsim list --schema ddpsim.result/1\n"
    yield (
        "This page repeats what that command prints. With `--json` it prints the JSON Schema. [Formats](formats.md) shows examples and says "
        "how to read them.\n"
    )
    yield table(
        ("Document", "What it holds"),
        *((f"[`{name}`](#{anchor(name)})", cell(schema["description"])) for name, schema in schemas.items()),
    )
    for document, schema in schemas.items():
        yield f"## {document}\n\n{cell(schema['description'])}\n"
        yield members_table(schema, lambda name, document=document: name_in[document, name])
    yield "## Parts of documents\n"
    for title in sorted(parts):
        document = next(key[0] for key, value in name_in.items() if value == title)
        yield f"### {title}\n\n{cell(parts[title].get('description', ''))}\n"
        yield members_table(parts[title], lambda name, document=document: name_in[document, name])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    given = parser.parse_args()
    shutil.rmtree(given.output, ignore_errors=True)
    if wrong := copy_pages(given.output):
        sys.exit("\n".join(f"site: {sentence}" for sentence in wrong))
    if given.page:
        add_simulator(given.page, given.output)
    schemas = {name: json.loads(text) for name, text in schema_texts(given.program).items()}
    made = {COMMANDS: commands_page(asked(given.program, "--commands")), DOCUMENTS: documents_page(schemas)}
    for path, text in made.items():
        (given.output / path).write_text("\n".join(text), encoding="utf-8")
    shutil.copytree(ROOT / "scripts" / "site", given.output / "site")


if __name__ == "__main__":
    main()
