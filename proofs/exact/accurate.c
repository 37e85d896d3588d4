/* The accurate phases that the files of src call by name, which the library's build generates. */
#include "../../crlibm/sigmoid_backward/sigmoid_backward_accurate.h"
#include "../../crlibm/softplus_backward/softplus_backward_accurate.h"
#include "../../src/elementwise/accurate.h"

RM_ACCURATE_FUNCTION(sigmoid_backward, 2)
RM_ACCURATE_FUNCTION(softplus_backward, 2)
