/// Agreement of a Communicator's processes on errors, and work of the chief alone.
#pragma once

#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme {

template <class F>
std::invoke_result_t<F> Communicator::together(F&& f) const {
  using Result = std::invoke_result_t<F>;
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    try {
      std::forward<F>(f)();
    } catch (...) {
      error = std::current_exception();
    }
    agree_no_error(error);
  } else if constexpr (std::is_reference_v<Result>) {
    return *together([&] { return &std::forward<F>(f)(); });
  } else {
    std::optional<Result> result;
    try {
      result.emplace(std::forward<F>(f)());
    } catch (...) {
      error = std::current_exception();
    }
    agree_no_error(error);
    return *std::move(result);
  }
}

template <class F, class... Arguments>
auto Communicator::on_chief(F&& f, Arguments&&... arguments) const {
  static_assert(detail::ChiefAccess::require_no_communicator<F, Arguments...>());
  using Result = std::decay_t<std::invoke_result_t<F, ChiefScope const&, Arguments...>>;
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    try {
      if (is_chief()) detail::ChiefAccess::run(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    } catch (...) {
      error = std::current_exception();
    }
    agree_no_error(error);
  } else {
    static_assert(Transferable<Result> || std::same_as<Result, std::string>,
                  "trireme: work for the chief alone returns nothing, a value that can be copied byte by byte, or a "
                  "std::string, since all processes are given its result");
    static_assert(std::is_default_constructible_v<Result>);
    Result result{};
    try {
      if (is_chief()) result = detail::ChiefAccess::run(std::forward<F>(f), std::forward<Arguments>(arguments)...);
    } catch (...) {
      error = std::current_exception();
    }
    agree_no_error(error);
    if constexpr (std::same_as<Result, std::string>) {
      broadcast(result);
      return detail::UniformAccess::make(std::move(result));
    } else {
      return broadcast(result);
    }
  }
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/mpi/communicator_agreement.ipp"
#endif
