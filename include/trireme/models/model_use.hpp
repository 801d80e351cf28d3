/// Misuse of a compiled model that its type cannot exclude: use after a move, and use by two threads at once.
#pragma once

#include <atomic>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// Held by a compiled model, and moved with it. Its size does not depend on NDEBUG.
class ModelUse {
 public:
  ModelUse() = default;
  ModelUse(ModelUse&& other) noexcept : present_(std::exchange(other.present_, false)) {}
  ModelUse& operator=(ModelUse&& other) noexcept;

  /// \throws ValueError if the model was moved from.
  void require_present() const;

  /// While it lives, the model is in use by this thread, which may begin further uses. The same class in all
  /// translation units, with NDEBUG and without.
  class Scope {
   public:
    explicit Scope(ModelUse const* use) : use_(use) {}
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;
    ~Scope();

   private:
    ModelUse const* use_;  ///< to be ended; null: none was begun, or an outer scope ends it
  };

  /// Checks that the model is there and, unless NDEBUG is defined, that no other thread uses it. \throws ValueError
  [[nodiscard]] Scope begin(char const* what) const;

 private:
  static void const* this_thread();
  ModelUse const* acquire(char const* what) const;
  [[noreturn]] static void throw_moved();
  [[noreturn]] static void throw_in_use(char const* what, char const* other);

  bool present_ = true;
  mutable std::atomic<void const*> owner_{nullptr};  ///< a mark of the thread that uses the model
  mutable std::atomic<char const*> what_{nullptr};   ///< the member or function that it called first
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/model_use.ipp"
#endif
