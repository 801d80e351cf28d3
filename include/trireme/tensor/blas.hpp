/// The C interface of the BLAS, as xtensor-blas declares it: a vendor's own <cblas.h> contradicts these declarations,
/// so that a program that includes both would not compile.
#pragma once

#include <xflens/cxxblas/drivers/cblas.h>
