#!/usr/bin/env python3
"""Copies libnccl.so.2 with the machine code of one architecture only. The rest becomes zeros, which compress well.

    thin_nccl.py libnccl.so.2 OUT ARCHITECTURE     90: H100, H200

The sections .nv_fatbin and __nv_relfatbin are sequences of containers in the format of nvcc's fatbinary. A container
has a header of 16 bytes: magic, version, size of the header, size of the rest. Then come entries, each a header and a
payload. The header of an entry has its kind (1 PTX, 2 machine code) and, at byte 4, its own size. The size of the
payload is at byte 8, the architecture at 28. Headers stay, so the CUDA runtime still finds every entry."""

import struct
import sys

SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
CONTAINER = struct.Struct("<IHHQ")
MAGIC = 0xBA55ED50
MACHINE_CODE = 2


def sections(image):
    """The name, offset and size of each section of a 64-bit ELF file."""
    table = struct.unpack_from("<Q", image, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    texts = headers[names][4]
    for name, _, _, _, offset, length, *_ in headers:
        begin = texts + name
        yield bytes(image[begin : image.index(0, begin)]), offset, length


def entries(image, offset, length):
    """The kind, architecture, and offset and size of the payload of each entry in a section."""
    at, end = offset, offset + length
    while at + CONTAINER.size <= end:
        magic, _, header, follows = CONTAINER.unpack_from(image, at)
        if magic != MAGIC:
            at += 8  # containers start at multiples of 8
            continue
        entry, at = at + header, at + header + follows
        while entry + 64 <= at:
            kind, _, header, payload = struct.unpack_from("<HHIQ", image, entry)
            if header == 0 or payload == 0:
                break
            yield kind, struct.unpack_from("<I", image, entry + 28)[0], entry + header, payload
            entry += header + payload
        at = (at + 7) & ~7


def main(source, target, architecture):
    with open(source, "rb") as file:
        image = bytearray(file.read())
    kept = 0
    for name, offset, length in sections(image):
        for kind, of, begin, size in entries(image, offset, length) if name in SECTIONS else ():
            if kind == MACHINE_CODE and of == int(architecture):
                kept += size
            else:
                image[begin : begin + size] = bytes(size)
    if kept == 0:
        sys.exit(f"{source} has no code for sm_{architecture}")
    with open(target, "wb") as file:
        file.write(image)
    print(f"on_gpu: kept {kept / 1e6:.0f} MB of NCCL's code, for sm_{architecture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
