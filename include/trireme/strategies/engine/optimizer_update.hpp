/// One optimizer step over the arena: penalties, clipping, then the optimizer's rule in one fused pass, or in two for
/// each tensor where the rule takes sums over it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/models/description.hpp"
#include "trireme/optimizers/optimizer.hpp"
#include "trireme/strategies/engine/optimizer_progress.hpp"
#include "trireme/strategies/engine/process_sum.hpp"
#include "trireme/strategies/engine/update_kernels.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// State of an optimizer: besides its progress the slots (arenas of the parameters' layout), and the penalties of the
/// parameters that it updates, which belong to the loss.
template <class T, class Optimizer, class Context>
class Updater : public OptimizerProgress<Optimizer> {
  using Progress = OptimizerProgress<Optimizer>;

 public:
  using Progress::iteration, Progress::learning_rate, Progress::optimizer, Progress::set_iteration;
  static constexpr std::size_t max_slots = kernels::max_slots;
  using Rule = RuleOf<Optimizer, T>;
  /// True if the rule takes elements one by one.
  static constexpr bool takes_elements = !DeclaresTensorSums<Rule>;
  using Slot = Kokkos::View<T*, typename Context::memory_space>;

  /// \param keeps_state  false for a process that receives its weights; its parameters are for their penalties.
  template <class Space>
  Updater(Space const& space, Optimizer chosen, ModelDescription const& description, bool keeps_state = true)
      : Progress(std::move(chosen)),
        parameters_(description.parameters),
        states_(description.states),
        elements_(keeps_state ? description.elements : 0),
        sums_(make_view<Sums>(space, "trireme::tensor_sums",
                              std::max<std::size_t>(1, description.parameters.size() * width))),
        penalty_(make_view<Sums>(space, "trireme::penalty", 2)) {
    std::size_t const slots = this->optimizer().slots();
    if (slots > max_slots)
      throw ValueError(formatted("an optimizer with {} slots: at most {} are supported", slots, max_slots));
    for (std::size_t s = 0; s < slots; ++s)
      slots_.push_back(
          make_view<Slot>(space, "trireme::optimizer_slot", elements_, static_cast<T>(this->optimizer().initial(s))));
  }

  /// Keeps the slots of the elements `own` alone, which this process updates by `next_step(...).from(...)` from now on;
  /// `apply` is for updaters of all elements.
  void keep(RowRange const& own) {
    elements_ = own.size();
    first_ = own.begin;
    for (Slot& slot : slots_) {
      Slot const part = uninitialized_view<Slot>("trireme::optimizer_slot", elements_);
      copy_view(part, Kokkos::subview(slot, std::pair(own.begin, own.end)));
      slot = part;
    }
  }

  /// For a process that holds a part of the model: sums over tensors become sums over `parts`.
  void share_sums(std::shared_ptr<ProcessSum const> parts) { parts_ = std::move(parts); }

  std::vector<Slot> const& slots() const { return slots_; }

  /// True if some parameter has a regularizer.
  bool penalized() const {
    for (auto const& parameter : parameters_)
      if (parameter.regularizer.active()) return true;
    return false;
  }

  /// The parameters' current penalties.
  double penalty(Context& context, T const* parameters) const {
    auto const now = make_view<Sums>(context.space(), "trireme::penalty", 1);
    add_penalty(context, parameters, 1.0, now.data());
    context.fence("trireme: penalty complete");
    return to_host(now)[0];
  }
  /// The penalties summed up over steps, since they change with each: those of the weights before the step, times the
  /// rows of its global batch; and the sum of these rows.
  std::vector<double> trained_penalty() const { return to_host(penalty_); }
  /// Sets both sums: to 0 where they begin.
  void set_trained_penalty(std::vector<double> const& sums = {0, 0}) { copy_view(penalty_, host_view(sums)); }
  /// The mean penalty of a sample: in a test that of the weights, in training over the steps.
  double mean_penalty(Context& context, Phase phase, T const* parameters) const {
    if (phase == Phase::test) return penalty(context, parameters);
    std::vector<double> const sums = trained_penalty();
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
  }

  /// Applies the mean gradient of a global batch of so many rows.
  void apply(Context& context, T* parameters, T* gradients, std::size_t global_rows) {
    apply(context, parameters, gradients, global_rows, [](auto const& next, auto const& step) { step(next); });
  }
  /// The same by take(next, step), which calls `step` with `next` or with another rule for the same elements.
  template <class Take>
  void apply(Context& context, T* parameters, T* gradients, std::size_t global_rows, Take const& take) {
    if (penalized()) {
      double const rows = static_cast<double>(global_rows);
      add_penalty(context, parameters, rows, penalty_.data());
      context.for_each("trireme::penalized_rows", 1, kernels::AddNumber{penalty_.data() + 1, rows});
    }
    for (auto const& p : parameters_)
      if (p.regularizer.active())
        context.for_each(
            "trireme::penalty_gradient", p.size,
            kernels::PenaltyGradient<T>{parameters + p.offset, gradients + p.offset, static_cast<T>(p.regularizer.l1),
                                        static_cast<T>(p.regularizer.l2)});
    clip(context, gradients);
    take(next_step(parameters, gradients), [&](auto const& next) {
      if constexpr (takes_elements)
        context.for_each("trireme::optimizer_step", elements_, next);
      else
        step_tensors(context, next);
    });
    count_step();
  }

  /// Moves the model's states towards the means that the batch's forward has left behind the gradients.
  void move_states(Context& context, T* arena, T const* gradients, std::size_t global_rows) const {
    if (global_rows == 0) return;
    for (auto const& s : states_)
      context.for_each("trireme::move_state", s.size,
                       kernels::MoveState<T>{arena + s.offset, gradients + s.offset, static_cast<T>(s.decay)});
  }

  /// True if clipping scales whole gradients, so that one that is NaN makes all NaN.
  bool clips_by_norm() const { return clipnorm() != 0 || global_clipnorm() != 0; }
  /// True if a step is one pass over independent elements: then any thread may do its range of it.
  bool is_elementwise() const { return takes_elements && !clips() && !penalized(); }
  /// The same for all values that a step changes, the states included.
  bool changes_only_parameters() const { return is_elementwise() && states_.empty(); }

  /// The rule of the next step.
  Rule next_rule() const { return optimizer().template step<T>(iteration() + 1, learning_rate()); }
  /// The next step as a functor over the elements of the arena, if the rule takes elements. `count_step` follows it.
  auto next_step(T* parameters, T const* gradients) const {
    kernels::OptimizerStep<T, Rule> kernel{next_rule(), parameters, gradients, {}};
    for (std::size_t s = 0; s < slots_.size(); ++s) kernel.slots[s] = slots_[s].data();
    kernel.first = first_;
    return kernel;
  }
  /// Counts a step, once all of its passes are over: one that an exception ends is none.
  void count_step() { set_iteration(iteration() + 1); }

 private:
  using Sums = Kokkos::View<double*, typename Context::memory_space>;

  /// Adds weight * (sum of the parameters' penalties) to the total in the space's memory.
  void add_penalty(Context& context, T const* parameters, double weight, double* total) const {
    for (auto const& p : parameters_)
      if (p.regularizer.active())
        context.accumulate(
            "trireme::penalty", p.size,
            kernels::Penalty<T>{parameters + p.offset, weight * p.regularizer.l1, weight * p.regularizer.l2}, total);
  }

  double clipnorm() const {
    if constexpr (requires(Optimizer const& o) { o.clipnorm; }) return optimizer().clipnorm;
    return 0;
  }
  double global_clipnorm() const {
    if constexpr (requires(Optimizer const& o) { o.global_clipnorm; }) return optimizer().global_clipnorm;
    return 0;
  }
  double clipvalue() const {
    if constexpr (requires(Optimizer const& o) { o.clipvalue; }) return optimizer().clipvalue;
    return 0;
  }

  bool clips() const { return clips_by_norm() || clipvalue() != 0; }

  void clip(Context& context, T* gradients) {
    if (clipvalue() != 0)
      context.for_each("trireme::clip_value", elements_, kernels::ClipValue<T>{gradients, static_cast<T>(clipvalue())});
    if (!clips_by_norm()) return;
    bool const global = global_clipnorm() != 0;
    clear_sums(context);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      context.accumulate("trireme::gradient_norm", parameters_[i].size,
                         kernels::SquaredNorm<T>{gradients + parameters_[i].offset}, sums_.data() + (global ? 0 : i));
    complete_sums(context);
    if (global)
      context.for_each("trireme::clip_norm", elements_,
                       kernels::ClipNorm<T>{gradients, sums_.data(), global_clipnorm(), true});
    else
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        context.for_each("trireme::clip_norm", parameters_[i].size,
                         kernels::ClipNorm<T>{gradients + parameters_[i].offset, sums_.data() + i, clipnorm(), false});
  }

  /// A rule of tensors: the sums of each first, since one of several processes waits for all of them at once.
  template <class Next>
  void step_tensors(Context& context, kernels::OptimizerStep<T, Next> const& next) {
    clear_sums(context);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      context.accumulate("trireme::tensor_sums", parameters_[i].size,
                         kernels::TensorSums<T, Next, width>{of_tensor(next, parameters_[i])},
                         sums_.data() + i * width);
    complete_sums(context);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      context.for_each("trireme::optimizer_step", parameters_[i].size,
                       kernels::TensorStep<T, Next>{of_tensor(next, parameters_[i]), sums_.data() + i * width});
  }
  template <class Next>
  static auto of_tensor(kernels::OptimizerStep<T, Next> const& next, ParameterInfo const& parameter) {
    return next.from(parameter.offset, next.gradients + parameter.offset);
  }

  void clear_sums(Context& context) {
    context.for_each("trireme::clear", sums_.extent(0), kernels::Clear<double>{sums_.data()});
  }
  /// Adds up the sums over the processes that hold parts of the model.
  void complete_sums(Context& context) {
    if (!parts_ || !parts_->is_needed()) return;
    context.fence("trireme: sums complete before they are added up over processes");
    if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Context::memory_space>::accessible) {
      parts_->allreduce_sum({sums_.data(), sums_.extent(0)});
    } else {
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
      parts_->allreduce_sum({host.data(), host.extent(0)});
      copy_view(sums_, host);
    }
  }

  /// Sums of a tensor: those of its rule, or the one that clipping needs.
  static constexpr std::size_t width = [] {
    if constexpr (takes_elements)
      return std::size_t{1};
    else
      return std::size_t{Rule::tensor_sums};
  }();

  std::vector<ParameterInfo> parameters_;
  std::vector<StateInfo> states_;
  std::size_t elements_;   ///< of the slots
  std::size_t first_ = 0;  ///< element that they begin at
  std::vector<Slot> slots_;
  Sums sums_;
  Sums penalty_;
  std::shared_ptr<ProcessSum const> parts_;
};

}  // namespace trireme
