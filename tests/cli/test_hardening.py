"""Programs of the release presets are hardened.

They have a stack protector, checked calls of the C library, a random address, and tables that are read-only at run
time."""

import json
import pathlib
import struct
import unittest

from command import BINARY, ROOT

DT_FLAGS, DT_FLAGS_1 = 30, 0x6FFFFFFB
BIND_NOW, NOW, PIE = 0x8, 0x1, 0x08000000
ET_DYN, PT_DYNAMIC, PT_GNU_RELRO = 3, 2, 0x6474E552


class Program:
    """The facts in the headers of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        self.type = struct.unpack_from("<H", self.bytes, 16)[0]
        (offset,) = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = {}
        for number in range(count):
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", self.bytes, offset + number * size)
            self.segments[kind] = (at, length)
        at, length = self.segments[PT_DYNAMIC]
        self.dynamic = dict(struct.iter_unpack("<QQ", self.bytes[at : at + length]))


class Hardening(unittest.TestCase):
    def test_release_presets_set_the_options(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        named = {preset["name"]: preset for preset in presets}
        environment = named["base"]["environment"]
        for flag in ("-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-fPIE"):
            self.assertIn(flag, environment["HARDENED"].split())
        for flag in ("-pie", "-Wl,-z,relro,-z,now"):
            self.assertIn(flag, environment["HARDENED_LINK"].split())
        for name in ("release", "portable"):
            self.assertIn("$env{HARDENED}", named[name]["cacheVariables"]["CMAKE_CXX_FLAGS"])
            self.assertIn("$env{HARDENED_LINK}", named[name]["cacheVariables"]["CMAKE_EXE_LINKER_FLAGS"])

    def test_the_program_of_a_release_build_is_hardened(self):
        if pathlib.Path(BINARY).resolve().parents[1].name != "release":
            self.skipTest("this program is not of preset release")
        program = Program(BINARY)
        self.assertEqual(program.type, ET_DYN)
        self.assertTrue(program.dynamic[DT_FLAGS_1] & PIE, "no position-independent executable")
        self.assertTrue(program.dynamic[DT_FLAGS_1] & NOW or program.dynamic.get(DT_FLAGS, 0) & BIND_NOW, "no BIND_NOW")
        self.assertIn(PT_GNU_RELRO, program.segments)
        self.assertIn(b"\0__stack_chk_fail\0", program.bytes)
        self.assertRegex(program.bytes, rb"\0__(memcpy|memmove|snprintf|vsnprintf|fprintf)_chk\0", "no checked calls")


if __name__ == "__main__":
    unittest.main()
