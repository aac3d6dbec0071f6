"""What the system executes to start a program."""

import struct

from pflow.process.start import programs_of

LOADER = "/none/ld-of-another-system.so"


def test_a_compiled_program_has_the_loader_that_its_headers_name_and_no_other(tmp_path):
    for folder, layout in {
        "wide": ("<16s16xQ14xHH6x", 64, "<IIQ16xQ"),
        "narrow": (">16s12xI10xHH6x", 52, ">II8xI"),
    }.items():
        form, size, header = layout
        ident = b"\x7fELF" + (b"\2\1" if folder == "wide" else b"\1\2")
        name = b"U" + LOADER.encode() + b"\0"  # some linkers put it behind other text
        place, length = size + 56 + 1, len(name) - 1
        fields = (3, 0, place, length) if folder == "wide" else (3, place, length)
        begin = struct.pack(form, ident, size, 56 if folder == "wide" else 32, 1).ljust(size, b"\0")
        file = tmp_path / folder
        file.write_bytes((begin + struct.pack(header, *fields)).ljust(size + 56, b"\0") + name + b"\0/bin/ld-none\0")
        assert programs_of(str(file)) == [str(file), LOADER]
