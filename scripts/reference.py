#!/usr/bin/env python3
"""Writes the reference of every public name, from the XML that Doxygen makes of the headers.

    scripts/reference.py XML FOLDER

FOLDER gets a page a room (`reference/layers.md`), an index of all names (`reference/index.md`) and each header with
numbered lines (`source/layers/dense.html`). A name is public if it stands in a namespace of the table below. A public
name without a brief is an error, and so is one whose signature names `detail`: fields of such types and values are left
out. Members of a partial specialisation are in the entry of its primary template.

A public constructor or member function of a public class without a comment is an error too. Special members, operators,
overrides, and members that are described once for all classes of a room (DESCRIBED_ONCE, and `config`) need none, nor
does a function with the parameters of one that has a comment, as where one of the two is const.

What stands after `\\throws` has to begin with the name of a type.

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

# The word after \throws is a type; NO_TYPES has those that are not.
TYPE = re.compile(r"(\w+::)+\w+|[A-Z]\w*")
NO_TYPES = []

# Members that classes of a room have alike: docs/extending.md describes them, strategies/strategy.hpp those of engines,
# strategies/engine/slice_pass.hpp those of the arenas of slices, ThreadContext and OneLane those of contexts and lanes.
LAYER = "output forward backward parameters initializer regularizer states saved without_activation by_rows flops"
ENGINE = ("model group build build_as synchronization_options data_shard train_step test_step predict_step reset_metrics "
          "metrics weights snapshot restore host_parameters host_values set_parameters set_values gather scatter optimizer "
          "iteration has_schedule learning_rate set_iteration set_learning_rate slots set_slot gather_state state "
          "finish_epoch verify_replicas placement layer_placement acquires_batches acquire release agree resolve resumed")
DESCRIBED_ONCE = {
    "activations": "derivative",
    "backend": "for_each for_rows column_sums sum_columns accumulate gemm gemm_batch cross_replica_sum convolution_chunk "
               "sum row_sum max once",
    "callbacks": "state output_files on_train_begin on_train_resume on_epoch_begin on_epoch_resume on_train_batch_begin "
                 "on_train_batch_end on_test_begin on_test_batch_begin on_test_batch_end on_test_end on_epoch_end "
                 "on_save_point on_train_end on_train_complete on_predict_begin on_predict_batch_begin "
                 "on_predict_batch_end on_predict_end",
    "layers": LAYER,
    "losses": "require_fit counts ignored_label",
    "metrics": "update result require_fit",
    "models": LAYER,
    "optimizers": "slots initial slot_name step stored_number add of_tensor",
    "pjrt": ENGINE,
    "strategies": ENGINE + " begin sink finish shared memory_bytes forward backward finished states frozen",
}

Name = collections.namedtuple("Name", "name kind room file line definition brief text parts layer")
Member = collections.namedtuple("Member", "name signature brief text file line")
# The members of a class, or of a partial specialisation of it, which has a `title` and a description of its own.
Part = collections.namedtuple("Part", "title brief text members undescribed")


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
            out.append(f"`{inner}`")
        elif child.tag == "parameterlist":
            kind = {"exception": "throws", "templateparam": "template parameter"}.get(child.get("kind"), "parameter")
            for item in child.findall("parameteritem"):
                text = " ".join(words(item.find("parameterdescription")).split())
                names = [flat(name) for name in item.findall("parameternamelist/parametername")]
                if kind == "throws":
                    NO_TYPES.extend(name for name in names if not TYPE.fullmatch(name))
                    text = re.sub(r"(?<![\w:`])(?:\w+::)*[A-Z]\w*Error\b(?!`)", r"`\g<0>`", text)
                listed = ", ".join(f"`{name}`" for name in names)
                out.append(f"\n\n- {kind} {listed} {text}\n\n")
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
        elif child.tag in ("ndash", "mdash"):  # what Doxygen makes of `--` and `---`, as in names of options
            out.append("--" if child.tag == "ndash" else "---")
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


def unqualified(definition, name):
    """A member's definition without the class before its name, which may have arguments: `Batch< X, Y >::x`."""
    at = start = len(definition) - len(name)
    depth = 0
    while definition[:start].strip() and (depth or definition[start - 1] != " "):
        start -= 1
        depth += {">": 1, "<": -1}.get(definition[start], 0)
    return definition[:start] + name if definition[start:at].endswith("::") else definition


def signature_of(element):
    name = flat(element.find("name"))
    declared = unqualified(flat(element.find("definition")) or name, name)
    declared = re.sub(rf"^using trireme::.*?::({re.escape(name)} = )", r"using \1", declared)
    declared += flat(element.find("argsstring"))
    declared = declared.replace("< ", "<").replace(" >", ">")
    initial = flat(element.find("initializer"))
    declared += (f" {initial}" if initial and "detail::" not in initial else "")
    return re.sub(r"\b(constexpr|inline) ", "", declared)


def is_special(element, last):
    """Whether a function is a special member of class `last`, or an operator."""
    name, arguments = flat(element.find("name")), flat(element.find("argsstring"))
    if name.startswith(("operator", "~")) or re.search(r"=\s*(default|delete)$", arguments):
        return True
    copied = rf"(const )?{last}(< .* >)? (const )?&&?\s*\w*"
    return name == last and re.match(rf"\(({copied})?\)", arguments) is not None


def members_of(element, last, room):
    """The public members that have a comment, and the functions among the others that need one."""
    members, undescribed, told = [], [], set()
    for m in element.findall("sectiondef/memberdef"):
        if m.get("prot") != "public":
            continue
        brief, text = described(m)
        member = Member(flat(m.find("name")), signature_of(m), brief, text, *place(m))
        call = member.name, re.sub(r"\).*", "", flat(m.find("argsstring")))  # for const and others, one comment
        if brief or text:
            members.append(member)
            told.add(call)
        elif (m.get("kind") == "function" and not is_special(m, last) and
              member.name not in ["config", *DESCRIBED_ONCE.get(page_of(room), "").split()] and
              not re.search(r"detail::|\boverride\b", member.signature)):  # an override is described by its base
            undescribed.append((call, member))
    return members, [member for call, member in undescribed if call not in told]


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


def specialisation(element, last, room):
    """A partial specialisation as a part of its primary's entry: `Name<arguments>` where `constraint`."""
    title = re.sub(r"^(\w+::)*", "", flat(element.find("compoundname")))
    title = f"`{title.replace('< ', '<').replace(' >', '>')}`"
    members, undescribed = members_of(element, last, room)
    if len({member.file for member in members}) > 1:  # Doxygen takes those that differ in constraints alone for one
        return Part(title, "", "", list({(m.signature, m.brief): m for m in members}.values()), undescribed)
    requires = re.sub(r"^\((.*)\)$", r"\1", flat(element.find("requiresclause")))
    return Part(title + (f" where `{requires}`" if requires else ""), *described(element), members, undescribed)


def names_of(xml):
    """Public names as (name, scope, kind, element); partial specialisations as (name, scope, None, element)."""
    index = ElementTree.parse(xml / "index.xml").getroot()
    for compound in index.findall("compound"):
        kind, name = compound.get("kind"), compound.find("name").text
        scope, _, last = re.sub(r"<.*", "", name).rpartition("::")
        is_class = kind in ("class", "struct", "union")
        if (is_class or kind == "concept") and scope in PUBLIC and ("<" not in name or is_class and name.endswith(">")):
            element = ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().find("compounddef")
            yield last, scope, kind if "<" not in name else None, element
        elif kind == "namespace" and name in PUBLIC:
            element = ElementTree.parse(xml / f"{compound.get('refid')}.xml").getroot().find("compounddef")
            for member in element.iter("memberdef"):
                last = flat(member.find("name"))
                if "detail::" in re.split(r"[(=]", flat(member.find("definition")))[0].strip().rpartition(" ")[2]:
                    continue
                yield last, name, member.get("kind"), member


def is_layer(element, kind, file):
    return (kind in ("class", "struct") and page_of(room_of(file)) == "layers" and
            any(flat(member.find("name")) == "output" for member in element.iter("memberdef")))


def collected(xml):
    found, seen, classes, specialisations = [], set(), {}, []
    guide = re.compile(r"(\w+)\(.*\) ?-> ?\1\b")  # deduction guides say nothing to readers
    for last, scope, kind, element in names_of(xml):
        file, line = place(element)
        if file is None or room_of(file) in INTERNAL_ROOMS:
            continue
        if last.startswith(("operator", "@", "~", "TRIREME_")) or "<" in last:
            continue
        if kind is None:
            specialisations.append((last, scope, element, file))
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
        is_class = kind in ("class", "struct", "union")
        parts = [Part("", "", "", *members_of(element, last, room_of(file)))] if is_class else []
        found.append(Name(last, kind, room_of(file), file, line, declared(element, last, kind), brief, text, parts,
                          is_layer(element, kind, file)))
        if is_class:
            classes[scope, last] = found[-1]
    for last, scope, element, file in specialisations:
        if (scope, last) in classes:
            part = specialisation(element, last, room_of(file))
            if part.members or part.undescribed:
                classes[scope, last].parts.append(part)
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


def entry(member):
    """A member as an item of a list: signature, text and source; below, its parameters and what it throws."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", member.text)
    items = ["    " + escaped(" ".join(b.split())) for b in blocks if b.lstrip().startswith("- ")]
    text = " ".join(" ".join([member.brief, *(b for b in blocks if not b.lstrip().startswith("- "))]).split())
    at = f" [source]({source_link(member.file, member.line)})" if member.file else ""
    head = f"`{member.signature}`" + (": " if text else "")
    return "\n".join([f"- {head}{escaped(text)}{at}", *items])


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
                for part in o.parts:
                    if part.title:
                        told = "\n\n".join(filter(None, (part.brief, part.text)))
                        out.append(f"\n{part.title}" + (f": {escaped(told)}\n" if told else ":\n"))
                    out.extend(map(entry, part.members))
                out.append(f'\n`#include "trireme/{o.file}"`, [line {o.line}]({source_link(o.file, o.line)})\n')
        index.append("")
        (reference / f"{page}.md").write_text("\n".join(out))
    (reference / "index.md").write_text("\n".join(index))
    of_members = {m.file for n in names for part in n.parts for m in part.members if m.file}
    for file in sorted({n.file for n in names} | of_members):
        write_source(folder, file)


def names_no_shape(name):
    shaped = name.kind in ("class", "struct") and page_of(name.room) in SHAPED and name.name not in NO_AXES
    if not (shaped or name.layer):
        return False
    texts = (name.brief, name.text, *(text for part in name.parts for m in part.members for text in (m.brief, m.text)))
    return not any(SHAPE.search(" ".join(text.split())) for text in texts)


if __name__ == "__main__":
    xml, folder = map(pathlib.Path, sys.argv[1:3])
    names = collected(xml)
    told = {(page_of(n.room), n.name) for n in names if n.brief}
    missing = [f"include/trireme/{n.file}:{n.line}: {n.kind} {n.name} is public and has no brief" for n in names
               if (page_of(n.room), n.name) not in told]
    # Backend is what the library runs on, and for authors of kernels.
    missing += [f"include/trireme/{n.file}:{n.line}: {n.name} is public and names `detail`: {signature}" for n in names
                if page_of(n.room) != "backend"
                for signature in (n.definition, *(m.signature for part in n.parts for m in part.members))
                if "detail::" in signature]
    missing += [f"include/trireme/{n.file}:{n.line}: {n.name} names no shape: neither extents, (rows, …), nor any shape"
                for n in names if names_no_shape(n)]
    missing += [f"include/trireme/{m.file}:{m.line}: {m.signature} is a public member and has no comment" for n in names
                for part in n.parts for m in part.undescribed]
    missing += [f"\\throws {name}: this is not the name of a type" for name in sorted(set(NO_TYPES))]
    print("\n".join(missing))
    write(names, folder)
    members = sum(len(part.members) for n in names for part in n.parts)
    print(f"{len({n.name for n in names})} public names, {members} members, {len(missing)} errors")
    sys.exit(bool(missing))
