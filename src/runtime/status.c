/* Reads a status: its code, the argument at fault, and a message. */
#include "../../include/repmath/core.h"

int rm_status_code(rm_status status) { return status & 0xff; }
int rm_status_argument(rm_status status) { return (status >> 8) & 0xff; }
const char *rm_version(void) { return RM_VERSION; }

const char *rm_status_message(rm_status status) {
  switch (rm_status_code(status)) {
    case RM_OK: return "success";
    case RM_ERR_NULL: return "a pointer argument is NULL while there are elements to read or write";
    case RM_ERR_SIZE: return "a size is negative or out of range";
    case RM_ERR_LD: return "a leading dimension is smaller than the matrix needs";
    case RM_ERR_ENUM: return "a layout, transposition or other choice is not one of its values";
    case RM_ERR_ISA: return "REPMATH_ISA names a build that is unknown or that this CPU cannot run";
    case RM_ERR_MEMORY: return "no memory for the workspace";
    case RM_ERR_OVERLAP: return "an output overlaps an input or itself";
    case RM_ERR_STATE: return "the function was called in the wrong state";
    case RM_ERR_DEVICE:
      return "a device refused the work: none is there, it has no memory left, or an earlier call failed on it";
    case RM_ERR_RANGE: return "a total is beyond what an accumulator holds, or an argument beyond its range";
    case RM_ERR_DATA: return "the bytes are not what this version of the function reads";
    case RM_ERR_INDEX: return "an index is out of range";
    case RM_ERR_UNDECIDED:
      return "the most precise evaluation left a result undecided (docs/spec.md#results-that-may-stay-undecided)";
    default: return "unknown status";
  }
}
