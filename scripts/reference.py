#!/usr/bin/env python3
"""Writes the reference of every public name, from the XML that Doxygen makes of the headers.

    scripts/reference.py XML FOLDER

FOLDER gets a page a room (`reference/layers.md`), an index of all names (`reference/index.md`) and each header with
numbered lines (`source/layers/dense.html`). A name is public if it stands in a namespace of the table below. A public
name without a brief is an error, and so is one whose signature names `detail`: fields of such types and values are left
out.

A class of the rooms SHAPED, and a layer (a class of the room `layers` with a member `output`; others are options and
what passes hand over), is an error too unless its description, or that of a member, names a shape. That is a list
of extents in parentheses, which has an ellipsis or begins with an axis of the field, `(rows, …, classes)` or `(height,
width, channels)`, or the words `any shape`, `same extents`, `shape of the input` or `extents of`. Classes that hold
values without axes are exempt: NO_AXES.
"""
import collections
import html
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include/trireme"
PUBLIC = {"trireme", "trireme::data", "trireme::hooks", "trireme::intervals", "trireme::io", "trireme::math",
          "trireme::metrics", "trireme::pjrt"}
# Rooms of implementation: what they have in namespace trireme is for the library's other rooms.
INTERNAL_ROOMS = {"detail", "pjrt/lowering"}
ORDER = ["compile", "fit", "compiled_model", "predictor", "models", "layers", "activations", "losses", "metrics",
         "optimizers", "schedules", "initializers", "data", "strategies", "callbacks", "environment", "mpi", "tensor",
         "io", "pjrt", "backend", "core", "version"]

SHAPED = {"activations", "losses", "metrics"}
NO_AXES = {"Logs", "MeanState"}  # values by name; the two sums of a mean
SHAPE = re.compile(r"\((rows|batch|positions|time|queries|height|H\d?|features)(, [^()]+)?\)|"
                   r"\([^()]*(\.\.\.|…)[^()]*\)|any shape|same extents|shape of (the|its) input|extents of")

Name = collections.namedtuple("Name", "name kind room file line template definition brief text members layer")


def words(element):
    """The text of a description as Markdown."""
    if element is None:
        return ""
    out = [element.text or ""]
    for child in element:
        inner = words(child)
        if child.tag == "para":
            out.append(inner.strip() + "\n\n")
        elif child.tag == "computeroutput":
            out.append(f"`{''.join(child.itertext())}`")
        elif child.tag == "parameterlist":
            kind = {"exception": "throws", "templateparam": "template parameter"}.get(child.get("kind"), "parameter")
            for item in child.findall("parameteritem"):
                text = " ".join(words(item.find("parameterdescription")).split())
                out.append(f"\n\n- {kind} `{flat(item.find('parameternamelist'))}` {text}\n\n")
        elif child.tag == "simplesect":
            out.append(f"\n\n- {child.get('kind')}: {' '.join(inner.split())}\n\n")
        elif child.tag == "listitem":
            out.append("- " + " ".join(inner.split()) + "\n")
        elif child.tag in ("itemizedlist", "orderedlist"):
            out.append("\n\n" + inner + "\n")
        elif child.tag in ("verbatim", "programlisting"):
            code = "\n".join("".join(line.itertext()) for line in child) if len(child) else child.text or ""
            out.append("\n\n```cpp\n" + code.strip("\n") + "\n```\n\n")
        elif child.tag == "sp":
            out.append(" ")
        elif child.tag in ("ndash", "mdash"):
            out.append("–")
        else:
            out.append(inner)
        out.append(child.tail or "")
    return "".join(out)


def escaped(text):
    """Text outside of code, where < and * would be read as markup."""
    pieces = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.S)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_\[\]|])", r"\\\1", p) for p in pieces)


def flat(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def template_of(element):
    parameters = element.find("templateparamlist")
    if parameters is None:
        return ""
    parts = []
    for p in parameters.findall("param"):
        default = flat(p.find("defval"))
        name = flat(p.find("declname"))
        parts.append(flat(p.find("type")) + (f" {name}" if name else "") + (f" = {default}" if default else ""))
    return "template <" + ", ".join(parts) + ">\n"


def described(element):
    brief = words(element.find("briefdescription")).strip()
    text = words(element.find("detaileddescription")).strip()
    if not brief and text and not text.startswith("- "):
        brief, _, text = text.partition("\n\n")
    return " ".join(brief.split()), text


def place(element):
    location = element.find("location")
    if location is None:
        return None, 0
    file = pathlib.Path(location.get("file"))
    if not file.is_absolute():
        file = ROOT / file
    try:
        return file.relative_to(HEADERS), int(location.get("line"))
    except ValueError:
        return None, 0


def room_of(file):
    return str(file.parent) if file.parent != pathlib.Path(".") else file.stem


def comment_above(file, line):
    """The /// lines above a declaration with concepts, or above declarations of one line each without a gap."""
    lines = (HEADERS / file).read_text().split("\n")
    at, found = line - 2, []
    if not re.match(r"\s*(template\b|requires\b|\[\[|///)", lines[at]):  # one comment for lines without a gap
        while at >= 0 and re.match(r"(using|constexpr|inline|struct|enum|KOKKOS\w+) .*[;}](\s*//.*)?$", lines[at]):
            at -= 1
    while at >= 0 and re.match(r"\s*(template\b|requires\b|\[\[)", lines[at]):
        at -= 1
    while at >= 0 and (match := re.match(r"\s*/// ?(.*)$", lines[at])):
        found.insert(0, match[1])
        at -= 1
    brief, _, text = "\n".join(found).partition("\n\n")
    return " ".join(brief.split()), text


def header_brief(file, name):
    """The header's first line, if it is about this name: `/// Dense: y = …`."""
    first = (HEADERS / file).read_text().split("\n", 1)[0]
    match = re.match(r"/// (\w+)(?:<[^>]*>)?: (.*)$", first)
    if not match or match[1] != name:
        return ""
    return match[2][0].upper() + match[2][1:] if match[2][1:2].isalpha() else match[2]


def member_of(element):
    brief, text = described(element)
    if not brief or element.get("prot") != "public":
        return None
    declared = flat(element.find("definition")) or flat(element.find("name"))
    declared = re.sub(r"\btrireme::(\w+::)*(?=[\w~]+$)", "", declared)
    initial = flat(element.find("initializer"))
    declared += flat(element.find("argsstring")) + (f" {initial}" if initial and "detail::" not in initial else "")
    return flat(element.find("name")), re.sub(r"\b(constexpr|inline) ", "", declared), brief, text, place(element)[1]


def field(element):
    initial = flat(element.find("initializer"))
    initial = initial if initial.startswith(("=", "{")) and "detail::" not in initial else ""
    type_name = flat(element.find("type")).replace("< ", "<").replace(" >", ">")
    return re.sub(r"\[\[.*?\]\] *", "", type_name) + " " + flat(element.find("name")) + (
        " " + initial if initial.startswith("=") else initial)


def declared(element, name, kind):
    if kind in ("class", "struct", "union"):
        fields = [field(m) for m in element.iter("memberdef") if m.get("kind") == "variable" and
                  m.get("static") == "no" and m.get("prot") == "public" and "detail::" not in flat(m.find("type"))]
        body = " {\n" + "".join(f"  {f};\n" for f in fields) + "}" if fields else ""
        return f"{template_of(element)}{kind} {name}{body};"
    if kind == "concept":
        return f"{template_of(element)}concept {name};"
    if kind == "enum":
        values = ", ".join(flat(v.find("name")) for v in element.findall("enumvalue"))
        return f"enum class {name} {{ {values} }};"
    text = flat(element.find("definition")) or name
    text += flat(element.find("argsstring"))
    initial = flat(element.find("initializer"))
    if kind == "typedef" and "detail::" in text:
        text = f"using {name}"
    if kind == "variable" and initial and len(initial) < 80 and "detail::" not in initial:
        text += " " + initial
    requires = flat(element.find("requiresclause"))
    return template_of(element) + (f"  requires {requires}\n" if requires else "") + text + ";"


def names_of(xml):
    index = ElementTree.parse(xml / "index.xml").getroot()
    for compound in index.findall("compound"):
        kind, name = compound.get("kind"), compound.find("name").text
        scope, _, last = re.sub(r"<.*", "", name).rpartition("::")
        if kind in ("class", "struct", "union", "concept") and scope in PUBLIC and "<" not in name:
            element = ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().find("compounddef")
            members = [m for m in map(member_of, element.iter("memberdef")) if m] if kind != "concept" else []
            yield last, kind, element, members
        elif kind == "namespace" and name in PUBLIC:
            element = ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().find("compounddef")
            for member in element.iter("memberdef"):
                last = flat(member.find("name"))
                if "detail::" in re.split(r"[(=]", flat(member.find("definition")))[0].strip().rpartition(" ")[2]:
                    continue
                yield last, member.get("kind"), member, []


def is_layer(element, kind, file):
    return (kind in ("class", "struct") and page_of(room_of(file)) == "layers" and
            any(flat(member.find("name")) == "output" for member in element.iter("memberdef")))


def collected(xml):
    found, seen = [], set()
    guide = re.compile(r"(\w+)\(.*\) ?-> ?\1\b")  # deduction guides say nothing to readers
    for last, kind, element, members in names_of(xml):
        file, line = place(element)
        if file is None or last.startswith(("operator", "@", "~", "TRIREME_")) or "<" in last or room_of(file) in INTERNAL_ROOMS:
            continue
        if (file, line, last) in seen:
            continue
        seen.add((file, line, last))
        if kind == "function" and guide.search(flat(element.find("definition")) + flat(element.find("argsstring"))):
            continue
        brief, text = described(element)
        if not brief:
            brief, more = comment_above(file, line)
            brief, text = ("", text) if brief.startswith("\\") else (brief, text or more)
        if brief.startswith("Designated initializers") and header_brief(file, last):
            brief, text = header_brief(file, last), f"{brief}\n\n{text}"
        brief = brief or header_brief(file, last)
        found.append(Name(last, kind, room_of(file), file, line, "", declared(element, last, kind), brief, text,
                          members, is_layer(element, kind, file)))
    return found


def page_of(room):
    return room.split("/")[0]


def anchor(name):
    return re.sub(r"[^\w]+", "-", name).strip("-").lower()


def source_link(file, line, up=".."):
    return f"{up}/source/{file.with_suffix('.html')}#L{line}"


def write_source(folder, file):
    out = folder / "source" / file.with_suffix(".html")
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = (HEADERS / file).read_text().rstrip("\n").split("\n")
    body = "\n".join(f'<span id="L{n}"><a href="#L{n}">{n:4}</a> {html.escape(line)}</span>' for n, line in
                     enumerate(lines, 1))
    out.write_text(f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>trireme/{file}</title>'
                   '<meta name="viewport" content="width=device-width">'
                   "<style>body{margin:1em;font:14px/1.5 monospace}pre{overflow-x:auto}a{color:#667;text-decoration:none}"
                   "h1{font-size:1.2em}:target{background:#fe9}</style></head>"
                   f"<body><h1>trireme/{file}</h1><pre>{body}</pre></body></html>\n")


def write(names, folder):
    reference = folder / "reference"
    reference.mkdir(parents=True, exist_ok=True)
    pages = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in names:
        pages[page_of(name.room)][name.name].append(name)
    ordered = [p for p in ORDER if p in pages] + sorted(set(pages) - set(ORDER))
    index = ["# Reference\n", "Every public name, by the folder of its header. A name's heading leads to its declaration,"
             " its description, the members that have one, and its source.\n"]
    for page in ordered:
        out = [f"# {page}\n"]
        index.append(f"## [{page}]({page}.md)\n")
        for name, overloads in sorted(pages[page].items(), key=lambda item: item[0].lower()):
            out.append(f"## {name} {{ #{anchor(name)} }}\n")
            first = next((o.brief for o in overloads if o.brief), "")
            index.append(f"- [`{name}`]({page}.md#{anchor(name)}): {escaped(first)}")
            for o in sorted(overloads, key=lambda o: (o.file, o.line)):
                out.append(f"{escaped(o.brief)}\n")
                out.append("```cpp\n" + o.definition + "\n```\n")
                if o.text:
                    out.append(escaped(o.text) + "\n")
                for member, text, brief, more, line in o.members:
                    at = f"[source]({source_link(o.file, line)})" if line else ""
                    out.append(f"- `{text}`: {escaped(brief)} {escaped(' '.join(more.split()))} {at}".rstrip())
                out.append(f'\n`#include "trireme/{o.file}"`, [line {o.line}]({source_link(o.file, o.line)})\n')
        index.append("")
        (reference / f"{page}.md").write_text("\n".join(out))
    (reference / "index.md").write_text("\n".join(index))
    for file in sorted({n.file for n in names}):
        write_source(folder, file)


def names_no_shape(name):
    shaped = name.kind in ("class", "struct") and page_of(name.room) in SHAPED and name.name not in NO_AXES
    if not (shaped or name.layer):
        return False
    texts = (name.brief, name.text, *(text for member in name.members for text in member[2:4]))
    return not any(SHAPE.search(" ".join(text.split())) for text in texts)


if __name__ == "__main__":
    xml, folder = map(pathlib.Path, sys.argv[1:3])
    names = collected(xml)
    told = {(page_of(n.room), n.name) for n in names if n.brief}
    missing = [f"include/trireme/{n.file}:{n.line}: {n.kind} {n.name} is public and has no brief" for n in names
               if (page_of(n.room), n.name) not in told]
    # Backend is what the library runs on, and for authors of kernels.
    missing += [f"include/trireme/{n.file}:{n.line}: {n.name} is public and names `detail`: {signature}" for n in names
                if page_of(n.room) != "backend" for signature in (n.definition, *(m[1] for m in n.members))
                if "detail::" in signature]
    missing += [f"include/trireme/{n.file}:{n.line}: {n.name} names no shape: neither extents, (rows, …), nor any shape"
                for n in names if names_no_shape(n)]
    print("\n".join(missing))
    write(names, folder)
    print(f"{len({n.name for n in names})} public names, {len(missing)} errors")
    sys.exit(bool(missing))
