/// RecordedSteps: training steps of a device, recorded once and then launched as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/execution/recorded_work.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/layers/step_number.hpp"

namespace trireme {

/// True for rules that are copied to a device byte by byte, as they are.
template <class Rule>
concept CopiedRule = std::is_trivially_copyable_v<Rule> && alignof(Rule) <= 16;

/// Recordings of steps that differ in nothing but their values, which lie in the device's memory: the number of the
/// step, the optimizer's rule and the streams of random numbers. All else is a recording's key.
///
/// A step runs from `begin` to its last `run`; each `run` is a part with a key of its own. One that is not recorded
/// reads the same values from the same memory, so that it launches what a later one records: its kernels are loaded,
/// and nothing is allocated anymore.
template <class Space, class Rule>
class RecordedSteps {
  static_assert(CopiedRule<Rule> && std::is_trivially_copyable_v<RowStream>);

 public:
  /// All of a step that its kernels hold: addresses, sizes and factors.
  using Key = std::vector<std::uint64_t>;

  /// Recordings of work on an instance.
  explicit RecordedSteps(Space const& space) : space_(space) {}

  /// True until something turns out to be impossible to record.
  bool active() const { return obstacle_.empty(); }
  /// Ends recording. \param why  end of the sentence "steps not recorded: …"
  void stop(std::string why) {
    if (active()) obstacle_ = std::move(why);
    entries_.clear();
  }
  /// A readable description.
  std::string text() const { return active() ? "steps recorded" : "steps not recorded: " + obstacle_; }

  /// The values of a step, for the device's memory.
  std::span<std::byte const> values(std::uint64_t step, Rule const& rule) {
    values_.resize(streams_at + streams_.count() * sizeof(RowStream));
    std::memcpy(values_.data(), &step, sizeof step);
    std::memcpy(values_.data() + rule_at, &rule, sizeof rule);
    streams_.write(step, values_.data() + streams_at);
    return values_;
  }
  /// Begins the step of the last `values`, which lie at `device` on the device.
  StepNumber begin(std::uint64_t step, std::byte const* device) {
    rule_ = reinterpret_cast<Rule const*>(device + rule_at);
    streams_.begin(reinterpret_cast<RowStream const*>(device + streams_at));
    return {step, reinterpret_cast<std::uint64_t const*>(device), streams_};
  }
  /// Number of their bytes.
  std::size_t values_bytes() const { return values_.size(); }
  /// The device's address of the step's rule.
  Rule const* rule() const { return rule_; }

  /// Runs a part of the step by `work()`, which enqueues it and may be called twice, or by a recording of it.
  template <class Work>
  void run(Key const& key, Work const& work) {
    std::size_t const entry = entry_of(key);
    if (entries_[entry].work) return entries_[entry].work->launch();
    if (entries_[entry].rehearsed && record(entries_[entry], work)) return;
    work();
    if (streams_.read_on_host())
      stop("a layer reads the step's number on the host");
    else if (active())
      entries_[entry].rehearsed = streams_.complete();
  }

 private:
  /// Recordings that are kept: those of a whole and a smaller last batch, of two parts each, and a few more.
  static constexpr std::size_t most_entries = 12;
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
  static constexpr std::size_t rule_at = 16, streams_at = rule_at + aligned(sizeof(Rule));

  struct Entry {
    Key key;
    std::uint64_t last_use = 0;
    bool rehearsed = false;  ///< true if the step has run once with all of its values in memory
    std::unique_ptr<RecordedWork<Space>> work{};
  };

  std::size_t entry_of(Key const& key) {
    auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found == entries_.end()) {
      if (entries_.size() == most_entries) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
      entries_.push_back({.key = key});
      found = std::prev(entries_.end());
    }
    found->last_use = ++uses_;
    return static_cast<std::size_t>(found - entries_.begin());
  }

  /// Records the step and launches it. False: nothing has run.
  template <class Work>
  bool record(Entry& entry, Work const& work) {
    if (char const* const why = DeviceGraph<Space>::obstacle()) {
      stop(why);
      return false;
    }
    try {
      entry.work = std::make_unique<RecordedWork<Space>>(space_, work);
      entry.work->launch();
      return true;
    } catch (std::exception const& error) {
      std::string const text = error.what();
      stop(text.substr(0, text.find('\n')));
      return false;
    }
  }

  Space space_;
  std::string obstacle_;
  std::vector<std::byte> values_;
  Rule const* rule_ = nullptr;
  StepStreams streams_;
  std::vector<Entry> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace trireme
