#!/usr/bin/env python3
"""Checks the links of a site: files and anchors exist, and no page loads anything from another host.

    scripts/check_links.py SITE

Of links to other hosts it checks the form alone, without a network: https, a host that can be public, and no part that
was left to fill in.
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for key in "id", "name":
            if attributes.get(key):
                self.ids.add(attributes[key])
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        if tag in ("script", "img", "iframe") and attributes.get("src"):
            self.loads.add(attributes["src"])
        if tag == "link" and attributes.get("href") and attributes.get("rel") != "canonical":
            self.loads.add(attributes["href"])


def fault(link):
    """What is wrong with the form of a link to another host."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme != "https":
        return "is not https"
    if not re.fullmatch(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", parts.netloc):
        return "names no public host"
    if re.search(r"(^|\.)(example\.(com|org|net)|(example|invalid|test|local|localhost))$", parts.netloc):
        return "names a host of examples"
    if re.search(r"[\s<>{}$\"'`|\\…]|\.\.\.|[.,;:]$|/(OWNER|NAME|PROJECT)\b", link):
        return "has a part to fill in, or ends with punctuation"
    return ""


if len(sys.argv) != 2:
    sys.exit("usage: check_links.py SITE, the folder that scripts/docs.sh makes")
site = pathlib.Path(sys.argv[1]).resolve()
pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
errors, count, others = [], 0, set()
for path, page in pages.items():
    for link in sorted(page.links | page.loads):
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loads:
                errors.append(f"{path.relative_to(site)}: loads {link} from another host")
            elif wrong := fault(link):
                errors.append(f"{path.relative_to(site)}: the link {link} {wrong}")
            others.add(link)
            continue
        count += 1
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.exists():
            errors.append(f"{path.relative_to(site)}: the link {link} leads nowhere")
        elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].ids:
            errors.append(f"{path.relative_to(site)}: the page of the link {link} has no such anchor")
print("\n".join(errors[:50]) or f"{count} links of {len(pages)} pages lead somewhere; {len(others)} lead to other hosts")
sys.exit(bool(errors))
