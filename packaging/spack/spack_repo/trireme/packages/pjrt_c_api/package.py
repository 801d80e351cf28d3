# Copyright of the trireme contributors. See LICENSE.
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class PjrtCApi(Package):
    """The header of the interface of PJRT's plugins, of OpenXLA."""

    homepage = "https://openxla.org/xla/pjrt"
    git = "https://github.com/openxla/xla.git"
    git_sparse_paths = ["xla/pjrt/c"]

    license("Apache-2.0")

    version("main", branch="main")

    def install(self, spec, prefix):
        header = join_path("xla", "pjrt", "c", "pjrt_c_api.h")
        mkdirp(prefix.include.xla.pjrt.c)
        install(header, prefix.include.xla.pjrt.c)
