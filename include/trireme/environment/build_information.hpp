/// Version, commit, options and packages of the library in a program, as text for its log and for reports.
#pragma once

#include <string>

namespace trireme {

/// What the library in this program was made of, in lines: version and commit; compiler, its optimisation and the width
/// of vectors; optional packages; versions of the packages' headers; CMake's options.
///
/// Commit and options are those with which CMake configured trireme, in this build or for the installed package;
/// sources that CMake has not configured know neither. With trireme::compiled the compiler is that of the library. May
/// be called at any time, on any thread; not collective.
std::string build_information();

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/environment/build_information.ipp"
#endif
