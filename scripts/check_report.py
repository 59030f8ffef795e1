#!/usr/bin/env python3
"""Opens a report in headless Chromium: it must load without console errors or network, its tables must sort, and
its marks must say their values. Exits with 77 where there is no Chromium.

    scripts/check_report.py REPORT.html            check it
    scripts/check_report.py REPORT.html --shots DIR   also take screenshots: phone and desktop, light and dark
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Runs inside a copy of the page, after its own script: presses the head of every column and points at a mark.
PROBE = """
<script>
const found={tables:0,sorted:0,figures:document.querySelectorAll('figure').length,marks:0,tip:'',wide:0};
for(const t of document.querySelectorAll('table')){
  ++found.tables;
  const h=t.querySelector('th');
  h.firstChild.click();
  const first=[...t.tBodies[0].rows].map(r=>r.cells[0].textContent);
  h.firstChild.click();
  const second=[...t.tBodies[0].rows].map(r=>r.cells[0].textContent);
  if(h.ariaSort=='descending'&&first[0]==second[second.length-1])++found.sorted;
}
found.marks=document.querySelectorAll('svg title').length;
const mark=document.querySelector('svg rect>title,svg circle>title');
if(mark){
  mark.parentNode.dispatchEvent(new PointerEvent('pointerover',{bubbles:true}));
  found.tip=document.getElementById('tip').hidden?'':document.getElementById('tip').textContent;
  found.expected=mark.textContent;
}
found.wide=document.documentElement.scrollWidth-document.documentElement.clientWidth;
const out=document.createElement('pre');
out.id='probe';
out.textContent=JSON.stringify(found);
document.body.append(out);
</script>
"""


def find_browser():
    return next((b for b in map(shutil.which, BROWSERS) if b), None)


def run(browser, profile, *arguments):
    return subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
         f"--user-data-dir={profile}", "--virtual-time-budget=4000", *arguments],
        capture_output=True, text=True, timeout=120)


def console_lines(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path)
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium here: skipped")
        return 77

    text = options.report.read_text()
    problems = []
    for address in re.findall(r"""(?:src|href)=["']?(https?:[^"'> ]+)""", text):
        problems.append(f"the page refers to the network: {address}")
    with tempfile.TemporaryDirectory() as folder:
        probed = pathlib.Path(folder) / "probed.html"
        probed.write_text(text.replace("</body>", PROBE + "</body>"))
        for width in (390, 1280):
            seen = run(browser, folder + "/profile", f"--window-size={width},900", "--dump-dom", probed.as_uri())
            problems += console_lines(seen.stderr)
            match = re.search(r'<pre id="probe">(.*?)</pre>', seen.stdout)
            if match is None:
                problems.append(f"at width {width} the page's script did not run to its end")
                continue
            found = json.loads(match.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
            print(f"width {width}: {found}")
            if found["figures"] == 0 or found["marks"] == 0:
                problems.append("the page has no figures")
            if found["sorted"] != found["tables"]:
                problems.append(f"{found['tables'] - found['sorted']} of {found['tables']} tables do not sort")
            if found["tip"] != found.get("expected", ""):
                problems.append(f"pointing at a mark says {found['tip']!r}, not {found['expected']!r}")
            if found["wide"] > 0:
                problems.append(f"at width {width} the page is {found['wide']} pixels too wide")
        if options.shots:
            options.shots.mkdir(parents=True, exist_ok=True)
            for name, width, height in (("phone", 390, 5200), ("desktop", 1280, 3600)):
                for theme, flags in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
                    run(browser, folder + "/profile", *flags, f"--window-size={width},{height}",
                        f"--screenshot={options.shots}/{name}-{theme}.png", options.report.resolve().as_uri())
    for problem in problems:
        print("PROBLEM:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
