/// ExchangeTimes: the time that gradients were under way between ranks, and the part of it that a step waited.
#pragma once

#include <chrono>
#include <cstddef>

namespace trireme {

/// Sums over the measured steps, in seconds. Time outside of calls was hidden behind backward.
struct ExchangeTimes {
  double under_way = 0;  ///< some bucket had begun its reduction and was not yet seen to be complete
  double in_calls = 0;   ///< of that: spent in starting, progressing and waiting, without computation
  std::size_t steps = 0;

  /// Fraction of the exchanges' time that backward hid; 0 if there was none.
  double hidden() const { return under_way > 0 ? 1 - in_calls / under_way : 0; }
};

/// Records times for an ExchangeTimes; without one it reads no clock.
class ExchangeClock {
  using Clock = std::chrono::steady_clock;

 public:
  /// Adds the times of exchanges to `times` from now on; null: measures nothing.
  void measure(ExchangeTimes* times) { times_ = times; }

  /// Measures one call; `pending` if exchanges are still under way when it ends.
  class Call {
   public:
    explicit Call(ExchangeClock& clock) : clock_(clock) {
      if (clock_.times_) begin_ = Clock::now();
    }
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    ~Call() {
      if (clock_.times_) clock_.add(begin_, Clock::now(), pending);
    }
    bool pending = false;

   private:
    ExchangeClock& clock_;
    Clock::time_point begin_{};
  };

  /// Counts a step.
  void end_step() {
    if (times_) ++times_->steps;
  }

 private:
  void add(Clock::time_point begin, Clock::time_point end, bool pending) {
    auto const seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    times_->in_calls += seconds(end - begin);
    times_->under_way += seconds(end - (open_ ? last_ : begin));
    open_ = pending;
    last_ = end;
  }

  ExchangeTimes* times_ = nullptr;
  bool open_ = false;  // something was under way when the last call ended, at last_
  Clock::time_point last_{};
};

}  // namespace trireme
