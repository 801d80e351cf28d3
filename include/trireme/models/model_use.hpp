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
  ModelUse& operator=(ModelUse&& other) noexcept {
    bool const present = std::exchange(other.present_, false);
    present_ = present;
    return *this;
  }

  /// \throws ValueError if the model was moved from.
  void require_present() const {
    if (!present_) throw_moved();
  }

  /// While it lives, the model is in use by this thread, which may begin further uses. The same class in all
  /// translation units, with NDEBUG and without.
  class Scope {
   public:
    explicit Scope(ModelUse const* use) : use_(use) {}
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;
    ~Scope() {
      if (use_) use_->owner_.store(nullptr, std::memory_order_release);
    }

   private:
    ModelUse const* use_;  ///< to be ended; null: none was begun, or an outer scope ends it
  };

  /// Checks that the model is there and, unless NDEBUG is defined, that no other thread uses it. \throws ValueError
  [[nodiscard]] Scope begin(char const* what) const {
    require_present();
#ifdef NDEBUG
    static_cast<void>(what);
    return Scope(nullptr);
#else
    return Scope(acquire(what));
#endif
  }

 private:
  static void const* this_thread() {
    static thread_local char const mark = 0;
    return &mark;
  }
  ModelUse const* acquire(char const* what) const {
    void const* owner = nullptr;
    if (owner_.compare_exchange_strong(owner, this_thread(), std::memory_order_acq_rel)) {
      what_.store(what, std::memory_order_relaxed);
      return this;
    }
    if (owner != this_thread()) throw_in_use(what, what_.load(std::memory_order_relaxed));
    return nullptr;
  }
  [[noreturn]] static void throw_moved() {
    throw ValueError("the model was moved from; use the model that it was moved to");
  }
  [[noreturn]] static void throw_in_use(char const* what, char const* other) {
    throw ValueError(formatted(
        "'{}' was called while another thread is in '{}' of the same model, which one thread at a time may use; "
        "for inference on any number of threads take model.predictor()",
        what, other ? other : "another member"));
  }

  bool present_ = true;
  mutable std::atomic<void const*> owner_{nullptr};  ///< a mark of the thread that uses the model
  mutable std::atomic<char const*> what_{nullptr};   ///< the member or function that it called first
};

}  // namespace trireme::detail
