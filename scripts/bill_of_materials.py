#!/usr/bin/env python3
"""Writes a bill of materials of the portable program (CycloneDX 1.5), and the licences of its parts in one text.

    scripts/bill_of_materials.py VERSION -o FOLDER

It writes sboms/ddpsim.cdx.json and licenses/libraries.txt to FOLDER. Versions and licence texts come from what the
build used: headers of the machine's packages, sources in build/sources, and the compiler's libraries in
build/portable-tools. The date is that of SOURCE_DATE_EPOCH."""

import argparse
import datetime
import json
import os
import pathlib
import subprocess

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build"

# Name, licence (SPDX), the part that is inside, and the Debian package whose headers were used.
HEADERS = [
    ("fmt", "MIT", "text", "libfmt-dev"),
    ("nlohmann-json", "MIT", "JSON documents", "nlohmann-json3-dev"),
    ("CLI11", "BSD-3-Clause", "command line", "libcli11-dev"),
    ("protozero", "BSD-2-Clause", "Perfetto's protobuf", "libprotozero-dev"),
    ("Boost", "BSL-1.0", "headers: Graph, Multiprecision, and what they include", "libboost1.74-dev"),
    ("Eigen", "MPL-2.0", "headers: least squares", "libeigen3-dev"),
]
# The last column is the folder in build/sources.
SOURCES = [
    ("zlib", "Zlib", "gzip", "zlib"),
    ("simdjson", "Apache-2.0", "trace events", "simdjson"),
    ("pugixml", "MIT", "XML", "pugixml"),
    ("SQLite", "blessing", "exports of Nsight Systems", "sqlite3"),
]
# The last column is the path of the licence in the compiler's folder.
COMPILER = [
    ("libc++", "Apache-2.0 WITH LLVM-exception", "C++ standard library", "lib/libcxx/LICENSE.TXT"),
    ("libc++abi", "Apache-2.0 WITH LLVM-exception", "exceptions", "lib/libcxxabi/LICENSE.TXT"),
    ("libunwind", "Apache-2.0 WITH LLVM-exception", "unwinding", "lib/libunwind/LICENSE.TXT"),
    ("zig-compiler-rt", "MIT", "functions that compiled code calls", "LICENSE"),
]


LICENCES = (
    "These libraries are linked into ddpsim, under the licences below. No licence was chosen for ddpsim itself.\n"
)


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def parts():
    """Name, version, licence, purpose, purl and path of the licence of each part."""
    for name, licence, purpose, package in HEADERS:
        source, version = printed("dpkg-query", "-W", "-f=${source:Package} ${source:Version}", package).split()
        yield (
            name,
            version,
            licence,
            purpose,
            debian(source, version),
            pathlib.Path("/usr/share/doc", package, "copyright"),
        )
    for name, licence, purpose, folder in SOURCES:
        place = BUILD / "sources" / folder / "debian"
        version = printed("dpkg-parsechangelog", "-l", str(place / "changelog"), "-S", "Version")
        yield name, version, licence, purpose, debian(folder, version), place / "copyright"
    [compiler] = BUILD.glob("portable-tools/lib/python3*/site-packages/ziglang")
    zig = printed(str(compiler / "zig"), "version")
    llvm = printed(str(compiler / "zig"), "c++", "--version").split("clang version ")[1].split()[0]
    for name, licence, purpose, text in COMPILER:
        version = zig if name.startswith("zig") else llvm
        yield (
            name,
            version,
            licence,
            purpose,
            f"pkg:pypi/ziglang@{zig}#{text.rpartition('/')[0]}".rstrip("#"),
            compiler / text,
        )


def debian(source, version):
    return f"pkg:deb/debian/{source}@{version.replace(':', '%3A').replace('+', '%2B')}?arch=source"


def bill(version, inside):
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    components = [
        {
            "type": "library",
            "bom-ref": name,
            "name": name,
            "version": part_version,
            "description": purpose,
            "licenses": [licence_entry(licence)],
            "purl": purl,
        }
        for name, part_version, licence, purpose, purl, _ in inside
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            # No licence was chosen for the program itself.
            "component": {
                "type": "application",
                "bom-ref": "ddpsim",
                "name": "ddpsim",
                "version": version,
                "licenses": [{"license": {"name": "NOASSERTION"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": "ddpsim", "dependsOn": [component["bom-ref"] for component in components]}],
    }


def licence_entry(licence):
    return {"expression": licence} if " " in licence else {"license": {"id": licence}}


def licence_text(name, path):
    text = path.read_text(encoding="utf-8")
    # Boost's file has two megabytes about the owners of all its files: keep the licence only.
    if name == "Boost":
        [text] = [
            paragraph + "\n"
            for paragraph in text.split("\n\n")
            if paragraph.startswith("License: BSL-1.0\n Boost Software")
        ]
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    inside = list(parts())
    (arguments.output / "sboms").mkdir(parents=True, exist_ok=True)
    (arguments.output / "licenses").mkdir(exist_ok=True)
    document = json.dumps(bill(arguments.version, inside), indent=2) + "\n"
    (arguments.output / "sboms" / "ddpsim.cdx.json").write_text(document, encoding="utf-8")
    texts = [f"== {name} {version}\n\n{licence_text(name, text)}" for name, version, *_, text in inside]
    (arguments.output / "licenses" / "libraries.txt").write_text("\n".join([LICENCES, *texts]), encoding="utf-8")


if __name__ == "__main__":
    main()
