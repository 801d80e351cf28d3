"""A package of the system as a Conan package: `conan export packaging/conan/system --name NAME` (see `packages`).

The export looks the package up once and keeps version and folders in the recipe, so that another one on the system
makes another revision. NAME_ROOT in the environment (HDF5_ROOT, Kokkos_ROOT, …) names a prefix that is looked at first,
MPICC a wrapper of an MPI.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.files import update_conandata

required_conan_version = ">=2.4"

# header: holds the version, as a text or as numbers in macros that end as listed; libraries: the first that is there.
packages = {
    "fmt": {
        "header": ["fmt/base.h", "fmt/core.h"], "version": "FMT_VERSION", "libraries": ["fmt"],
        "cmake": ("fmt", "fmt::fmt"), "root": "fmt", "names": ("libfmt-dev", "fmt-devel"),
    },
    "hdf5": {
        "header": ["hdf5/serial/H5public.h", "H5public.h"], "libraries": ["hdf5_serial", "hdf5"],
        "version": ("H5_VERS_MAJOR", "H5_VERS_MINOR", "H5_VERS_RELEASE"),
        "cmake": ("HDF5", "HDF5::HDF5"), "root": "HDF5", "names": ("libhdf5-dev", "hdf5-devel"),
    },
    "kokkos": {
        "header": ["KokkosCore_config.h", "kokkos/KokkosCore_config.h"], "version": "KOKKOS_VERSION",
        "cmake": ("Kokkos", "Kokkos::kokkos"), "root": "Kokkos", "names": ("libkokkos-dev", "kokkos-devel"),
    },
    "mpi": {
        "version": ("MPI_VERSION", "MPI_SUBVERSION"), "cmake": ("SystemMPI", "SystemMPI::mpi"), "root": "MPI",
        "names": ("libmpich-dev", "mpich-devel"),
    },
    "openblas": {
        "header": ["openblas/openblas_config.h", "openblas-openmp/openblas_config.h",
                   "openblas-pthread/openblas_config.h", "openblas-serial/openblas_config.h", "openblas_config.h"],
        "version": "OPENBLAS_VERSION", "libraries": ["openblas"], "cmake": ("OpenBLAS", "OpenBLAS::OpenBLAS"),
        "root": "OpenBLAS", "names": ("libopenblas-openmp-dev", "openblas-devel"),
    },
    "pjrt-c-api": {
        "header": ["xla/pjrt/c/pjrt_c_api.h"], "version": ("PJRT_API_MAJOR", "PJRT_API_MINOR"),
        "cmake": ("pjrt-c-api", "pjrt-c-api::pjrt-c-api"), "root": "PJRT", "names": (None, None),
    },
    "protozero": {
        "header": ["protozero/version.hpp"], "version": "PROTOZERO_VERSION_STRING",
        "cmake": ("protozero", "protozero::protozero"), "root": "protozero",
        "names": ("libprotozero-dev", "protozero-devel"),
    },
    "xtensor": {
        "header": ["xtensor/core/xtensor_config.hpp", "xtensor/xtensor_config.hpp"],
        "version": ("XTENSOR_VERSION_MAJOR", "XTENSOR_VERSION_MINOR", "XTENSOR_VERSION_PATCH"),
        "cmake": ("xtensor", "xtensor"), "root": "xtensor", "names": ("libxtensor-dev", "xtensor-devel"),
    },
    "xtensor-blas": {
        "header": ["xtensor-blas/xblas_config.hpp"],
        "version": ("XTENSOR_BLAS_VERSION_MAJOR", "XTENSOR_BLAS_VERSION_MINOR", "XTENSOR_BLAS_VERSION_PATCH"),
        "cmake": ("xtensor-blas", "xtensor-blas"), "root": "xtensor_blas",
        "names": ("libxtensor-blas-dev", "xtensor-blas-devel"),
    },
    "zlib": {
        "header": ["zlib.h"], "version": "ZLIB_VERSION", "libraries": ["z"], "cmake": ("ZLIB", "ZLIB::ZLIB"),
        "root": "ZLIB", "names": ("zlib1g-dev", "zlib-devel"),
    },
}

# Options of the Kokkos package, and the execution space that each asks for.
backends = {"openmp": "OPENMP", "cuda": "CUDA", "rocm": "HIP"}


class SystemConan(ConanFile):
    description = "A package of the system"
    package_type = "unknown"
    settings = "os", "arch", "compiler", "build_type"
    options = {backend: [True, False] for backend in backends}
    default_options = {backend: False for backend in backends}

    @property
    def _package(self):
        if self.name not in packages:
            raise ConanException(f"there is no system package '{self.name}' (--name {'|'.join(packages)})")
        return packages[self.name]

    def config_options(self):
        if self.name != "kokkos":
            for backend in backends:
                delattr(self.options, backend)

    def set_version(self):
        self.version = self._found()["version"]

    def export(self):
        update_conandata(self, self._found())

    def validate(self):
        for backend in backends if self.name == "kokkos" else ():
            if self.options.get_safe(backend) and backends[backend] not in self.conan_data["spaces"]:
                raise ConanInvalidConfiguration(f"the Kokkos of {self.conan_data['cmake']} has no {backend}, only "
                                                f"{', '.join(self.conan_data['spaces'])}; Kokkos_ROOT names another")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        found = self.conan_data
        file_name, target = self._package["cmake"]
        self.cpp_info.set_property("cmake_file_name", file_name)
        self.cpp_info.set_property("cmake_target_name", target)
        self.cpp_info.bindirs = []
        self.cpp_info.includedirs = found["includedirs"]
        self.cpp_info.libdirs = found["libdirs"]
        self.cpp_info.system_libs = found["libraries"]
        if found.get("cmake"):  # its own CMake package knows flags that depend on the compiler
            self.cpp_info.set_property("cmake_find_mode", "none")
            self.cpp_info.builddirs = [found["cmake"]]
        if found.get("mpiexec"):
            self.conf_info.define("user.mpi:mpiexec", found["mpiexec"])

    def _found(self):
        return self._found_mpi() if self.name == "mpi" else self._found_by_header()

    def _missing(self, tried):
        debian, fedora = self._package["names"]
        ways = [f"set {self._package['root']}_ROOT"]
        if self.name == "pjrt-c-api":
            ways.append("run scripts/pjrt.sh")
        if debian:
            ways += [f"Debian: apt-get install {debian}", f"Fedora: dnf install {fedora}"]
        return ConanException(f"{self.name} was not found on this system ({tried}); {'; '.join(ways)}")

    def _found_by_header(self):
        prefixes = [os.environ.get(f"{self._package['root']}_ROOT")]
        prefixes += os.environ.get("CMAKE_PREFIX_PATH", "").split(":")
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "trireme")
        if self.name == "pjrt-c-api":  # where the scripts of trireme put it
            prefixes.append(os.path.join(cache, "pjrt"))
        if self.name == "kokkos":
            prefixes.append(os.path.join(cache, "kokkos-4.7-openmp"))
        prefixes = [prefix for prefix in prefixes if prefix] + ["/usr/local", "/usr"]
        for prefix in prefixes:
            folders = glob.glob(os.path.join(prefix, "include", "*-linux-gnu")) + [os.path.join(prefix, "include")]
            for header in self._package["header"]:
                for folder in folders:
                    if os.path.exists(os.path.join(folder, header)):
                        return self._found_in(prefix, folder, header)
        raise self._missing(f"{self._package['header'][-1]} in the folders include of {', '.join(prefixes)}")

    def _found_in(self, prefix, folder, header):
        with open(os.path.join(folder, header), encoding="utf-8", errors="replace") as file:
            text = file.read()
        found = {"version": self._version(text, os.path.join(folder, header))}
        beside = os.path.dirname(header)  # hdf5/serial, openblas: folders that are no part of an #include
        if beside in ("", self.name) or beside.startswith(("fmt", "xla", "xtensor", "protozero")):
            beside = beside if self.name in ("openblas", "kokkos") else ""
        include = os.path.join(folder, beside) if beside else folder
        found["includedirs"] = [] if include in self._default_folders("include") else [include]
        libraries, found["libraries"], found["libdirs"] = self._package.get("libraries", []), [], []
        for library in libraries:
            libdirs = [libdir for libdir in self._libdirs(prefix)
                       if any(os.path.exists(os.path.join(libdir, f"lib{library}.{kind}")) for kind in ("so", "a"))]
            if libdirs:
                libdir = libdirs[0]
                found["libraries"] = [library]
                found["libdirs"] = [] if libdir in self._default_folders("lib") else [libdir]
                break
        if libraries and not found["libraries"]:
            raise self._missing(f"{prefix} has {header}, and no library {' or '.join(libraries)}")
        if self.name == "kokkos":
            configs = [os.path.join(libdir, "cmake", "Kokkos") for libdir in self._libdirs(prefix)]
            configs = [config for config in configs if os.path.exists(os.path.join(config, "KokkosConfig.cmake"))]
            if not configs:
                raise self._missing(f"{prefix} has {header}, and no lib/cmake/Kokkos/KokkosConfig.cmake")
            found["cmake"] = configs[0]
            found["spaces"] = [space for space in ("SERIAL", "OPENMP", "THREADS", "CUDA", "HIP", "SYCL")
                               if f"#define KOKKOS_ENABLE_{space}\n" in text]
        return found

    @staticmethod
    def _libdirs(prefix):
        return [os.path.join(prefix, "lib64"), *glob.glob(f"{prefix}/lib/*-linux-gnu"), os.path.join(prefix, "lib")]

    @staticmethod
    def _default_folders(kind):
        return [f"/usr/{kind}", f"/usr/local/{kind}", *glob.glob(f"/usr/{kind}/*-linux-gnu")]

    def _version(self, text, place):
        def value(macro):
            match = re.search(rf"^\s*#\s*define\s+{macro}\s+(.+)$", text, re.MULTILINE)
            if not match:
                raise ConanException(f"{place} has no version of {self.name}: it does not define {macro}")
            return match[1].strip()

        macros = self._package["version"]
        if not isinstance(macros, str):
            return ".".join(re.match(r"\d+", value(macro))[0] for macro in macros)
        written = re.search(r"\d+(\.\d+)*", value(macros))[0]
        if "." in written:
            return written
        number = int(written)  # 90100 is 9.1.0
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def _found_mpi(self):
        wrapper = os.environ.get("MPICC")
        if not wrapper:  # as in cmake/trireme-dependencies.cmake
            both = all(os.path.exists(f"/usr/bin/mpicc.{kind}") for kind in ("mpich", "openmpi"))
            wrapper = "mpicc.mpich" if both else "mpicc"
        place = shutil.which(wrapper)
        if not place:
            raise self._missing(f"no {wrapper} on the PATH")
        for option in ("-show", "--showme"):  # MPICH and what descends from it, Open MPI
            shown = subprocess.run([place, option], capture_output=True, text=True, check=False)
            if shown.returncode == 0:
                break
        else:
            raise ConanException(f"{place} shows its command neither by -show nor by --showme: {shown.stderr.strip()}")
        words = shlex.split(shown.stdout)
        found = {
            "includedirs": [word[2:] for word in words if word.startswith("-I")],
            "libdirs": [word[2:] for word in words
                        if word.startswith("-L") and word[2:] not in self._default_folders("lib")],
            "libraries": [word[2:] for word in words if word.startswith("-l")],
        }
        for folder in [*found["includedirs"], "/usr/include"]:
            header = os.path.join(folder, "mpi.h")
            if os.path.exists(header):
                with open(header, encoding="utf-8", errors="replace") as file:
                    found["version"] = self._version(file.read(), header)
                break
        else:
            raise self._missing(f"{place} names no folder that has mpi.h")
        mpiexec = os.path.join(os.path.dirname(place), os.path.basename(place).replace("mpicc", "mpiexec"))
        found["mpiexec"] = mpiexec if os.path.exists(mpiexec) else "mpiexec"
        return found
