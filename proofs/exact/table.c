/* The choice of the one build that a proof compiles, and what its rounding tests were given (watch.h). */
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/config.h"
#include "../../include/repmath/core.h"
#include "../../src/runtime/isa.h"
#include "watch.h"

int rm_isa_index(void) { return 0; }
const char *rm_isa(void) { return RM_ISA_NAME; }
rm_status rm_isa_status(void) { return RM_OK; }

enum { ROOM = 1 << 20, SITES = 1 << 12 };
static struct exact_record records[ROOM];
static int64_t made;
static struct {
  const char *file;
  int line;
} sites[SITES];
static int32_t some = 1; /* 0 is none */
int exact_open, exact_shift, exact_long;
const void *exact_result[16];
const int *exact_exponent;
int64_t exact_place;
const void *exact_at;
void exact_watch_of(int32_t *site, const char *file, int line, int kind, int decided, double hi, double lo, double err,
                    double more) {
  if (!*site) {
    if (some == SITES) abort();
    sites[some].file = file, sites[some].line = line, *site = some++;
  }
  if (made < ROOM) records[made] = (struct exact_record){kind, decided, *site, exact_shift, hi, lo, err, more, exact_at};
  made++;
}
/* The file of a call that has made records, and its line; NULL: there are no more. */
const char *exact_site(int32_t site, int *line) {
  *line = site < some ? sites[site].line : 0;
  return site < some ? sites[site].file : NULL;
}
/* The records since the last call, and how many there are: more than `room` were lost. */
int64_t exact_take(struct exact_record *to, int64_t room) {
  const int64_t n = made;
  memcpy(to, records, (size_t)(n < room ? n : room) * sizeof *to);
  made = 0;
  return n;
}
