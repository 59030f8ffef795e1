#!/usr/bin/env python3
"""Joins headers of the library into one file that needs Eigen and the standard library alone.

Usage: amalgamate.py [-o OUTPUT] [HEADER...]

HEADER is a path as in #include "...", by default iclmech/tsla.hpp; OUTPUT is iclmech-tsla.hpp by default.
Each header keeps its own include guard, so the result and the library's headers get along in one program.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"(iclmech/[^"]+)"\s*$')


def version() -> str:
    text = (ROOT / "include/iclmech/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"ICLMECH_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def expand(header: str, seen: set) -> list:
    """The lines of `header`, with each library header in the place of its first #include."""
    seen.add(header)
    lines = []
    for line in (ROOT / "include" / header).read_text(encoding="utf-8").splitlines():
        include = INCLUDE.match(line)
        if not include:
            lines.append(line)
        elif include[1] not in seen:
            lines += ["", f"// --- {include[1]}", ""] + expand(include[1], seen) + [""]
    return lines


def squeeze(lines: list) -> list:
    """Single blank lines only."""
    return [line for i, line in enumerate(lines) if line or i == 0 or lines[i - 1]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("header", nargs="*", default=["iclmech/tsla.hpp"])
    parser.add_argument("-o", "--output", type=Path, default=Path("iclmech-tsla.hpp"))
    arguments = parser.parse_args()

    seen = set()
    lines = [f"// {arguments.output.name}: {', '.join(arguments.header)} of iclmech {version()} and all that it includes,"]
    lines += ["// joined by scripts/amalgamate.py. Needs Eigen (>= 3.4) and C++20.", "//"]
    lines += [f"// {line}".rstrip() for line in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()]
    for header in arguments.header:
        if header not in seen:
            lines += [""] + expand(header, seen)
    arguments.output.write_text("\n".join(squeeze(lines)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
