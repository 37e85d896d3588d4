/* The core of asinpi, acospi and atanpi: an angle over pi.
 *
 * hi + lo = (h + l)/pi within err, for an angle h + l within e by atan_dd.h. With 1/pi = c + cl within 2^-107 of it, h c is
 * exact in two parts. In units u |z| of that file, over pi, the errors are those of h + l, at most 9.0 and 1.1 where it was
 * taken from pi; 2 for the product l c and the sum with the rest (of parts below 2^-48 |hi|); 0.5 for l cl, left out; 1.1 in
 * the rounding test. Sum below 13.8, and the other errors of h + l, of which 2^-70.4 of it are used, with those of parts of
 * 2^-48 |hi|. err, 4/3 of that of h + l over pi, is 16 u |z| and 1.3 2^-70 |hi|. */
#pragma once

#include "../asin/asin_dd.h"
#include "../sin/sin_tables.h"

#define RM_ASINPI_INV_PI_LO -0x1.6b01ec5417056p-56 /* RN(1/pi - RM_SIN_INV_PI) */

RM_FN void rm_over_pi_dd(vf64 h, vf64 l, vf64 e, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 c = vf64_set1(RM_SIN_INV_PI);
  *hi = vf64_mul(h, c);
  *lo = vf64_mad(l, c, vf64_mad(h, vf64_set1(RM_ASINPI_INV_PI_LO), vf64_mul_err(h, c, *hi)));
  *err = vf64_mul(e, vf64_set1(RM_SIN_INV_PI * 0x1.56p+0)); /* 0x1.56 > 4/3 */
}
