#!/usr/bin/env bash
# Builds the documentation as a site: pages of docs/, and a reference of every public name from the headers' comments.
#
#   scripts/docs.sh     open build/docs/site/index.html
#
# MkDocs comes from PyPI into a virtual environment below ~/.cache/trireme. Errors are warnings of Doxygen and MkDocs, links
# that lead nowhere, public names without a brief, members of classes without a comment, and signatures that name `detail`.
source "$(dirname "$0")/dependencies.sh"

work=$project/build/docs
site=$work/site  # which MkDocs empties
venv=$cache/docs-mkdocs-1.6.1
cd "$project"
require_packages doxygen python3-venv
version=$(sed -n 's/^#define TRIREME_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$project/include/trireme/version.hpp" | paste -sd .)
for file in CITATION.cff codemeta.json; do
  grep -Eq "^ *\"?version\"?: \"?$version\"?,?\$" "$project/$file" || die "$file does not have the version $version of version.hpp"
done

command -v doxygen >/dev/null || die "doxygen is needed to read the headers (Debian: apt-get install doxygen)"
if [ ! -e "$venv/.trireme-complete" ]; then
  python3 -m venv "$venv" || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
  logged "installing MkDocs" "$venv/bin/pip" install -q --disable-pip-version-check mkdocs==1.6.1 mkdocs-material==9.6.23
  touch "$venv/.trireme-complete"
fi
rm -rf "$work/xml" "$work/pages"
mkdir -p "$work/pages"
# A \param that a function lacks, an unknown command and a comment that is not closed are warnings. Of parameters only
# those that need a description have one.
logged "reading the headers" doxygen - <<CONFIGURATION
INPUT = include/trireme
FILE_PATTERNS = *.hpp
RECURSIVE = YES
OUTPUT_DIRECTORY = $work
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
JAVADOC_AUTOBRIEF = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = TRIREME_HAVE_ZLIB TRIREME_HAVE_PROTOZERO
HAVE_DOT = NO
QUIET = YES
WARNINGS = YES
WARN_IF_INCOMPLETE_DOC = NO
WARN_LOGFILE = $work/doxygen.log
STRIP_FROM_PATH = $project
CONFIGURATION
# Left out is what compilers know better: a definition outside of its namespace that Doxygen matches to no declaration,
# since a class has the name of its template parameter, and a specialisation of a template of the standard library.
warned=$(grep -E '(warning|error): ' "$work/doxygen.log" |
  grep -vE 'no matching file member found for|Internal inconsistency: scope for class std::' || true)
[ -z "$warned" ] || die "comments of headers are not as Doxygen wants them:
$warned"
cp -r docs/. "$work/pages"
python3 scripts/reference.py "$work/xml" "$work/pages"
cat >"$work/mkdocs.yml" <<CONFIGURATION
INHERIT: $project/docs/mkdocs.yml
docs_dir: $work/pages
site_dir: $site
CONFIGURATION
rm "$work/pages/mkdocs.yml"
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict --config-file "$work/mkdocs.yml"
python3 scripts/check_links.py "$site"
