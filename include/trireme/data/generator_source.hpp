/// Samples that a function of the user's produces one after another.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trireme/data/sample_source.hpp"

namespace trireme::data {

/// Callable that fills one sample and its target; it returns false at the end, when both spans are left alone.
template <class G, class X, class Y>
concept SampleGenerator = requires(G& generator, std::span<X> x, std::span<Y> y) {
  { generator(x, y) } -> std::convertible_to<bool>;
};

/// Calls the user's function that makes a generator, with the number of the pass if it takes one.
template <class Make>
auto make_generator(Make const& make, [[maybe_unused]] std::uint64_t pass) {
  if constexpr (std::invocable<Make const&, std::uint64_t>)
    return make(pass);
  else
    return make();
}

/// True if the function makes a generator; does not compile if it does not.
template <class X, class Y, class Make>
consteval bool require_generator() {
  constexpr bool makes = std::invocable<Make const&, std::uint64_t> || std::invocable<Make const&>;
  static_assert(makes,
                "trireme: from_generator takes a function that makes a generator for each pass: from_generator<X, Y>("
                "x_extents, y_extents, [] { return [](std::span<X> sample, std::span<Y> target) { ...; return true; }; "
                "})");
  if constexpr (makes) {
    constexpr bool generates = SampleGenerator<decltype(make_generator(std::declval<Make const&>(), 0)), X, Y>;
    static_assert(generates,
                  "trireme: a generator is called with (std::span<X> sample, std::span<Y> target), fills both and "
                  "returns true, or returns false at the end");
    return generates;
  }
  return false;
}

/// Source of the samples of a generator, which `make()` or `make(pass)` returns for one pass. A generator with a member
/// `seek(position)` need not produce the samples that are not drawn.
template <class X, class Y, class Make>
class GeneratorSource : public SampleSource<X, Y> {
 public:
  /// Source of samples of `x_size` numbers and targets of `y_size`.
  GeneratorSource(std::size_t x_size, std::size_t y_size, Make make)
      : SampleSource<X, Y>(x_size, y_size), make_(std::move(make)) {}

  std::optional<std::size_t> size() const override { return std::nullopt; }
  bool random_access() const override { return false; }
  bool varies() const override { return true; }
  bool weighted() const override { return false; }
  void trace(Lineage& lineage) const override {
    lineage.add("from_generator", "numbers of a sample", this->x_size());
    lineage.add("from_generator", "numbers of a target", this->y_size());
  }
  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  static_assert(require_generator<X, Y, Make>());
  using Generator = decltype(make_generator(std::declval<Make const&>(), 0));

  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(GeneratorSource const& source) : source_(source), x_(source.x_size()), y_(source.y_size()) {}

    void start(std::uint64_t pass) override {
      // Rebuilt rather than assigned: a lambda that captures by reference cannot be assigned.
      pass_.reset();
      pass_.emplace(Pass{make_generator(source_.make_, pass)});
    }

    std::optional<Sample<X, Y>> at(std::size_t position) override {
      if constexpr (requires(Generator& g, std::size_t p) { g.seek(p); }) {
        if (position > pass_->produced && !pass_->ended) {
          pass_->generator.seek(position);
          pass_->produced = position;
        }
      }
      while (pass_->produced <= position) {
        if (pass_->ended || !pass_->generator(std::span<X>(x_), std::span<Y>(y_))) {
          pass_->ended = true;
          return std::nullopt;
        }
        ++pass_->produced;
      }
      return Sample<X, Y>{x_.data(), y_.data(), nullptr};
    }

   private:
    // Made anew at the start of a pass, so that nothing of the one before is left.
    struct Pass {
      Generator generator;
      std::size_t produced = 0;
      bool ended = false;
    };

    GeneratorSource const& source_;
    std::optional<Pass> pass_;
    std::vector<X> x_;
    std::vector<Y> y_;
  };

  Make make_;
};

}  // namespace trireme::data
