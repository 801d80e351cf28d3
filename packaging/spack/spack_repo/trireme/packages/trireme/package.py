# Copyright of the trireme contributors. See LICENSE.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Trireme(CMakePackage, CudaPackage, ROCmPackage):
    """Training of neural networks inside C++ programs that run on Kokkos and MPI: header-only
    C++20, with one loop whose device and distribution strategy are compile-time policies."""

    # Homepage, address and maintainers are the owner's to set. Until then the sources are what is
    # committed in the checkout around this repository, or, in the environments beside it, the
    # checkout as it stands, which they name with `develop`.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    tags = ["hpc", "neural-networks", "training"]
    test_requires_compiler = True

    license("Apache-2.0 WITH LLVM-exception", checked_by="trireme")

    version("main", branch="main")

    variant("openmp", default=True, description="Kokkos with OpenMP")
    variant("serial", default=True, description="Kokkos with its serial space")
    variant("hdf5", default=True, description="Read and write Keras's .weights.h5 files")
    variant("zlib", default=True, description="Read gzipped data")
    variant("protozero", default=True, description="Write event files for TensorBoard")
    variant("pjrt", default=False, description="Train as one compiled program on PJRT devices")
    variant("examples", default=False, description="Build and install the example programs")
    variant("tests", default=False, description="Build the unit tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")

    depends_on("kokkos@4.1:5")
    for space in ("openmp", "serial"):
        depends_on(f"kokkos+{space}", when=f"+{space}")
    with when("+cuda"):
        depends_on("kokkos+cuda+wrapper")
        for arch in CudaPackage.cuda_arch_values:
            depends_on(f"kokkos cuda_arch={arch}", when=f"cuda_arch={arch}")
    with when("+rocm"):
        depends_on("kokkos+rocm")
        for arch in ROCmPackage.amdgpu_targets:
            depends_on(f"kokkos amdgpu_target={arch}", when=f"amdgpu_target={arch}")

    depends_on("mpi@3.1:")
    depends_on("blas")
    depends_on("lapack")
    # xtensor-blas 0.20 goes with these: from 0.26 on xtensor's headers lie elsewhere, and before
    # 0.24.5 Spack's recipe lacks xtl.
    depends_on("xtensor@0.24.3:0.25 ~xsimd~tbb")
    depends_on("xtensor-blas@0.20")
    depends_on("fmt@9:11")
    depends_on("hdf5@1.10:", when="+hdf5")
    depends_on("zlib-api", when="+zlib")
    depends_on("protozero@1.7:", when="+protozero")
    depends_on("pjrt-c-api", when="+pjrt")
    depends_on("cli11@2:", when="+examples")
    depends_on("cli11@2:", when="+tests")
    depends_on("boost@1.71: +test", when="+tests")
    depends_on("nlohmann-json@3:", when="+tests")

    conflicts("~openmp~serial", msg="trireme needs a host space: +openmp or +serial")
    conflicts("+cuda", when="+rocm", msg="one Kokkos has CUDA or ROCm")
    conflicts(
        "+cuda", when="cuda_arch=none", msg="+cuda needs an architecture, such as cuda_arch=90"
    )
    conflicts(
        "+rocm",
        when="amdgpu_target=none",
        msg="+rocm needs an architecture, such as amdgpu_target=gfx90a",
    )
    conflicts("+pjrt", when="~protozero", msg="+pjrt needs +protozero, which writes its messages")
    conflicts("+tests", when="+cuda", msg="+tests has host spaces alone: build it without a GPU")
    conflicts("+tests", when="+rocm", msg="+tests has host spaces alone: build it without a GPU")
    conflicts("%gcc@:11", msg="trireme needs C++20 of GCC 12 or newer")
    conflicts("%clang@:16", msg="trireme needs C++20 of Clang 17 or newer")

    example_programs = ("minimal", "digits", "strategies")

    @property
    def build_targets(self):
        if self.spec.satisfies("+tests"):
            return ["all"]
        return list(self.example_programs) if self.spec.satisfies("+examples") else []

    @property
    def compiler_of_programs(self):
        if self.spec.satisfies("+cuda"):
            return self["kokkos-nvcc-wrapper"].kokkos_cxx
        if self.spec.satisfies("+rocm"):
            return self.spec["hip"].prefix.bin.hipcc
        return self.compiler.cxx

    def setup_build_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.set("CXX", self.compiler_of_programs)

    def cmake_args(self):
        args = [
            self.define_from_variant("TRIREME_BUILD_TESTS", "tests"),
            self.define_from_variant("TRIREME_BUILD_EXAMPLES", "examples"),
            self.define("TRIREME_BUILD_BENCHMARKS", False),
            # The examples that are not installed are not built either.
            self.define("CMAKE_SKIP_INSTALL_ALL_DEPENDENCY", True),
            self.define_from_variant("TRIREME_WITH_HDF5", "hdf5"),
            self.define_from_variant("TRIREME_WITH_ZLIB", "zlib"),
            self.define_from_variant("TRIREME_WITH_PROTOZERO", "protozero"),
            self.define_from_variant("TRIREME_WITH_PJRT", "pjrt"),
            self.define_from_variant("TRIREME_WITH_CUBLAS", "cuda"),
            self.define_from_variant("TRIREME_WITH_CUBLASLT", "cuda"),
            # Libraries that the recipe does not depend on.
            self.define("TRIREME_WITH_CUDNN", False),
            self.define("TRIREME_WITH_ROCBLAS", False),
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            self.define("MPI_HOME", self.spec["mpi"].prefix),
            self.define("BLAS_LIBRARIES", self.spec["blas"].libs.joined(";")),
        ]
        if self.spec.satisfies("+tests"):
            args.append(self.define("TRIREME_TEST_ROOMS", "unit"))
        if self.spec.satisfies("+rocm"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.compiler_of_programs))
        return args

    @run_after("install")
    def install_examples(self):
        if self.spec.satisfies("+examples"):
            mkdirp(self.prefix.bin)
            with working_dir(os.path.join(self.build_directory, "examples")):
                for name in self.example_programs:
                    install(
                        os.path.join(name, name), os.path.join(self.prefix.bin, f"trireme-{name}")
                    )
            install_tree(
                join_path(self.stage.source_path, "examples", "data"),
                self.prefix.share.trireme.data,
            )

    @run_after("install")
    def keep_the_project_of_the_test(self):
        cache_extra_test_sources(self, join_path("tests", "consumer", "project"))

    def test_project_that_uses_the_package(self):
        """build a project against the installed package and train on two ranks"""
        source = join_path(self.test_suite.current_test_cache_dir, "tests", "consumer", "project")
        cmake = Executable(join_path(self.spec["cmake"].prefix.bin, "cmake"))
        cmake(
            "-S",
            source,
            "-B",
            "build",
            "-DCONSUMER_WAY=find_package",
            f"-Dtrireme_ROOT={self.prefix}",
            f"-DKokkos_ROOT={self.spec['kokkos'].prefix}",
            f"-DMPI_HOME={self.spec['mpi'].prefix}",
            f"-DCMAKE_CXX_COMPILER={self.compiler_of_programs}",
        )
        cmake("--build", "build")
        mpiexec = which("mpiexec", path=[self.spec["mpi"].prefix.bin], required=True)
        os.environ["OMP_NUM_THREADS"] = "1"
        mpiexec("-n", "2", join_path("build", "consumer"))
