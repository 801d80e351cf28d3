// A small U-Net as a graph: `mpiexec -n 2 segmentation [FOLDER [EPOCHS]]`. It tells which pixels of noisy, unevenly lit
// images belong to discs. The folder, `.` unless given, gets a log of the epochs and the first test images with their
// masks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

namespace {

constexpr std::size_t side = 48, shown = 4;

/// Images (samples, side, side, 1) and masks of the same extents: 1 within a disc.
struct Discs {
  xt::xtensor<float, 4> images, masks;

  Discs(std::size_t samples, unsigned seed) : images({samples, side, side, 1}), masks({samples, side, side, 1}) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(0, side), radius(3, 9), light(-1, 1), noise(-0.4, 0.4);
    for (std::size_t i = 0; i < samples; ++i) {
      double const across = light(random), down = light(random);
      double x[5], y[5], r[5];
      for (std::size_t d = 0; d < 5; ++d) x[d] = place(random), y[d] = place(random), r[d] = radius(random);
      for (std::size_t v = 0; v < side; ++v)
        for (std::size_t u = 0; u < side; ++u) {
          double const px = static_cast<double>(u), py = static_cast<double>(v);
          bool inside = false;
          for (std::size_t d = 0; d < 5; ++d) inside = inside || std::hypot(px - x[d], py - y[d]) < r[d];
          masks(i, v, u, 0) = inside ? 1.0f : 0.0f;
          double const shade = (across * (px / side - 0.5) + down * (py / side - 0.5)) * 1.5;
          images(i, v, u, 0) = static_cast<float>(shade + (inside ? 0.4 : 0) + noise(random));
        }
    }
  }

  auto data() const { return tr::data::from_tensor_slices(images, masks); }
};

/// Of the pixels that are or were told to be discs, those that are both: intersection over union.
template <class Masks, class Told>
double overlap(Masks const& masks, Told const& told) {
  std::size_t both = 0, any = 0;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    bool const is = masks.data()[i] > 0.5f, was = told.data()[i] > 0.5f;
    both += is && was ? 1 : 0;
    any += is || was ? 1 : 0;
  }
  return static_cast<double>(both) / static_cast<double>(std::max<std::size_t>(any, 1));
}

/// The first samples as a file for numpy.
template <class Values>
void write(std::string const& path, Values const& values) {
  tr::io::write_npy(path, tr::HostTensor<float>{nullptr, values.data(), {shown, side, side}, {}});
}

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const strategy = tr::MultiWorkerMirroredStrategy<>(environment.world());
  std::string const folder = argc > 1 ? argv[1] : ".";
  std::size_t const epochs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 16;
  environment.world().together([&] { std::filesystem::create_directories(folder); });

  auto model = tr::compile(
      strategy,
      tr::Graph{
          tr::Input<side, side, 1>{}, tr::node<"down_1">(tr::Conv2D<8, 3, 3, tr::ReLU, tr::Same>{}),
          tr::node<"down_2">(tr::Sequential{tr::MaxPooling2D<2, 2>{}, tr::Conv2D<16, 3, 3, tr::ReLU, tr::Same>{}}),
          tr::node<"bottom">(tr::Sequential{tr::MaxPooling2D<2, 2>{}, tr::Conv2D<32, 3, 3, tr::ReLU, tr::Same>{},
                                            tr::Conv2D<32, 3, 3, tr::ReLU, tr::Same>{}}),
          tr::node<"larger_2">(tr::UpSampling2D<2, 2>{}), tr::node<"joined_2", "larger_2", "down_2">(tr::Concatenate{}),
          tr::node<"up_2">(tr::Conv2D<16, 3, 3, tr::ReLU, tr::Same>{}), tr::node<"larger_1">(tr::UpSampling2D<2, 2>{}),
          tr::node<"joined_1", "larger_1", "down_1">(tr::Concatenate{}),
          tr::node<"up_1">(tr::Conv2D<8, 3, 3, tr::ReLU, tr::Same>{}),
          tr::node<"mask">(tr::Conv2D<1, 1, 1, tr::Sigmoid>{})},
      tr::Adam{.learning_rate = 5e-3}, tr::BinaryCrossentropy{}, tr::BinaryAccuracy{});

  Discs const train(768, 1), test(128, 2);
  auto const tests = test.data().batch(tr::GlobalBatch{32});
  auto const history =
      tr::fit(strategy, model, train.data().shuffle(768, 1).batch(tr::GlobalBatch{16}), tr::validation(tests),
              {.epochs = epochs, .verbose = false}, tr::CSVLogger{.path = folder + "/epochs.csv"});
  auto const told = tr::predict(strategy, model, tests);
  tr::plot_model(model, folder + "/unet.svg");
  environment.world().together([&] {
    if (!environment.world().is_chief()) return;
    write(folder + "/images.npy", test.images);
    write(folder + "/masks.npy", test.masks);
    write(folder + "/told.npy", told);
  });
  if (environment.world().is_chief())
    fmt::print("{} parameters; intersection over union {:.3f}, val_loss {:.4f}\n", model.parameter_count(),
               overlap(test.masks, told), history["val_loss"].back());
}
