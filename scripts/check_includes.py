#!/usr/bin/env python3
"""Checks the include rule: who may include whom, and which part may use which third-party library.

Usage: check_includes.py [INCLUDE_DIR]    (default: include/ of this repository)

Data flows one way, io -> engine -> host <- methods -> report. The maths headers need Eigen and the standard
library alone, so that anyone can vendor them.
"""

import re
import sys
from pathlib import Path

# Folder of a header ("" is include/iclmech itself: the methods) -> folders it may include.
FOLDERS = {
    "": {"", "detail", "host", "hook"},
    "detail": {"detail"},
    "host": {"detail", "host", "hook"},
    "hook": {"detail", "host", "hook"},
    "io": {"detail", "io"},
    "task": {"detail", "io", "task"},
    "engine": {"detail", "host", "hook", "io", "engine"},
    "method": {"", "detail", "host", "hook", "method"},
    "report": {"", "detail", "host", "hook", "method", "report"},
    "testing": {"", "detail", "host", "hook", "method", "testing"},
    "adapters": {"detail", "host", "hook", "io", "engine", "adapters"},
}

# Vocabulary that every part may use. These headers need the standard library alone.
COMMON = {"error.hpp", "version.hpp", "task/token_role.hpp"}

EIGEN = r"(unsupported/)?Eigen/\w+"
LIBRARIES = {
    "hook/xtensor.hpp": r"xtensor/.*|xtl/.*",
    "io": r"nlohmann/json(_fwd)?\.hpp|pcre2\.h|utf8proc\.h|fcntl\.h|unistd\.h|sys/(mman|stat|types)\.h|windows\.h",
    "task": r"nlohmann/json(_fwd)?\.hpp",
    "engine": r"nlohmann/json(_fwd)?\.hpp|cblas\.h|immintrin\.h",
    "report": r"nlohmann/json(_fwd)?\.hpp|fmt/\w+\.h",
    "testing": r"gtest/gtest\.h",
    "adapters": r"llama\.h|ggml.*\.h|gguf\.h",
    "detail/parallel.hpp": r"omp\.h",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.M)
STANDARD = re.compile(r"[a-z_0-9]+")


def folder_of(header: str) -> str:
    return header.split("/")[0] if "/" in header else ""


def problems(root: Path):
    library = root / "iclmech"
    for path in sorted(library.rglob("*.hpp")):
        header = path.relative_to(library).as_posix()
        folder = folder_of(header)
        if folder not in FOLDERS:
            yield f"{header}: folder {folder}/ has no rule; add one to scripts/check_includes.py"
            continue
        text = path.read_text(encoding="utf-8")
        guard = "ICLMECH_" + re.sub(r"[/.]", "_", header).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield f"{header}: the include guard is not {guard}"
        common = header in COMMON
        libraries = [] if common else [EIGEN] + [p for key, p in LIBRARIES.items() if key in (folder, header)]
        for system, own in INCLUDE.findall(text):
            target = own.removeprefix("iclmech/")
            if system:
                if not STANDARD.fullmatch(system) and not any(re.fullmatch(p, system) for p in libraries):
                    yield f"{header}: <{system}> is not for this part of the library"
            elif target == own:
                yield f'{header}: "{own}": write includes from the root, as "iclmech/..."'
            elif not (library / target).is_file():
                yield f'{header}: "{own}" does not exist'
            elif target not in COMMON and (common or folder_of(target) not in FOLDERS[folder]):
                yield f'{header}: {folder or "a method"} may not include "{own}"'


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "include"
    found = list(problems(root))
    for problem in found:
        print(problem)
    print(f"check_includes: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
