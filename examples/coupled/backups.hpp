// Backups of a simulation together with its model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

#include "fluid.hpp"

/// Each process writes its cells, and the chief the model. A file that is renamed into its place once all have written
/// names the last whole backup, so a job may be killed at any moment. Every member is collective.
class Backups {
 public:
  /// \param folder  of all processes; empty: no backup is read or written
  Backups(trireme::Communicator const& group, std::string folder) : group_(group), folder_(std::move(folder)) {
    group_.together([this] {
      if (!folder_.empty()) std::filesystem::create_directories(folder_);
    });
  }

  /// Reads the last whole backup, if there is one. \return its step, or 0 \throws std::runtime_error if it is damaged
  template <class Model>
  std::size_t restore(fluid::Fluid& fluid, Model& model) {
    std::size_t const step = group_.on_chief(
        [](trireme::ChiefScope const&, std::string const& path) {
          std::size_t found = 0;
          if (!std::filesystem::exists(path)) return found;
          if (!(std::ifstream(path) >> found) || found == 0) throw std::runtime_error(path + " names no step");
          return found;
        },
        last_step());
    if (step == 0) return 0;
    group_.together([&] { fluid.read(cells(step)); });
    model.load_weights(weights(step));
    before_ = step;
    return step;
  }

  template <class Model>
  void save(fluid::Fluid const& fluid, Model const& model) {
    if (folder_.empty()) return;
    std::size_t const step = fluid.step();
    group_.together([&] { fluid.write(cells(step)); });
    model.save_weights(weights(step));
    group_.on_chief(
        [](trireme::ChiefScope const&, std::string const& path, std::size_t whole) {
          std::ofstream file(path + ".unfinished");
          file << whole;
          file.close();
          if (!file) throw std::runtime_error(path + " could not be written");
          std::filesystem::rename(path + ".unfinished", path);
        },
        last_step(), step);
    if (before_ > 0 && before_ != step) {
      std::filesystem::remove(cells(before_));
      if (group_.is_chief()) std::filesystem::remove(weights(before_));
    }
    before_ = step;
  }

 private:
  std::string last_step() const { return folder_ + "/last-step"; }
  std::string cells(std::size_t step) const { return fmt::format("{}/cells-{}-{}", folder_, step, group_.rank()); }
  std::string weights(std::size_t step) const { return fmt::format("{}/weights-{}.npz", folder_, step); }

  trireme::Communicator const& group_;
  std::string folder_;
  std::size_t before_ = 0;
};
