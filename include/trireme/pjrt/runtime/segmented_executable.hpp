/// SegmentedExecutable: the compiled segments of a program, between which the processes sum tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/pjrt/lowering/segments.hpp"
#include "trireme/pjrt/runtime/executable.hpp"

namespace trireme::pjrt {

/// Sums numbers over all processes, in place. Collective.
using ProcessSums = std::function<void(std::span<double>)>;

/// Program in segments, with the interface of Executable: set every argument, run, and take the results. Values that
/// later segments need stay on their devices; sums pass through the host.
class SegmentedExecutable {
 public:
  /// `sum`: called between segments. \throws PluginError with the compiler's message
  SegmentedExecutable(std::shared_ptr<Client const> client, lowering::SegmentedProgram const& program,
                      std::size_t replicas, ProgramCache const& cache, ProcessSums sum)
      : client_(std::move(client)), sum_(std::move(sum)), places_(program.arguments.size()) {
    std::map<std::size_t, std::vector<Place>> places;  // by value
    for (lowering::Segment const& segment : program.segments) {
      for (std::size_t position = 0; position < segment.arguments.size(); ++position)
        places[segment.arguments[position]].push_back({segments_.size(), position});
      segments_.push_back({std::make_unique<Executable>(client_, segment.program, replicas, cache), {}, {}});
    }
    for (std::size_t index = 0; index < places_.size(); ++index) places_[index] = places[program.arguments[index]];
    for (std::size_t s = 0; s + 1 < segments_.size(); ++s) {
      lowering::Segment const& segment = program.segments[s];
      std::size_t const sums = segment.sums.size();
      for (std::size_t const id : segment.sums) segments_[s].sums.push_back(places[id]);
      for (std::size_t i = sums; i < segment.results.size(); ++i)
        segments_[s].carried.push_back(places[segment.results[i]]);
    }
  }

  /// Devices of all replicas.
  std::size_t devices() const { return last().devices(); }
  /// Devices of a replica.
  std::size_t shards() const { return last().shards(); }
  /// Number of compiled programs, and of those among them that came from the cache.
  std::size_t count() const { return segments_.size(); }
  /// Number of programs that came from the cache.
  std::size_t cached() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(segments_, [](Segment const& segment) { return segment.executable->from_cache(); }));
  }

  /// See Executable. The buffer has to live until the run is complete.
  void set(std::size_t device, std::size_t index, Buffer const& buffer) { set(places_[index], device, buffer); }

  /// Runs all segments; may return before the last is done. Collective if there are several.
  void run() {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      segments_[s].executable->run();
      if (s + 1 < segments_.size()) hand_on(s);
    }
    carried_.clear();  // PJRT keeps the memory until the last segment has read it
  }

  /// Takes a result of the last segment. See Executable.
  Buffer take(std::size_t device, std::size_t index) { return last().take(device, index); }
  /// Event of a device's last run. See Executable.
  Event take_event(std::size_t device) { return last().take_event(device); }

 private:
  struct Place {
    std::size_t segment, position;
  };
  struct Segment {
    std::unique_ptr<Executable> executable;
    std::vector<std::vector<Place>> sums, carried;  ///< of later segments' arguments, by result
  };

  Executable& last() { return *segments_.back().executable; }
  Executable const& last() const { return *segments_.back().executable; }

  void set(std::vector<Place> const& places, std::size_t device, Buffer const& buffer) {
    for (Place const& place : places) segments_[place.segment].executable->set(device, place.position, buffer);
  }

  /// Hands the results of a segment on: sums over processes, and values as they are.
  void hand_on(std::size_t s) {
    Segment& segment = segments_[s];
    Executable& executable = *segment.executable;
    auto const& types = executable.result_types();
    std::size_t const sums = segment.sums.size();
    // All devices hold the same sums.
    numbers_.clear();
    for (std::size_t i = 0; i < sums; ++i) {
      std::size_t const begin = numbers_.size();
      numbers_.resize(begin + types[i].size());
      executable.take(0, i).to_host(numbers_.data() + begin);
    }
    sum_(numbers_);
    for (std::size_t d = 0; d < executable.devices(); ++d) {
      executable.take_event(d).await();
      std::size_t begin = 0;
      for (std::size_t i = 0; i < types.size(); ++i) {
        Buffer result = executable.take(d, i);
        if (i < sums) {
          result = copy_to_device(*client_, d, types[i], numbers_.data() + begin);
          begin += types[i].size();
        }
        set(i < sums ? segment.sums[i] : segment.carried[i - sums], d, result);
        carried_.push_back(std::move(result));
      }
    }
  }

  std::shared_ptr<Client const> client_;
  ProcessSums sum_;
  std::vector<std::vector<Place>> places_;  ///< by argument
  std::vector<Segment> segments_;
  std::vector<Buffer> carried_;  ///< of the run under way
  std::vector<double> numbers_;
};

}  // namespace trireme::pjrt
