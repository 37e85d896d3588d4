/* Calls rm_logarithms_cancel for sums read from standard input: least and the number of rows; of each row the two parts of
 * its factor and the number of its terms; of each term its two parts and its count. Prints 1 or 0 for each sum. */
#include "../../src/nn/cross_entropy/logarithms.h"

#include <stdio.h>
#include <stdlib.h>

static double number(void) {
  double x = 0.0;
  if (scanf("%lf", &x) != 1) exit(0);
  return x;
}

int main(void) {
  for (;;) {
    rm_logarithms s = {NULL, NULL, 0, 0, 0, 0};
    rm_row_state state = {0};
    rm_ball low;
    const double least = number();
    const int rows = (int)number();
    for (int k = 0; k < rows; k++) {
      const double high = number(), rest = number();
      const int terms = (int)number();
      if (!rm_logarithms_grow(&s, terms, &state)) return 1;
      rm_logarithm *const row = &s.row[s.rows++];
      rm_ball_set(&row->factor, high, RM_BALL_LIMBS);
      rm_ball_set(&low, rest, RM_BALL_LIMBS);
      rm_ball_add(&row->factor, &row->factor, &low);
      row->first = s.terms;
      for (int j = 0; j < terms; j++) {
        rm_logarithm_term *const term = &s.term[s.terms++];
        term->high = number(), term->low = number(), term->count = (int64_t)number();
      }
      row->end = s.terms;
    }
    printf("%d\n", rm_logarithms_cancel(&s, least, &state));
    fflush(stdout);
    if (state.undecided) return 1;
    rm_logarithms_free(&s);
  }
}
