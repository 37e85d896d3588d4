/* repmath: correctly rounded mathematics and exact reductions. This header includes all others but those for a GPU
 * (cuda.h). */
#ifndef REPMATH_REPMATH_H
#define REPMATH_REPMATH_H

#include "convolution.h"
#include "core.h"
#include "elementwise.h"
#include "elementwise_rounded.h"
#include "fft.h"
#include "formulas.h"
#include "linalg.h"
#include "losses.h"
#include "nn.h"
#include "optim.h"
#include "partials.h"
#include "pooling.h"
#include "powers.h"
#include "random.h"
#include "reductions.h"
#include "rounding.h"
#include "sampling.h"
#include "scatter.h"
#include "special.h"

#endif
