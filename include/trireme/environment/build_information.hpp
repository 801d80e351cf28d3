/// Version, commit, options and packages of the library in a program, as text for its log and for reports.
#pragma once

#include <string>

namespace trireme {

/// Origin of the library in this program, in lines: version and commit; compiler, its optimisation and the width
/// of vectors; optional packages; versions of the packages' headers; CMake's options.
///
/// Commit and options are those with which CMake configured trireme. Sources that CMake has not configured know
/// neither; programs built within a clone of trireme know no commit, unless they link trireme::compiled. With
/// trireme::compiled the compiler is that of the library. May be called at any time, on any thread; not collective.
std::string build_information();

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/environment/build_information.ipp"
#endif
