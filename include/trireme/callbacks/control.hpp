/// Control: the result of a callback's hook, to go on or to stop training.
#pragma once

#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// Result of a hook: go on, or stop training, which leaves out the epoch's other batches but not its validation. A
/// `Control` is the request of one process, on which `fit` makes all processes agree; a `Uniform<Control>` is a
/// decision that every process has made alike, and costs no vote.
enum class Control { proceed, stop };

/// Decision that is fixed in the program, and therefore the same on every process. Not collective.
template <Control Decision>
Uniform<Control> always() {
  return detail::UniformAccess::make(Decision);
}

/// Control::stop if `condition(value)`, else proceed; uniform, since `value` is. The condition may use only values that
/// are the same on every process (the epoch, options, state that follows from uniform values). Not collective.
template <class T, class Condition>
Uniform<Control> stop_if(Uniform<T> const& value, Condition&& condition) {
  return value.map([&](T const& v) { return condition(v) ? Control::stop : Control::proceed; });
}

}  // namespace trireme
