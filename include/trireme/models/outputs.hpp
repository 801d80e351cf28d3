/// The head of a model with several outputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/models/head.hpp"
#include "trireme/models/log_names.hpp"
#include "trireme/models/output.hpp"
#include "trireme/models/score_kernel.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// "price" and "loss" make "price_loss".
template <FixedString Output, class M, class... All>
inline constexpr auto output_log_name = [] {
  constexpr std::string_view first = Output.view(), second = [] {
    if constexpr (std::is_void_v<M>)
      return std::string_view("loss");
    else
      return log_name<M, All...>();
  }();
  char text[first.size() + second.size() + 2]{};
  char* end = std::copy(first.begin(), first.end(), text);
  *end++ = '_';
  std::copy(second.begin(), second.end(), end);
  return FixedString(text);
}();

/// Properties of one output's type that the head needs.
template <class O>
struct OutputTraits;
template <class Named, class L, class... Metrics>
struct OutputTraits<Output<Named, L, Metrics...>> {
  static constexpr bool class_labels = std::is_same_v<typename L::target, ClassIndex>;
  static constexpr std::size_t totals_width = 2 + (std::size_t{0} + ... + Metrics::state_size);
  static constexpr std::string_view loss_name = output_log_name<Named::name, void>.view();
  static constexpr std::array<std::string_view, sizeof...(Metrics)> metric_names{
      output_log_name<Named::name, Metrics, Metrics...>.view()...};
  static constexpr std::array<Direction, sizeof...(Metrics)> directions{Metrics::direction...};

  template <class Extents>
  static consteval bool require_fit() {
    return require_loss<L, Extents>() && (require_metric<Metrics, typename L::target, Extents>() && ...);
  }
};

/// Targets lie in one row a sample, output after output: as integers if all are class indices, otherwise all in the
/// model's scalar.
template <class T, class Extents, class... O, class... Metrics>
class Head<T, Extents, Outputs<O...>, Metrics...> {
  static_assert(sizeof...(Metrics) == 0,
                "trireme: metrics of a model with Outputs belong to one of them: output<\"name\">(loss, metrics...)");
  static_assert(parts_count<Extents> == sizeof...(O),
                "trireme: Outputs needs one output<\"name\">(loss) for each output of the model: their numbers differ");

  static constexpr std::size_t metric_count = (OutputTraits<O>::metric_names.size() + ... + 0);
  template <class V, class Lists>
  static constexpr std::array<V, 1 + sizeof...(O) + metric_count> listed(V first,
                                                                         std::array<V, sizeof...(O)> const& each,
                                                                         Lists const& lists) {
    std::array<V, 1 + sizeof...(O) + metric_count> all{first};
    auto next = std::copy(each.begin(), each.end(), all.begin() + 1);
    std::apply([&](auto const&... list) { ((next = std::copy(list.begin(), list.end(), next)), ...); }, lists);
    return all;
  }
  static constexpr auto names() {
    return listed<std::string_view>("loss", {OutputTraits<O>::loss_name...},
                                    std::make_tuple(OutputTraits<O>::metric_names...));
  }
  static constexpr auto directions() {
    std::array<Direction, sizeof...(O)> losses{};
    losses.fill(Direction::down);
    return listed<Direction>(Direction::down, losses, std::make_tuple(OutputTraits<O>::directions...));
  }

 public:
  static constexpr std::size_t outputs = sizeof...(O);
  static constexpr bool class_labels = (OutputTraits<O>::class_labels && ...);
  using label = std::conditional_t<class_labels, std::int32_t, T>;
  static constexpr std::size_t totals_width = (OutputTraits<O>::totals_width + ...);
  static constexpr auto log_names = names();
  static constexpr auto log_directions = directions();

  Head(Extents const& output, Outputs<O...> given) : output_(output), given_(std::move(given)) {
    static_assert(are_different(log_names),
                  "trireme: two values of a model have the same name in the logs; outputs need different names");
    for_each_output([&]<class Out>(Out const&, auto const& extents, auto const& place) {
      static_assert(OutputTraits<Out>::template require_fit<std::decay_t<decltype(extents)>>());
      if (OutputTraits<Out>::class_labels && !class_labels && extents.back() > largest_exact)
        throw ValueError(
            formatted("class indices of output '{}' go up to {}: beside dense targets they are kept in the model's "
                      "scalar, which is exact up to {}",
                      Out::name.view(), extents.back() - 1, largest_exact));
      target_size_ += place.target_size;
    });
  }

  void config(Config& c) const {
    std::apply([&](auto const&... out) { (c.object("the output", out), ...); }, given_.all);
  }

  /// f(output, its extents, its place) for each in order.
  template <class F>
  void for_each_output(F const& f) const {
    OutputPlace place;
    auto const call = [&]<class Out>(Out const& out, auto const& extents) {
      place.size = extents.back();
      place.positions = extents.size() / extents.back();
      place.target_size = OutputTraits<Out>::class_labels ? place.positions : extents.size();
      f(out, extents, std::as_const(place));
      ++place.index;
      place.before += extents.size();
      place.target += place.target_size;
      place.totals += OutputTraits<Out>::totals_width;
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (call(std::get<I>(given_.all), part_of<I>(output_)), ...);
    }(std::make_index_sequence<outputs>());
  }

  /// Numbers of a sample's targets.
  std::size_t target_size() const { return target_size_; }

  bool masks_positions() const {
    bool any = false;
    for_each_output([&](auto const& out, auto const&, auto const&) { any = any || masks(out.loss); });
    return any;
  }
  PerOutput<outputs> positions(std::size_t rows) const {
    PerOutput<outputs> counts{};
    for_each_output([&](auto const&, auto const&, OutputPlace const& place) {
      counts[place.index] = static_cast<double>(rows * place.positions);
    });
    return counts;
  }
  PerOutput<outputs> counted_positions(label const* targets, std::size_t rows) const {
    PerOutput<outputs> counts = positions(rows);
    for_each_output([&]<class Out>(Out const& out, auto const&, OutputPlace const& place) {
      if (!masks(out.loss)) return;
      kernels::OutputTargets<label> const t = where(targets, place);
      std::size_t count = 0;
      for (std::size_t p = 0; p < rows * place.positions; ++p)
        count += kernels::counts_position(out.loss, t.template at<typename Out::Loss::target>(p).get()) ? 1 : 0;
      counts[place.index] = static_cast<double>(count);
    });
    return counts;
  }

  /// Requirements on the targets.
  std::vector<data::TargetPart> target_parts() const {
    std::vector<data::TargetPart> parts;
    for_each_output([&]<class Out>(Out const& out, auto const& extents, auto const&) {
      data::TargetPart part{.extents = extents.to_vector()};
      if (OutputTraits<Out>::class_labels) {
        part.extents.pop_back();
        part.classes = extents.back();
        part.ignored = ignored_label_of(out.loss);
      }
      parts.push_back(std::move(part));
    });
    return parts;
  }

  template <class Context>
  void score(Context& context, Slice<T, label> const& slice, T const* z, T const* y, PerOutput<outputs> const& scales,
             T* dz, double* totals) const {
    for_each_output([&]<class Out>(Out const& out, auto const&, OutputPlace const& place) {
      std::size_t const begin = slice.rows * place.before;
      std::apply(
          [&]<class... M>(M const&... metric) {
            kernels::ScoreOutput<T, label, typename Out::Loss, M...> const kernel{
                out.loss,
                kernels::pack_metrics(metric...),
                z + begin,
                y + begin,
                where(slice.y, place),
                slice.weight,
                place.size,
                static_cast<T>(scales[place.index] * out.weight),
                dz ? dz + begin : nullptr};
            context.accumulate("trireme::score", slice.rows * place.positions, kernel, totals + place.totals);
          },
          out.metrics);
    });
  }

  std::array<double, log_names.size()> results(double const* totals) const {
    std::array<double, log_names.size()> values{};
    std::size_t next = 1 + outputs;
    for_each_output([&](auto const& out, auto const&, OutputPlace const& place) {
      double const* state = totals + place.totals;
      double const mean = state[1] > 0 ? state[0] / state[1] : 0.0;
      values[0] += out.weight * mean;
      values[1 + place.index] = mean;
      state += 2;
      std::apply(
          [&](auto const&... metric) {
            ((values[next++] = metric.result(state), state += std::decay_t<decltype(metric)>::state_size), ...);
          },
          out.metrics);
    });
    return values;
  }

 private:
  static constexpr std::size_t largest_exact = std::size_t{1} << std::numeric_limits<T>::digits;

  kernels::OutputTargets<label> where(label const* targets, OutputPlace const& place) const {
    return {targets + place.target, target_size_, place.positions, place.target_size / place.positions};
  }

  template <class L>
  static bool masks(L const& loss) {
    using Target = decltype(std::declval<kernels::OutputTargets<label>>().template at<typename L::target>(0).get());
    if constexpr (requires { loss.masks(); })
      return loss.masks();
    else
      return requires(Target target) { loss.counts(target); };
  }

  Extents output_;
  Outputs<O...> given_;
  std::size_t target_size_ = 0;
};

}  // namespace trireme::detail
