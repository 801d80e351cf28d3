#!/usr/bin/env python3
"""Collects error sentences of throws and of compilation from the headers, and compares them with docs/errors.md.

    scripts/errors.py --check    each sentence of the headers is in a section of docs/errors.md that has a cause, with a
                                 remedy, and the page has no other
    scripts/errors.py            a line for each sentence: KIND, PLACE, SENTENCE, separated by tabs

A sentence is the longest string in
- a throw or return of an error, and a call of a function that is [[noreturn]] and takes a text or an error;
- a static_assert, an #error, an attribute `unavailable`, a Config's `require`;
- what a resumed run or the processes must have alike (`archive.same`, `archive.placed`, `require_same`);
- what is set as `reason` or `what` of an error, or returned by a function `…fault`, `difference` or `diagnose…`;
- a line that begins with `trireme:` or `warning:`.
{} stands for what the message fills in.

A section of the page has a line "**Cause:** …" and lists with an item a sentence. A list stands under a paragraph
"**Remedy:** …", which fits each of its sentences, or under "**Remedies:**", where each item has its own: "- `…`: …".
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include/trireme"
PAGE = ROOT / "docs/errors.md"
STRING = r'"(?:[^"\\]|\\.)*"'
CALLS = (r"\b(?:throw|return) (\w*Error\w*)\(", r"\bc\.(require)\(", r"\b(static_assert|unavailable|require_same)\(",
         r"\barchive\.(same|placed)\(", r"\b(formatted)\((?=\s*\"(?:trireme|warning): )")
STATEMENTS = r"\b(reason|what) = |\{Kind::(general), |#(error)\b"
RETURNS = r"\bstd::string (?:\w+::)?(\w*fault|difference|diagnose_\w+)\("
ENDS = r"\[\[noreturn\]\][^;{(]*?\b(\w+)\([^)]*\b(?:string|string_view|char const\*|E)\b"


def between(text, start, pair="()"):
    """The text between the brackets of which the first begins at start."""
    depth, at, string = 0, start, re.compile(STRING)
    while at < len(text):
        if literal := string.match(text, at):
            at = literal.end()
            continue
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[start + 1:at]
        at += 1
    return text[start + 1:]


def sentences_of(call):
    """The longest string, and each other one that says what something was or has: another branch of a choice."""
    runs = (re.findall(STRING, run[0]) for run in re.finditer(rf"{STRING}(?:\s+{STRING})*", call))
    texts = ("".join(s[1:-1] for s in run) for run in runs)
    clean = [" ".join(t.replace('\\"', '"').replace("\\n", " ").replace("`", "'").split()) for t in texts]
    longest = max(clean, key=len, default="")
    return [text for text in clean if text == longest or re.match(r"(was|is|has|cannot) \S+ \S+ \S", text)]


def readable(path):
    """The code without comments, each line of a macro as one of code, and the name of a hook as a string."""
    text = re.sub(r"(^|\s)//.*", lambda m: " " * len(m[0]) if m[1] != "\n" else "\n", path.read_text())
    text = text.replace("\\\n", " \n")
    return re.sub(r"(?<=\")(\s+)#(?!include)\w+(\s+)(?=\")", r'\1"{}"\2', text)


def texts_with_sentences(text, helpers):
    """Kind, beginning and text of all that has a sentence."""
    for pattern in (*CALLS, rf"\b({'|'.join(sorted(helpers))})\("):
        for found in re.finditer(pattern, text):
            yield found[1], found.start(), between(text, found.end() - 1)
    for found in re.finditer(STATEMENTS, text):
        yield found[found.lastindex], found.start(), re.compile(rf"(?:{STRING}|[^;#\"])*").match(text, found.end())[0]
    for found in re.finditer(RETURNS, text):
        arguments = between(text, found.end() - 1)
        body = re.compile(r"\)[\s\w]*(?=\{)").match(text, found.end() + len(arguments))
        for result in re.finditer(rf"\breturn (?:{STRING}|[^;\"])*", between(text, body.end(), "{}") if body else ""):
            yield found[1], body.end() + result.start(), result[0]


def has_sentence(kind, text):
    """False for the frames of sentences that stand elsewhere, such as "{}; use {}"."""
    if kind == "formatted" or kind.endswith("fault"):
        return len(re.sub(r"{[^}]*}|\W", " ", text).split()) > 2
    return text.count(" ") > 1 or re.match(r"is \S+$", text)


def sentences():
    texts = {path: readable(path) for path in sorted(HEADERS.rglob("*.[hi]pp"))}
    helpers = {name for text in texts.values() for name in re.findall(ENDS, text)}
    for path, text in texts.items():
        for kind, start, part in texts_with_sentences(text, helpers):
            for sentence in sentences_of(part):
                if has_sentence(kind, sentence) and not sentence.endswith((":", ",")):  # a prefix of another error
                    told = f"holds a run that {sentence}" if kind in ("same", "placed") else sentence
                    yield kind, path.relative_to(HEADERS), text.count("\n", 0, start) + 1, told


def page():
    """Sentences of the page, and what is wrong with its form."""
    errors, listed = [], {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        title, kind = section.split("\n", 1)[0], None
        for paragraph in section.split("\n\n"):
            if remedy := re.match(r"\*\*(Remedy|Remedies):\*\*( \S)?", paragraph):
                kind = remedy[1]
                if (kind == "Remedy") != bool(remedy[2]):
                    errors.append(f"docs/errors.md: the section '{title}' has a '{kind}:' of the wrong form")
            items = re.findall(r"^- `([^`]*)`(:\s+[^\s-])?", paragraph, re.M)
            if len(items) != len(re.findall(r"^- ", paragraph, re.M)):
                errors.append(f"docs/errors.md: the section '{title}' has an item of the wrong form")
            for sentence, own in items:
                if bool(own) != (kind == "Remedies") or kind is None:
                    fault = "no list of a remedy" if kind is None else "two remedies" if own else "no remedy"
                    errors.append(f"docs/errors.md: '{title}' has {fault} for `{sentence}`")
                if sentence in listed:
                    errors.append(f"docs/errors.md: '{title}' and '{listed[sentence]}' both list `{sentence}`")
                listed[sentence] = title
            kind = kind if remedy else None  # a remedy is that of the next list alone
        if title in listed.values() and not re.search(r"^\*\*Cause:\*\* \S", section, re.M):
            errors.append(f"docs/errors.md: the section '{title}' has no cause")
    return errors, set(listed)


def check(found):
    errors, listed = page()
    for kind, path, line, sentence in found:
        if sentence not in listed:
            errors.append(f"include/trireme/{path}:{line}: docs/errors.md lists no `{sentence}`")
    for sentence in sorted(listed - {sentence for *_, sentence in found}):
        errors.append(f"docs/errors.md: no header has `{sentence}`")
    return errors


if __name__ == "__main__":
    found = list(sentences())
    if "--check" in sys.argv:
        problems = check(found)
        print("\n".join(problems[:50]) or f"docs/errors.md explains {len({s for *_, s in found})} sentences")
        sys.exit(bool(problems))
    for kind, path, line, sentence in found:
        print(kind, f"{path}:{line}", sentence, sep="\t")
