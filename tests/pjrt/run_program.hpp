/// Single programs on the plugin, with arrays from the host and back.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "pjrt/plugin.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/runtime/executable.hpp"

namespace trireme::test {

/// A compiled program, and the arguments of its next call.
class ProgramRun {
 public:
  explicit ProgramRun(lowering::Program const& program) : program_(client(), program, 1, pjrt::ProgramCache("")) {}

  template <class T>
  ProgramRun& with(std::vector<T> const& values) {
    auto const& type = program_.argument_types()[arguments_.size()];
    arguments_.push_back(pjrt::copy_to_device(*client(), 0, lowering::tensor_type<T>(type.extents()), values.data()));
    return *this;
  }

  void run() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) program_.set(0, i, arguments_[i]);
    program_.run();
    program_.take_event(0).await();
    arguments_.clear();
    next_ = 0;
  }

  /// The next result.
  template <class T>
  std::vector<T> take() {
    std::vector<T> values(program_.result_types()[next_].size());
    program_.take(0, next_++).to_host(values.data());
    return values;
  }

 private:
  static std::shared_ptr<pjrt::Client const> const& client() {
    static auto const one = pjrt::open_client(plugin(), {}, 1);
    return one;
  }

  pjrt::Executable program_;
  std::vector<pjrt::Buffer> arguments_;
  std::size_t next_ = 0;
};

}  // namespace trireme::test
