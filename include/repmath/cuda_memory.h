/* repmath: memory and streams of a GPU, for callers that have no CUDA runtime of their own, such as the Python package (see
 * cuda.h). All functions use the device that rm_cuda_set_device has set for the calling thread. */
#ifndef REPMATH_CUDA_MEMORY_H
#define REPMATH_CUDA_MEMORY_H

#include "cuda_elementwise.h" /* rm_cuda_stream */

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_get_device(int *device);
RM_API rm_status rm_cuda_set_device(int device);

/* Allocate and release memory in the order of a stream: work that is enqueued in between may use it. */
RM_API rm_status rm_cuda_allocate(size_t bytes, void **out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_release(void *memory, rm_cuda_stream stream);

/* Workspaces. A launcher takes memory for the time of its work from a pool of the library's, in the order of the stream. A
 * caller with an allocator of its own can give it that memory, for a call or for several on one stream:
 *
 *     rm_cuda_measure_workspace();
 *     status = rm_cuda_softmax(...);    checks its arguments, launches nothing, and counts what it would take
 *     rm_cuda_end_workspace(&bytes);
 *     rm_cuda_use_workspace(bytes, memory);
 *     status = rm_cuda_softmax(...);
 *     rm_cuda_end_workspace(NULL);
 *
 * Each function has effect on the calling thread alone, until the next of them. The bytes are those of the one call that
 * takes most, and depend on its arguments, not on the numbers in arrays. The address of the memory is a multiple of 256, and
 * it is in use until the stream has completed the work of the calls. A call that needs more returns RM_ERR_DEVICE
 * (rm_cuda_message says so). */
RM_API rm_status rm_cuda_measure_workspace(void);
RM_API rm_status rm_cuda_use_workspace(size_t bytes, void *memory);
RM_API rm_status rm_cuda_end_workspace(size_t *bytes); /* bytes may be NULL */

/* Copies elements of 1, 2, 4, 8 or 16 bytes from one array to another on the device. Strides are in bytes, those of x of any
 * sign. out must overlap neither x nor itself. The shape and strides are read on the host, before the function returns. */
RM_API rm_status rm_cuda_copy(int size, int axes, const int64_t *shape, const void *x, const ptrdiff_t *strides_x, void *out,
                              const ptrdiff_t *strides_out, rm_cuda_stream stream);

/* Copies to and from main memory. The first returns when the copy is complete, the second when host has been read: up to 2048
 * bytes it waits for nothing, and a graph can capture it. */
RM_API rm_status rm_cuda_read(size_t bytes, const void *memory, void *host, rm_cuda_stream stream);
RM_API rm_status rm_cuda_write(size_t bytes, const void *host, void *memory, rm_cuda_stream stream);

/* Returns when the stream has completed all its work. */
RM_API rm_status rm_cuda_wait(rm_cuda_stream stream);
/* Makes work that is enqueued on `next` from now on wait for all work that `stream` has now. */
RM_API rm_status rm_cuda_wait_for(rm_cuda_stream next, rm_cuda_stream stream);

/* What CUDA said when a call of this thread last returned RM_ERR_DEVICE, as "cudaErrorMemoryAllocation: out of memory"; "" if
 * none has. The text is the thread's own, up to its next such call. */
RM_API const char *rm_cuda_message(void);

/* *seen = 1 if an index or a target out of range has made results NaN in a call on this device, in work that the stream has
 * completed, since this was last asked; else 0. Waits for the stream. Calls that a graph captured before any other call with
 * indices on the device are not seen. */
RM_API rm_status rm_cuda_index_errors(int *seen, rm_cuda_stream stream);

/* From now on this thread's calls add to *counter, in device memory, aligned to 8, how many results their first kernels leave
 * to the last one: elements of formulas, steps of optimisers, losses and matrix products, and rows of operators over rows, of
 * which those of gradients, and long ones, of binary64 are all left. NULL ends it. Elementwise functions, sums and random
 * numbers do not count. */
RM_API rm_status rm_cuda_count_undecided(uint64_t *counter);

#ifdef __cplusplus
}
#endif
#endif
