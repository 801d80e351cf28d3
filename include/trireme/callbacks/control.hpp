/// What a callback's hook may answer: go on, or stop training.
#pragma once

#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Returned as `Control` it is the wish of one process, on which `fit` lets all processes agree; returned as
/// `Uniform<Control>` it is a decision that every process has made alike, and costs no vote.
enum class Control { proceed, stop };

/// A decision that is written in the program, and therefore the same on every process.
template <Control Decision>
Uniform<Control> always() {
  return detail::UniformAccess::make(Decision);
}

/// Control::stop if `condition(value)`; uniform, since `value` is. The condition may look at what else is the same on
/// every process (the epoch, options, state that follows from uniform values), and at nothing else.
template <class T, class Condition>
Uniform<Control> stop_if(Uniform<T> const& value, Condition&& condition) {
  return value.map([&](T const& v) { return condition(v) ? Control::stop : Control::proceed; });
}

}  // namespace trireme
