/* How much faster than binary64 a device multiplies integers, which decides how large products are computed. */
#pragma once

/* The ratio (rm_cuda_integer_ratio, which reads no memory of the device and waits for nothing) from which on products of a
 * format and these sizes are of integers. */
double rm_cuda_integer_cost(int fmt, int64_t m, int64_t n, int64_t k);
