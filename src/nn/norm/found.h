/* The problem of statistics that a device returns (found_row.h). */
#pragma once

#include "args.h"

/* Arrays of an element a set, one after the other, or NULL: mean and root of the format of f, running mean and variance. */
typedef struct {
  int format;
  rm_norm_problem f;
  char *mean, *root;
  double momentum;
  int running_format;
  char *running[2];
} rm_norm_found;
