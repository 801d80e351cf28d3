# Spack recipe. To use it from a checkout: `spack repo create repo trireme`, put this file into
# repo/packages/trireme/, `spack repo add repo`, `spack install trireme`.
from spack.package import *


class Trireme(CMakePackage):
    """Training of neural networks inside C++ programs that run on Kokkos and MPI: header-only C++20."""

    license("Apache-2.0 WITH LLVM-exception")

    version("0.1.0")

    variant("hdf5", default=True, description="Read and write Keras's .weights.h5 files")
    variant("zlib", default=True, description="Read gzipped data")
    variant("protozero", default=True, description="Write event files for TensorBoard")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("kokkos@4:")
    depends_on("mpi@3.1:")
    depends_on("xtensor@0.24:")
    depends_on("xtensor-blas@0.20:")
    depends_on("blas")
    depends_on("lapack")
    depends_on("fmt@9:")
    depends_on("hdf5", when="+hdf5")
    depends_on("zlib-api", when="+zlib")
    depends_on("protozero", when="+protozero")

    def cmake_args(self):
        return [
            self.define("TRIREME_BUILD_TESTS", False),
            self.define("TRIREME_BUILD_EXAMPLES", False),
            self.define("TRIREME_BUILD_BENCHMARKS", False),
            self.define_from_variant("TRIREME_WITH_HDF5", "hdf5"),
            self.define_from_variant("TRIREME_WITH_ZLIB", "zlib"),
            self.define_from_variant("TRIREME_WITH_PROTOZERO", "protozero"),
        ]
