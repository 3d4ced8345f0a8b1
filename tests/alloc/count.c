/* Preloaded, counts every allocation of the process (glibc). */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t n, size_t bytes);
extern void* __libc_realloc(void* p, size_t bytes);
extern void* __libc_memalign(size_t align, size_t bytes);

__attribute__((visibility("default"))) _Atomic long ferrule_allocations;

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  ++ferrule_allocations;
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t n, size_t bytes) {
  ++ferrule_allocations;
  return __libc_calloc(n, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* p, size_t bytes) {
  ++ferrule_allocations;
  return __libc_realloc(p, bytes);
}
__attribute__((visibility("default"))) void* memalign(size_t align, size_t bytes) {
  ++ferrule_allocations;
  return __libc_memalign(align, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t align, size_t bytes) {
  ++ferrule_allocations;
  return __libc_memalign(align, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** p, size_t align, size_t bytes) {
  ++ferrule_allocations;
  *p = __libc_memalign(align, bytes);
  return *p ? 0 : ENOMEM;
}
