/// Linkage of definitions: inline in programs of headers alone, the library's where they link trireme::compiled.
///
/// A header foo.hpp whose functions depend on no type of the user's declares them, and foo.ipp beside it defines them.
/// Without TRIREME_COMPILED the header includes that file at its end; with it the library alone does.
#pragma once

#ifdef TRIREME_COMPILED
#define TRIREME_INLINE
#else
#define TRIREME_INLINE inline
#endif

namespace trireme::detail {

/// The two kinds of translation units that this program has.
struct Linkages {
  bool headers_alone = false;
  bool compiled_library = false;
};

inline Linkages& linkages() {
  static Linkages found;
  return found;
}

// Both set a flag before main, so that an Environment can refuse a program that mixes them.
#ifdef TRIREME_COMPILED
[[gnu::used]] inline bool const links_compiled_library = linkages().compiled_library = true;
#else
[[gnu::used]] inline bool const has_inline_definitions = linkages().headers_alone = true;
#endif

}  // namespace trireme::detail
