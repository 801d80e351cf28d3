/// Definitions of trireme/models/model_use.hpp.
#pragma once

#include "trireme/models/model_use.hpp"

#include <atomic>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE ModelUse& ModelUse::operator=(ModelUse&& other) noexcept {
  bool const present = std::exchange(other.present_, false);
  present_ = present;
  return *this;
}

TRIREME_INLINE void ModelUse::require_present() const {
  if (!present_) throw_moved();
}

TRIREME_INLINE ModelUse::Scope::~Scope() {
  if (use_) use_->owner_.store(nullptr, std::memory_order_release);
}

TRIREME_INLINE ModelUse::Scope ModelUse::begin(char const* what) const {
  require_present();
#ifdef NDEBUG
  static_cast<void>(what);
  return Scope(nullptr);
#else
  return Scope(acquire(what));
#endif
}

TRIREME_INLINE void const* ModelUse::this_thread() {
  static thread_local char const mark = 0;
  return &mark;
}

TRIREME_INLINE ModelUse const* ModelUse::acquire(char const* what) const {
  void const* owner = nullptr;
  if (owner_.compare_exchange_strong(owner, this_thread(), std::memory_order_acq_rel)) {
    what_.store(what, std::memory_order_relaxed);
    return this;
  }
  if (owner != this_thread()) throw_in_use(what, what_.load(std::memory_order_relaxed));
  return nullptr;
}

TRIREME_INLINE void ModelUse::throw_moved() {
  throw ValueError("the model was moved from; use the model that it was moved to");
}

TRIREME_INLINE void ModelUse::throw_in_use(char const* what, char const* other) {
  throw ValueError(formatted(
      "'{}' was called while another thread is in '{}' of the same model, which one thread at a time may use; "
      "for inference on any number of threads take model.predictor()",
      what, other ? other : "another member"));
}

}  // namespace trireme::detail
