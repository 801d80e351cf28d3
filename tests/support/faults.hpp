/// System calls by which files are written, failing on demand: from within the program, or by variables of the
/// environment.
///
///     TRIREME_FAULT_FOLDER=/path/work   only files below are counted
///     TRIREME_FAULT=17:kill             the 17th call kills the process before it does anything; all calls count
///     TRIREME_FAULT=17:EIO              the 17th call fails: EIO, ENOSPC, EDQUOT, EACCES, EROFS, ENOMEM
///     TRIREME_FAULT=17:part             the 17th call writes half of its bytes, the next one fails with ENOSPC
///     TRIREME_FAULT=17:full             from the 17th call on whatever needs space fails with ENOSPC
///     TRIREME_FAULT=17:EIO,90:kill      both, one after the other
///     TRIREME_FAULT_LOG=/path/calls     the name of each call, a line each
///
/// faults.cpp, linked into a program that exports its symbols, takes the place of the C library's functions for all of
/// its libraries.
#pragma once

#include <string_view>

namespace trireme::test {

/// True if calls are counted: not where a sanitizer has functions of its own in that place.
bool have_faults();

/// Counts calls anew, from 1, of files below `folder`; the faults are those of TRIREME_FAULT, or none.
void set_faults(std::string_view folder, std::string_view faults = {});

/// Calls since then.
long counted_calls();

}  // namespace trireme::test
