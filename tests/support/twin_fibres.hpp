/// Threads of a team of the device in software: fibres that take turns, each until it meets the others or ends.
///
/// The order of turns differs from round to round, as does who comes first, so that what one thread reads before
/// another wrote it, for want of a barrier, is wrong. Threads that meet in different calls, or wait for one that ended,
/// end the process. Scratch memory is filled with bytes 0xff for each team and ends at a page that nothing may touch.
///
/// `_longjmp` has to be the one without checks of the stack (`-U_FORTIFY_SOURCE`), which hold within one stack only.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace trireme::test::twin {

inline constexpr std::size_t page = 4096;

inline std::byte* map_memory(std::size_t size) {
  int const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  return static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0));
}

/// Memory that ends at a protected page.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t most) : end_(map_memory(most + page) + most) { mprotect(end_, page, PROT_NONE); }

  /// `size` bytes without numbers, aligned to 8 bytes and no more.
  std::byte* take(std::size_t size) {
    std::byte* const first = end_ - size / 8 * 8 - (size % 8 == 0 ? 0 : 8);
    std::memset(first, 0xff, static_cast<std::size_t>(end_ - first));
    return first;
  }
  bool guards(std::uintptr_t address) const {
    auto const guard = reinterpret_cast<std::uintptr_t>(end_);
    return guard <= address && address < guard + page;
  }

 private:
  std::byte* end_;
};

/// Used by the device's thread alone, by one team at a time.
class Fibres {
 public:
  static constexpr std::size_t most = 1024, stack_size = 64 << 10;
  using Misuse = void (*)(char const* sentence);

  explicit Fibres(Misuse misuse) : misuse_(misuse), stacks_(map_memory(most * stack_size)) {
    for (std::size_t i = 0; i < most; ++i) mprotect(stacks_ + i * stack_size, page, PROT_NONE);
  }

  /// Calls `body(thread, lane)` on a fibre for each lane of each thread, until all have ended.
  template <class Body>
  void run(std::size_t threads, std::size_t lanes, Body const& body) {
    count_ = threads * lanes;
    lanes_ = lanes;
    body_ = std::addressof(body);
    call_ = [](void const* object, std::size_t fibre, std::size_t width) {
      (*static_cast<Body const*>(object))(fibre / width, fibre % width);
    };
    for (std::size_t i = 0; i < count_; ++i) fibres_[i].state = State::ready;
    while (take_turns()) release();
  }

  /// Waits until all threads of the team, with all their lanes, are in this call, which `call` names.
  void meet_team(char const* call) {
    if (count_ > 1) wait(State::meets_team, call);
  }
  /// The same for the lanes of a thread.
  void meet_lanes(char const* call) {
    if (lanes_ > 1) wait(State::meets_lanes, call);
  }

  bool guards(std::uintptr_t address) const {
    auto const first = reinterpret_cast<std::uintptr_t>(stacks_);
    return first <= address && address < first + most * stack_size && (address - first) % stack_size < page;
  }

 private:
  enum class State : char { ready, meets_lanes, meets_team, ended };
  struct Fibre {
    jmp_buf context;
    State state;
    bool begun;
    char const* call;
  };

  /// False if all have ended.
  bool take_turns() {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    std::size_t const first = (seed_ >> 33) % count_;
    bool const upwards = (seed_ >> 32) % 2 == 0;
    bool lives = false;
    for (std::size_t k = 0; k < count_; ++k) {
      current_ = (upwards ? first + k : first + count_ - k) % count_;
      if (fibres_[current_].state == State::ready) resume(fibres_[current_]);
      lives = lives || fibres_[current_].state != State::ended;
    }
    return lives;
  }

  void release() {
    bool released = release_if_met(0, count_, State::meets_team);
    for (std::size_t first = 0; first < count_; first += lanes_)
      released = release_if_met(first, first + lanes_, State::meets_lanes) || released;
    if (!released) misuse_("waits for threads of its team that have ended or wait elsewhere");
  }
  bool release_if_met(std::size_t first, std::size_t last, State state) {
    for (std::size_t i = first; i < last; ++i)
      if (fibres_[i].state != state) return false;
    for (std::size_t i = first; i < last; ++i) {
      if (std::strcmp(fibres_[i].call, fibres_[first].call) != 0) {
        char sentence[200];
        std::snprintf(sentence, sizeof sentence, "has threads of a team that meet in different calls: %s and %s",
                      fibres_[first].call, fibres_[i].call);
        misuse_(sentence);
      }
      fibres_[i].state = State::ready;
    }
    return true;
  }

  void resume(Fibre& fibre) {
    if (_setjmp(scheduler_) != 0) return;
    if (fibre.begun) _longjmp(fibre.context, 1);
    fibre.begun = true;
    begin();
  }
  void begin() {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_ + current_ * stack_size + page;
    context.uc_stack.ss_size = stack_size - page;
    context.uc_link = nullptr;
    auto const self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Fibres::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
    setcontext(&context);
  }
  static void enter(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Fibres*>(static_cast<std::uintptr_t>(high) << 32 | low);
    for (;;) {
      self->call_(self->body_, self->current_, self->lanes_);
      self->wait(State::ended, "");
    }
  }
  void wait(State state, char const* call) {
    Fibre& fibre = fibres_[current_];
    fibre.state = state;
    fibre.call = call;
    if (_setjmp(fibre.context) == 0) _longjmp(scheduler_, 1);
  }

  Misuse misuse_;
  std::byte* stacks_;
  std::array<Fibre, most> fibres_{};
  jmp_buf scheduler_;
  std::size_t count_ = 0, lanes_ = 1, current_ = 0;
  void const* body_ = nullptr;
  void (*call_)(void const*, std::size_t, std::size_t) = nullptr;
  std::uint64_t seed_ = 1;
};

}  // namespace trireme::test::twin
