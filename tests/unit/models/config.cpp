/// The numbers of each type, a row a number: values outside of its range are refused in one sentence.
#define BOOST_TEST_MODULE models_config
#include "support/kokkos_fixture.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/trireme.hpp"

namespace trireme::test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

template <class Object>
std::vector<std::string> listed(Object const& object) {
  Config c;
  if constexpr (requires { object.slots(); })
    list_optimizer(c, object);
  else
    c.object("the object", object);
  std::vector<std::string> names;
  for (auto const& entry : c.entries()) names.push_back(entry.name);
  return names;
}

/// What listing the object is refused with; empty if it is not.
template <class Object>
std::string refusal(Object const& object) {
  try {
    listed(object);
  } catch (ValueError const& error) {
    return error.what();
  }
  return {};
}

/// A member of Object, and numbers that it cannot have beside NaN, or that it can.
template <class Object>
struct Number {
  std::string name;
  std::vector<Object> refused, taken;
};

template <class Object, class Member>
Number<Object> number(char const* name, Member Object::* member, std::vector<double> const& outside,
                      std::vector<double> const& inside = {}, Object const& object = {}) {
  Number<Object> row{name, {}, {}};
  auto const with = [&](double value) {
    Object changed = object;
    if constexpr (std::is_floating_point_v<Member> || std::is_same_v<Member, Rate> ||
                  std::is_same_v<Member, std::optional<double>>)
      changed.*member = static_cast<std::conditional_t<std::is_same_v<Member, float>, float, double>>(value);
    else
      changed.*member = Member{static_cast<std::size_t>(static_cast<std::int64_t>(value))};
    return changed;
  };
  for (double const value : outside) row.refused.push_back(with(value));
  for (double const value : inside) row.taken.push_back(with(value));
  return row;
}

/// All rows of a type, and its switches and objects by name: what it lists is all of these, and refused is what is
/// outside.
template <class Object>
void check(std::vector<Number<Object>> const& numbers, std::set<std::string> const& others = {},
           Object const& object = {}) {
  std::string const type = type_name<Object>() + "::";
  BOOST_TEST_CONTEXT(type) {
    BOOST_TEST(refusal(object) == "");
    std::set<std::string> expected = others, found;
    for (auto const& row : numbers) expected.insert(row.name);
    for (std::string const& name : listed(object))
      if (name.starts_with(type) && name.find(' ') == std::string::npos) found.insert(name.substr(type.size()));
    BOOST_TEST(found == expected, boost::test_tools::per_element());
    for (auto const& row : numbers) {
      BOOST_TEST(row.refused.size() > 0u, row.name << " has no number that is refused");
      for (Object const& refused : row.refused) {
        std::string const message = refusal(refused);
        BOOST_TEST(message.starts_with(type + row.name + " is "), row.name << ": " << message);
        BOOST_TEST(message.find(", which is outside of ") != std::string::npos);
      }
      for (Object const& taken : row.taken) BOOST_TEST(refusal(taken) == "");
    }
  }
}

/// Rows of what every optimizer has, before those of its own.
template <class O>
void check_optimizer(std::vector<Number<O>> own, std::set<std::string> const& switches = {}) {
  for (Number<O> const& row : {number("learning_rate", &O::learning_rate, {-1, nan, infinity}, {0, 0.1}),
                               number("weight_decay", &O::weight_decay, {-1, nan}, {0, 0.1}),
                               number("clipnorm", &O::clipnorm, {-1, nan}, {0, 1}),
                               number("global_clipnorm", &O::global_clipnorm, {-1, nan}, {0, 1}),
                               number("clipvalue", &O::clipvalue, {-1, nan}, {0, 1})})
    own.push_back(row);
  check(own, switches);
}

BOOST_AUTO_TEST_CASE(types_without_names_have_one_text_from_every_compiler) {
  // As GCC 12 and Clang 19 mangle a lambda of a function, another as the second of two arguments, one of a variable,
  // one of a function template, an unnamed struct, and a class within a constrained function template.
  for (auto const& [gcc, clang, text] : {
           std::array{"4WrapIZ3runiPPcEUlfE_E", "4WrapIZ3runiPPcE3$_0E", "Wrap<a function>"},
           std::array{"Z3runiPPcEUlf4WrapIiEE0_", "Z3runiPPcE3$_1", "a function"},
           std::array{"4PairIZ3runiPPcEUlfE_Z3runiS1_EUlf4WrapIiEE0_E", "4PairIZ3runiPPcE3$_0Z3runiS1_E3$_1E",
                      "Pair<a function, a function>"},
           std::array{"4WrapIKNL6globalMUldE_EE", "4WrapIK3$_3E", "Wrap<a function>"},
           std::array{"4WrapIZ4makeIiEDaT_EUliE_E", "4WrapIZ4makeIiEDaT_EUliE_E", "Wrap<a function>"},
           std::array{"4WrapI8._anon_5E", "4WrapI3$_2E", "Wrap<a function>"},
       }) {
    BOOST_TEST(detail::readable_type(gcc) == text);
    BOOST_TEST(detail::readable_type(clang) == text);
  }
  BOOST_TEST(detail::readable_type("4WrapIZ5makecIiQgtstT_Li2EEDaS1_E5LocalE") == "a type");
  BOOST_TEST((type_text<Sequential<Residual<Frozen<Dense<3>>>, Dense<2, ReLU>>>()) ==
             "Sequential<Residual<Frozen<Dense<3>>>, Dense<2, ReLU>>");
}

BOOST_AUTO_TEST_CASE(types_show_names_as_text) {
  auto const named = node<"conv_1">(Dense<3>{});
  BOOST_TEST(type_text<std::remove_const_t<decltype(named)>>() == "Node<Dense<3>, \"conv_1\">");
}

BOOST_AUTO_TEST_CASE(long_values_that_differ_are_shown_around_their_difference) {
  std::string const begin(300, 'a'), end(300, 'z');
  auto const [first, second] =
      detail::config_difference("the model\t" + begin + "1" + end + "\n", "the model\t" + begin + "2" + "\n");
  BOOST_TEST(first == "the model ..." + std::string(60, 'a') + "1" + std::string(99, 'z') + "...");
  BOOST_TEST(second == "..." + std::string(60, 'a') + "2");
}

BOOST_AUTO_TEST_CASE(optimizers_refuse_numbers_outside_of_their_ranges) {
  check_optimizer<Adadelta>(
      {number("rho", &Adadelta::rho, {-0.1, 1, nan}), number("epsilon", &Adadelta::epsilon, {0, nan})});
  check_optimizer<Adagrad>({number("initial_accumulator_value", &Adagrad::initial_accumulator_value, {-0.1, nan}, {0}),
                            number("epsilon", &Adagrad::epsilon, {0, nan})});
  check_optimizer<Adam>(
      {number("beta_1", &Adam::beta_1, {-0.1, 1, nan}, {0}), number("beta_2", &Adam::beta_2, {-0.1, 1, nan}),
       number("epsilon", &Adam::epsilon, {0, -1, nan})},
      {"amsgrad"});
  check_optimizer<AdamW>(
      {number("beta_1", &AdamW::beta_1, {-0.1, 1, nan}), number("beta_2", &AdamW::beta_2, {-0.1, 1, nan}),
       number("epsilon", &AdamW::epsilon, {0, nan})},
      {"amsgrad"});
  check_optimizer<Adamax>({number("beta_1", &Adamax::beta_1, {-0.1, 1, nan}),
                           number("beta_2", &Adamax::beta_2, {-0.1, 1, nan}),
                           number("epsilon", &Adamax::epsilon, {0, nan})});
  check_optimizer<Lamb>({number("beta_1", &Lamb::beta_1, {-0.1, 1, nan}),
                         number("beta_2", &Lamb::beta_2, {-0.1, 1, nan}), number("epsilon", &Lamb::epsilon, {0, nan})});
  check_optimizer<Lars>({number("momentum", &Lars::momentum, {-0.1, 1.1, nan}, {0, 1}),
                         number("trust_coefficient", &Lars::trust_coefficient, {0, nan}, {0.02})});
  check_optimizer<Ftrl>(
      {number("learning_rate_power", &Ftrl::learning_rate_power, {0.1, nan}, {0}),
       number("initial_accumulator_value", &Ftrl::initial_accumulator_value, {-0.1, nan}),
       number("l1_regularization_strength", &Ftrl::l1_regularization_strength, {-0.1, nan}),
       number("l2_regularization_strength", &Ftrl::l2_regularization_strength, {-0.1, nan}),
       number("l2_shrinkage_regularization_strength", &Ftrl::l2_shrinkage_regularization_strength, {-0.1, nan}),
       number("beta", &Ftrl::beta, {-0.1, nan})});
  check_optimizer<Lion>(
      {number("beta_1", &Lion::beta_1, {0, 1.1, nan}, {1}), number("beta_2", &Lion::beta_2, {0, 1.1, nan})});
  check_optimizer<Nadam>({number("beta_1", &Nadam::beta_1, {-0.1, 1, nan}),
                          number("beta_2", &Nadam::beta_2, {-0.1, 1, nan}),
                          number("epsilon", &Nadam::epsilon, {0, nan})});
  check_optimizer<RMSprop>(
      {number("rho", &RMSprop::rho, {-0.1, 1, nan}), number("momentum", &RMSprop::momentum, {-0.1, 1.1, nan}),
       number("epsilon", &RMSprop::epsilon, {0, nan})},
      {"centered"});
  check_optimizer<SGD>({number("momentum", &SGD::momentum, {-0.1, 1.1, nan}, {1})}, {"nesterov"});
}

BOOST_AUTO_TEST_CASE(one_clipping_alone_is_taken) {
  BOOST_TEST(refusal(SGD{.clipnorm = 1, .clipvalue = 1}) ==
             "SGD takes one of clipnorm, global_clipnorm and clipvalue, and was given several");
}

BOOST_AUTO_TEST_CASE(schedules_refuse_numbers_outside_of_their_ranges) {
  using E = ExponentialDecay;
  check<E>({number("initial_learning_rate", &E::initial_learning_rate, {-1, nan}),
            number("decay_steps", &E::decay_steps, {0, nan}), number("decay_rate", &E::decay_rate, {-1, nan})},
           {"staircase"});
  using I = InverseTimeDecay;
  check<I>({number("initial_learning_rate", &I::initial_learning_rate, {-1, nan}),
            number("decay_steps", &I::decay_steps, {0, nan}), number("decay_rate", &I::decay_rate, {-1, nan})},
           {"staircase"});
  using P = PolynomialDecay;
  check<P>({number("initial_learning_rate", &P::initial_learning_rate, {-1, nan}),
            number("decay_steps", &P::decay_steps, {0, nan}),
            number("end_learning_rate", &P::end_learning_rate, {-1, nan}), number("power", &P::power, {-1, nan})},
           {"cycle"});
  using C = CosineDecay;
  check<C>({number("initial_learning_rate", &C::initial_learning_rate, {-1, nan}),
            number("decay_steps", &C::decay_steps, {0, nan}), number("alpha", &C::alpha, {-1, nan}),
            number("warmup_target", &C::warmup_target, {-1, nan}),
            number("warmup_steps", &C::warmup_steps, {-1, nan})});
  using R = CosineDecayRestarts;
  check<R>({number("initial_learning_rate", &R::initial_learning_rate, {-1, nan}),
            number("first_decay_steps", &R::first_decay_steps, {0, nan}), number("t_mul", &R::t_mul, {0.9, nan}),
            number("m_mul", &R::m_mul, {-1, nan}), number("alpha", &R::alpha, {-1, nan})});
  BOOST_TEST(
      refusal(PiecewiseConstantDecay({2}, {0.1, -1})).starts_with("PiecewiseConstantDecay::values[1] is -1, which"));
  BOOST_TEST(refusal(SGD{.learning_rate = PolynomialDecay{.power = -1}}) ==
             "PolynomialDecay::power of SGD::learning_rate is -1, which is outside of [0, inf)");
  BOOST_TEST(refusal(SGD{.learning_rate = [](std::uint64_t) { return -0.5; }}) ==
             "SGD::learning_rate(0) is -0.5, which is outside of [0, inf)");
}

BOOST_AUTO_TEST_CASE(initializers_and_regularizers_refuse_numbers_outside_of_their_ranges) {
  check<Constant>({number("value", &Constant::value, {infinity, nan}, {-1})});
  check<Identity>({number("gain", &Identity::gain, {infinity, nan})});
  check<Orthogonal>({number("gain", &Orthogonal::gain, {infinity, nan})});
  check<RandomNormal>(
      {number("mean", &RandomNormal::mean, {infinity, nan}), number("stddev", &RandomNormal::stddev, {-1, nan})});
  check<TruncatedNormal>(
      {number("mean", &TruncatedNormal::mean, {infinity, nan}), number("stddev", &TruncatedNormal::stddev, {-1, nan})});
  check<RandomUniform>({number("minval", &RandomUniform::minval, {infinity, nan}),
                        number("maxval", &RandomUniform::maxval, {-0.06, nan}, {-0.05})});
  check<VarianceScaling>({number("scale", &VarianceScaling::scale, {0, nan})}, {"mode", "distribution"});
  check<Regularizer>({number("l1", &Regularizer::l1, {-1, nan}), number("l2", &Regularizer::l2, {-1, nan})});
}

BOOST_AUTO_TEST_CASE(layers_and_activations_refuse_numbers_outside_of_their_ranges) {
  check<ELU>({number("alpha", &ELU::alpha, {-1, nan}, {0})});
  check<LeakyReLU>({number("negative_slope", &LeakyReLU::negative_slope, {-1, nan}, {0})});
  check<GELU>({}, {"approximate"});
  check<Activation<ELU>>({}, {"activation"});
  check<Dropout>({number("rate", &Dropout::rate, {-0.1, 1, nan}, {0})});
  check<GaussianNoise>({number("stddev", &GaussianNoise::stddev, {-0.1, 1.1, nan}, {0, 1})});
  using D = Dense<dynamic>;
  check<D>({number("units", &D::units, {0, -1}, {1}, D{.units = 2})}, {"activation"}, D{.units = 2});
  using C = Conv2D<dynamic, 3, 3>;
  check<C>({number("filters", &C::filters, {0, -1}, {1}, C{.filters = 2})}, {"activation"}, C{.filters = 2});
  using S = LSTM<dynamic>;
  check<S>({number("units", &S::units, {0, -1}, {1}, S{.units = 2})}, {"activation", "recurrent_activation"},
           S{.units = 2});
  using G = GRU<dynamic>;
  check<G>({number("units", &G::units, {0, -1}, {1}, G{.units = 2})}, {"activation", "recurrent_activation"},
           G{.units = 2});
  using E = Embedding<dynamic, dynamic>;
  E const words{.vocabulary = 5, .dim = 2};
  check<E>({number("vocabulary", &E::vocabulary, {0, -1}, {1}, words), number("dim", &E::dim, {0, -1}, {1}, words)},
           {"sparse_from"}, words);
  using B = BatchNormalization<>;
  check<B>({number("momentum", &B::momentum, {-0.1, 1.1, nan}, {0, 1}), number("epsilon", &B::epsilon, {0, nan})});
  using L = LayerNormalization<>;
  check<L>({number("epsilon", &L::epsilon, {0, nan})});
}

BOOST_AUTO_TEST_CASE(losses_and_metrics_refuse_numbers_outside_of_their_ranges) {
  using B = BinaryCrossentropy;
  check<B>({number("label_smoothing", &B::label_smoothing, {-0.1, 1.1, nan}, {0, 1})}, {"from_logits"});
  using C = CategoricalCrossentropy;
  check<C>({number("label_smoothing", &C::label_smoothing, {-0.1, 1.1, nan}, {0, 1})}, {"from_logits"});
  using BF = BinaryFocalCrossentropy;
  check<BF>({number("alpha", &BF::alpha, {-0.1, 1.1, nan}), number("gamma", &BF::gamma, {-1, nan}),
             number("label_smoothing", &BF::label_smoothing, {-0.1, 1.1, nan})},
            {"apply_class_balancing", "from_logits"});
  using CF = CategoricalFocalCrossentropy;
  check<CF>({number("alpha", &CF::alpha, {-0.1, nan}), number("gamma", &CF::gamma, {-1, nan}),
             number("label_smoothing", &CF::label_smoothing, {-0.1, 1.1, nan})},
            {"from_logits"});
  check<SparseCategoricalCrossentropy>({}, {"from_logits", "ignore_class"});
  check<Huber>({number("delta", &Huber::delta, {0, nan})});
  check<BinaryAccuracy>({number("threshold", &BinaryAccuracy::threshold, {infinity, nan}, {0})});
  using K = TopKCategoricalAccuracy;
  check<K>({number("k", &K::k, {0, -1}, {1})});
  using SK = SparseTopKCategoricalAccuracy;
  check<SK>({number("k", &SK::k, {0, -1}, {1})});
  BOOST_TEST(refusal(metrics::MeanOf<Huber>{.loss = {.delta = 0}}) ==
             "Huber::delta of MeanOf::loss is 0, which is outside of (0, inf)");
  BOOST_TEST(refusal(output<"price">(Huber{}, LossWeight{nan})) ==
             "Output::weight is nan, which is outside of (-inf, inf)");
  BOOST_TEST(refusal(output<"kind">(Huber{}, K{.k = 0})) ==
             "TopKCategoricalAccuracy::k of Output::metric is 0, which is outside of [1, 2^53]");
}

BOOST_AUTO_TEST_CASE(callbacks_and_options_refuse_numbers_outside_of_their_ranges) {
  using S = EarlyStopping<>;
  check<S>({number("min_delta", &S::min_delta, {infinity, nan}, {-1}), number("patience", &S::patience, {-1}, {0}),
            number("baseline", &S::baseline, {nan}), number("start_from_epoch", &S::start_from_epoch, {-1}, {0})},
           {"mode", "monitor", "restore_best_weights"});
  using R = ReduceLROnPlateau<>;
  check<R>({number("factor", &R::factor, {-0.1, 1, nan}, {0}), number("patience", &R::patience, {-1}, {0}),
            number("min_delta", &R::min_delta, {nan}), number("cooldown", &R::cooldown, {-1}, {0}),
            number("min_lr", &R::min_lr, {-1, nan}, {0})},
           {"mode", "monitor"});
  using M = ModelCheckpoint<>;
  check<M>({number("initial_value_threshold", &M::initial_value_threshold, {nan}),
            number("save_freq", &M::save_freq, {-1}, {1})},
           {"mode", "monitor", "path", "save_best_only", "save_weights_only"});
  using B = BackupAndRestore;
  check<B>({number("save_freq", &B::save_freq, {-1}, {1})}, {"delete_checkpoint", "path", "signals"});
  for (int const fault : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, NSIG})
    BOOST_TEST(refusal(B{.signals = {SIGUSR1, fault}}) ==
               "BackupAndRestore takes .signals that a batch system sends, such as SIGUSR1 or SIGTERM, not those of "
               "faults, SIGKILL or SIGSTOP");
  BOOST_TEST(refusal(B{.signals = {0}}) == "BackupAndRestore::signals[0] is 0, which is outside of [1, 2^53]");
  check<CSVLogger>({}, {"path", "append"}, CSVLogger{.path = "log.csv"});
  check<TerminateOnNaN>({}, {"raise_error"});
#ifdef TRIREME_HAVE_PROTOZERO
  Config c;
  TensorBoard const board{.update_freq = static_cast<std::size_t>(-1)};
  BOOST_CHECK_THROW(c.object("the callback", board), ValueError);
#endif
  using F = FitOptions;
  check<F>({number("epochs", &F::epochs, {-1}, {0}), number("initial_epoch", &F::initial_epoch, {-1}, {0}),
            number("steps_per_epoch", &F::steps_per_epoch, {0, -1}, {1}),
            number("validation_freq", &F::validation_freq, {0, -1}, {1})},
           {"class_weight"});
  BOOST_TEST(refusal(F{.class_weight = {1, -1}}) == "FitOptions::class_weight[1] is -1, which is outside of [0, inf)");
  check<EvaluateOptions>({number("steps", &EvaluateOptions::steps, {0, -1}, {1})});
  using P = PipelineOptions;
  check<P>({number("micro_batches", &P::micro_batches, {0, -1}, {1}), number("stages", &P::stages, {-1}, {0})});
  using Q = ParameterServerOptions;
  check<Q>({number("servers", &Q::servers, {0, -1}, {1}), number("staleness", &Q::staleness, {-1}, {0})},
           {"evaluator"});
  check<TopK>({number("fraction", &TopK::fraction, {0, 1.1, nan}, {1})});
}

/// Members of structs in the rooms where users give numbers, from how they are written. One that its file's `config`
/// does not list is found here, so that it comes to be listed and to have its row above.
BOOST_AUTO_TEST_CASE(no_number_of_a_public_struct_is_left_out_of_its_list) {
  std::set<std::string> const listed_elsewhere{"learning_rate",   "weight_decay", "clipnorm",
                                               "global_clipnorm", "clipvalue",  // of any optimizer: list_optimizer
                                               "batches",                       // SaveFreq, UpdateFreq: their holder's
                                               "verbose"};                      // may be the chief's alone
  std::set<std::string> const not_given_by_users{
      "attention_products.hpp", "call.hpp", "dispatch.hpp",     "improvement.hpp", "initializer.hpp",
      "parameter.hpp",          "pass.hpp", "signal_watch.hpp", "snapshot.hpp",    "terminal.hpp"};
  std::regex const member(
      "  (?:Rate|double|float|bool|std::size_t|std::int32_t|std::uint64_t|SaveFreq|UpdateFreq|Extent<\\w+>|"
      "std::vector<double>|std::optional<(?:double|std::size_t)>) ([a-z][^;(]*)(?: = |\\{)[^;]*;.*");
  std::regex const name("[ ,]([a-z](?:[a-z0-9_]*[a-z0-9])?)(?: = |\\{)");
  auto const include = std::filesystem::path(TRIREME_TESTS_DIRECTORY) / "../include/trireme";
  std::vector<std::filesystem::path> files{include / "fit.hpp", include / "strategies/pipeline/pipeline.hpp",
                                           include / "strategies/parameter_server/parameter_server.hpp",
                                           include / "strategies/gradients/top_k_exchange.hpp"};
  for (char const* const room :
       {"activations", "callbacks", "initializers", "layers", "losses", "metrics", "optimizers", "schedules"})
    for (auto const& entry : std::filesystem::directory_iterator(include / room))
      if (entry.path().extension() == ".hpp") files.push_back(entry.path());
  auto const text_of = [](std::filesystem::path const& file) {
    std::stringstream content;
    content << std::ifstream(file).rdbuf();
    return content.str();
  };
  std::size_t members = 0;
  for (auto const& file : files) {
    if (not_given_by_users.contains(file.filename().string())) continue;
    std::stringstream content(text_of(file));
    std::string text = content.str();  // with definitions that are apart
    if (auto definitions = file; std::filesystem::exists(definitions.replace_extension(".ipp")))
      text += text_of(definitions);
    bool inside = false;  // a struct, before its state
    for (std::string line; std::getline(content, line);) {
      if (line.starts_with("struct ") || line.starts_with("class ")) inside = true;
      if (line.starts_with("}") || line.starts_with("  // State")) inside = false;
      if (!inside || !std::regex_match(line, member)) continue;
      std::string const declared = line.substr(0, line.find(';'));
      for (std::sregex_iterator each(declared.begin(), declared.end(), name), end; each != end; ++each) {
        std::string const found = (*each)[1];
        ++members;
        BOOST_TEST((listed_elsewhere.contains(found) || text.find("(\"" + found + "\", ") != std::string::npos),
                   file.filename().string() << ": " << found << " is in no list");
      }
    }
  }
  BOOST_TEST(members > 100u);
}

}  // namespace trireme::test
