/// Claims of the files that callbacks write: each is one run's alone until that run ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/callbacks/output_files.hpp"
#include "trireme/core/error.hpp"
#include "trireme/io/file_claim.hpp"

namespace trireme::detail {

/// The file to claim for a log that is opened at `path`: the one to which links lead. "" for what runs may share: a
/// terminal, a pipe, a device, and a file that the program was given open, such as /dev/stdout.
std::string log_to_claim(std::string const& path);

/// Lists the lock of a claimed file among a callback's outputs; of the path "" none.
void list_lock(std::vector<OutputFile>& outputs, std::string writer, std::string const& path);

/// Claims a file until the run ends, whatever ends it. Where the chief's path is "" it claims none, and the result is
/// null. Collective. \throws FileError on all processes if another run has the file
template <class Run>
std::shared_ptr<FileClaim const> claim_file(Run& run, std::string const& path) {
  auto const claim = path.empty() ? nullptr : std::make_shared<FileClaim>(path);
  for (bool decided = false; !decided;)  // in turns, each shorter than the deadline of the other processes
    decided =
        run.on_chief([](auto const&, FileClaim* file) { return file == nullptr || file->attempt(); }, claim.get());
  if (claim) run.hold(claim);
  return claim;
}

/// Checks the claim of a run on a file whose path is the same on all processes. Collective.
/// \throws FileError on all processes if another run has taken the file over
template <class Run>
void require_held(Run& run, std::weak_ptr<FileClaim const> const& claim) {
  auto const held = claim.lock();
  if (held) run.on_chief([](auto const&, FileClaim const* file) { file->require_held(); }, held.get());
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/claimed_file.ipp"
#endif
