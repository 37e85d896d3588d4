/* RM_BIG(type, name, count) declares an array that is too large for the stack of a device's thread. The driver sets aside a
 * stack of the deepest kernel for every thread that the whole device can hold; so there such arrays lie in memory that the
 * kernel was given, a second stack for each of its few threads. On the host it is an ordinary array. */
#pragma once

#include "../config.h"

#if !RM_DEVICE

#define RM_BIG(type, name, count) type name[count]

#else

#define RM_BIG(type, name, count) rm_big<type, (count)> name

enum { RM_BIG_THREADS = 32 }; /* of a block that has such arrays */

/* The top of this thread's second stack, and its end. */
typedef struct {
  char *top, *end;
} rm_big_stack;
#ifndef RM_CFG_BIG_SHARED
#define RM_CFG_BIG_SHARED __shared__
#endif
RM_MEMBER rm_big_stack *rm_big_of_thread(void) { /* one for all files of a program, as the members below are */
  RM_CFG_BIG_SHARED rm_big_stack stack[RM_BIG_THREADS];
  return stack + threadIdx.x;
}

/* Before anything that has such arrays. */
RM_FN void rm_big_begin(char *memory, int64_t bytes) {
  rm_big_stack *s = rm_big_of_thread();
  s->top = memory, s->end = memory + bytes;
}
/* Memory until it is given back, the last first. */
RM_COLD char *rm_big_take(int64_t bytes) {
  rm_big_stack *s = rm_big_of_thread();
  char *taken = s->top;
  s->top += bytes;
#ifdef RM_CFG_BIG_CHECK /* the emulation's: whether the stack was made large enough */
  RM_CFG_BIG_CHECK(s->top <= s->end);
#endif
  return taken;
}
RM_FN void rm_big_give(char *taken) { rm_big_of_thread()->top = taken; }

template <class T, int count> struct rm_big {
  T *data;
  RM_MEMBER rm_big() : data(reinterpret_cast<T *>(rm_big_take((sizeof(T) * count + 15) / 16 * 16))) {}
  RM_MEMBER ~rm_big() { rm_big_give(reinterpret_cast<char *>(data)); }
  rm_big(const rm_big &) = delete;
  rm_big &operator=(const rm_big &) = delete;
  RM_MEMBER operator T *() const { return data; }
  RM_MEMBER T *operator->() const { return data; }
};

#endif
