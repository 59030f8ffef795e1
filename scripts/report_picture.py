#!/usr/bin/env python3
"""Makes a picture of some figures of a report, side by side, with headless Chromium.

    scripts/report_picture.py REPORT.html PICTURE.png CAPTION...      captions as the report has them

The picture in the README:

    iclmech study tsla gemma-3-270m.gguf --task sentiment --out report
    scripts/report_picture.py report/report.html docs/images/gemma3-sentiment.png \\
        'gemma-3-270m.gguf, sentiment: TR' 'gemma-3-270m.gguf, sentiment: TL' \\
        'gemma-3-270m.gguf, sentiment: accuracy without heads (zero)' \\
        'gemma-3-270m.gguf, sentiment: TR ratio without heads (zero)'
"""
import pathlib
import re
import sys
import tempfile

from check_report import find_browser, run

WIDTH, HEIGHT = 1160, 690


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    report, picture, *captions = sys.argv[1:]
    browser = find_browser()
    if browser is None:
        sys.exit("report_picture.py: there is no Chromium here")
    page = pathlib.Path(report).read_text()
    figures = {m[2]: m[1] for m in re.finditer(r"(<figure><figcaption>(.*?)</figcaption>.*?</figure>)", page, re.DOTALL)}
    missing = [c for c in captions if c not in figures]
    if missing:
        sys.exit("report_picture.py: no figure is called " + ", ".join(map(repr, missing)) + "; there are\n  " +
                 "\n  ".join(figures))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    row = "".join(figures[c] for c in captions)
    # Maps are tall: what else there is stands in one column beside them.
    extra = ("figure>a,details{display:none}.row{display:grid;grid-auto-flow:column;grid-template-rows:auto auto;"
             "grid-template-columns:none;grid-auto-columns:1fr;align-items:start}figure:has(svg.map){grid-row:span 2}")
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder) / "part.html"
        part.write_text(f"<!doctype html><meta charset=utf-8><style>{style}{extra}</style><main><div class=row>{row}"
                        "</div></main>")
        run(browser, folder + "/profile", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={pathlib.Path(picture).resolve()}", part.as_uri()).check_returncode()


if __name__ == "__main__":
    main()
