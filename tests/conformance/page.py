#!/usr/bin/env python3
"""report.html by its structure: page.py SUITE PLUGIN FOLDER makes a report of failures and reads its page."""
import html.parser
import re
import subprocess
import sys

VOID = {"meta", "br", "input", "hr", "img", "link"}
# Elements whose end tag may be left out: what begins ends them.
ENDED_BY = {"li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "td": {"td", "th", "tr", "tbody"}, "th": {"td", "th", "tr", "tbody"},
            "tr": {"tr", "tbody"}, "thead": {"tbody"}, "tbody": {"tbody"}, "option": {"option"}, "p": set()}
PAIRS = [("ink", "ground"), ("ink", "card"), ("soft", "ground"), ("soft", "card"), ("ink", "nonebg"),
         ("good", "goodbg"), ("bad", "badbg"), ("warn", "warnbg"), ("none", "nonebg")]
LEAST_CONTRAST = 4.5  # WCAG 2.1, 1.4.3, level AA


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.faults, self.ids, self.texts, self.names = [], [], [], {}, set()

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        while self.open and tag in ENDED_BY.get(self.open[-1], ()):
            self.open.pop()
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "srcset", "action", "background") or name.startswith("on") or re.search(r"https?://|//\w", value or "") and name == "style":
                self.faults.append(f"<{tag} {name}={value!r}>: the page reaches outside or runs what it should not")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in ENDED_BY:
            self.open.pop()
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"line {self.getpos()[0]}: </{tag}> closes {self.open[-1:] or 'nothing'}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def colours(css):
    return dict(re.findall(r"--(\w+):(#\w+)", css))


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def style_faults(css):
    roots = re.findall(r":root\{([^}]*)\}", css)
    if len(roots) != 2 or "prefers-color-scheme:dark" not in css:
        return ["style: want colours for light and for dark"]
    light, dark = map(colours, roots)
    faults = [f"style: --{n} is not defined for light and dark" for n in set(re.findall(r"var\(--(\w+)\)", css)) if n not in light or n not in dark]
    for name, scheme in (("light", light), ("dark", dark)):
        for a, b in PAIRS:
            if (got := contrast(scheme[a], scheme[b])) < LEAST_CONTRAST:
                faults.append(f"style, {name}: want a contrast of {LEAST_CONTRAST} of --{a} on --{b}, got {got:.2f}")
    if re.search(r"url\(|@import|https?:", css):
        faults.append("style: it reaches outside")
    return faults


def page_faults(text):
    page = Page()
    page.feed(text)
    page.close()
    faults = page.faults + [f"<{tag}> is not closed" for tag in page.open if tag not in ENDED_BY]
    faults += [f"id {i}: want it once, got it {page.ids.count(i)} times" for i in set(page.ids) if page.ids.count(i) > 1]
    script = page.texts.get("script", "")
    wanted = re.findall(r'getElementById\("(\w+)"\)', script) + re.findall(r'querySelectorAll\("#(\w+)', script)
    faults += [f"script: there is no id {i}" for i in wanted if i not in page.ids]
    faults += [f"there is no <{tag}>" for tag in ("title", "table", "details", "script", "style") if tag not in page.names]
    if not text.startswith("<!doctype html>"):
        faults.append("want <!doctype html> first")
    return faults + style_faults(page.texts.get("style", ""))


def main():
    suite, plugin, folder = sys.argv[1:]
    subprocess.run([suite, plugin, "--family", "A,F,G", "--case-timeout", "2", "--memory-limit", "400", "--report", folder], stdout=subprocess.DEVNULL)
    faults = page_faults(open(folder + "/report.html", encoding="utf-8").read())
    # The check itself notices what it is for.
    for bad in ("<p><b></p>", '<i id=a></i><i id=a></i>', '<img src="https://example.com/x.png">', "<section>"):
        if not any(f for f in page_faults(bad) if not f.startswith(("style", "there is no", "want"))):
            faults.append(f"the check takes {bad}")
    print("\n".join(faults) or "the page is sound")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
