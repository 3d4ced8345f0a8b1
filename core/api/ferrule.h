/* libferrule: run ONNX models on whatever backends lie in the plugins folders. C11 and C++.
 *
 *   ferrule_open -> ferrule_load -> ferrule_run -> ferrule_result_tensor
 *
 * Every function that can fail returns a code (0 is fine) and fills the caller's ferrule_error.
 * Handles are closed by their own close function, results before sessions, sessions before
 * runtimes; NULL may be closed. Nothing prints, exits or throws. Functions on one handle may be
 * called from any number of threads at once, but for streams (one thread at a time each) and the
 * close functions.
 */
#ifndef FERRULE_H
#define FERRULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(_WIN32)
#define FERRULE_API __declspec(dllexport)
#else
#define FERRULE_API __attribute__((visibility("default")))
#endif

#define FERRULE_MAX_RANK 16

/* Element types; the numbers are those of the plugin ABI. */
enum {
  FERRULE_F64 = 1,
  FERRULE_F32,
  FERRULE_F16,
  FERRULE_BF16,
  FERRULE_I8,
  FERRULE_I16,
  FERRULE_I32,
  FERRULE_I64,
  FERRULE_U8,
  FERRULE_U16,
  FERRULE_U32,
  FERRULE_U64,
  FERRULE_BOOL
};

/* Caller-owned. `text` is "what: want X, got Y", NUL-terminated, cut where it does not fit. */
typedef struct ferrule_error {
  int32_t code;
  char text[1020];
} ferrule_error;

/* Elements that lie dense and row-major in host memory. As an argument the memory is the caller's
 * and is read until the call returns; as a result it belongs to the result. */
typedef struct ferrule_tensor {
  const char* name;
  const void* data;
  uint64_t size_bytes;
  int64_t extents[FERRULE_MAX_RANK];
  uint32_t rank;
  uint32_t type;
} ferrule_tensor;

/* What a model wants or gives. An extent of -1 is open. */
typedef struct ferrule_value {
  const char* name; /* lives as long as the session */
  int64_t extents[FERRULE_MAX_RANK];
  uint32_t rank;
  uint32_t type; /* 0: not a tensor of a supported type */
  uint32_t has_shape;
  uint32_t has_default; /* an input that may be left out */
} ferrule_value;

/* One file that was looked at when plugins were loaded. Texts live as long as the runtime. */
typedef struct ferrule_verdict {
  const char* path;
  const char* id;
  const char* stage; /* discover inspect policy probe load check activate */
  const char* text;  /* why it was not loaded; empty if it was */
  int32_t code;
} ferrule_verdict;

typedef struct ferrule_runtime ferrule_runtime;
typedef struct ferrule_session ferrule_session;
typedef struct ferrule_stream ferrule_stream;
typedef struct ferrule_result ferrule_result;

/* level: 0 error, 1 warning, 2 note, 3 trace. Called from any thread, several at once. */
typedef void (*ferrule_log)(void* user, int32_t level, const char* from, const char* text);

typedef struct ferrule_options {
  uint32_t size; /* sizeof(ferrule_options) */
  uint32_t n_plugin_folders;
  const char* const* plugin_folders; /* absolute; searched after those of the config and before the
                                        folder that belongs to this library */
  const char* config_toml;           /* a TOML document on top of the standard files; may be NULL */
  uint32_t ignore_files;             /* 1: no system, user or project file is read */
  uint32_t pad;
  ferrule_log log; /* may be NULL */
  void* log_user;
} ferrule_options;

FERRULE_API const char* ferrule_version(void);

/* Loads plugins. A bad one is a verdict, not an error. options may be NULL. */
FERRULE_API int32_t ferrule_open(const ferrule_options* options, ferrule_runtime** runtime,
                                 ferrule_error* error);
FERRULE_API void ferrule_close(ferrule_runtime* runtime);
FERRULE_API uint32_t ferrule_n_verdicts(const ferrule_runtime* runtime);
FERRULE_API int32_t ferrule_get_verdict(const ferrule_runtime* runtime, uint32_t number,
                                        ferrule_verdict* verdict);

/* A model from a file, or from bytes, which are copied. */
FERRULE_API int32_t ferrule_load(ferrule_runtime* runtime, const char* path,
                                 ferrule_session** session, ferrule_error* error);
FERRULE_API int32_t ferrule_load_bytes(ferrule_runtime* runtime, const void* bytes,
                                       uint64_t size_bytes, ferrule_session** session,
                                       ferrule_error* error);
FERRULE_API void ferrule_session_close(ferrule_session* session);
FERRULE_API uint32_t ferrule_n_inputs(const ferrule_session* session);
FERRULE_API uint32_t ferrule_n_outputs(const ferrule_session* session);
FERRULE_API int32_t ferrule_input(const ferrule_session* session, uint32_t number,
                                  ferrule_value* value);
FERRULE_API int32_t ferrule_output(const ferrule_session* session, uint32_t number,
                                   ferrule_value* value);

/* Compiles for these shapes where that has not been done yet, runs, and gives all outputs.
 *   errors  invalid argument naming the input; no device; whatever a plugin reports */
FERRULE_API int32_t ferrule_run(ferrule_session* session, const ferrule_tensor* inputs,
                                uint32_t n_inputs, ferrule_result** result, ferrule_error* error);
FERRULE_API uint32_t ferrule_result_n(const ferrule_result* result);
FERRULE_API int32_t ferrule_result_tensor(const ferrule_result* result, uint32_t number,
                                          ferrule_tensor* tensor);
FERRULE_API void ferrule_result_close(ferrule_result* result);

/* A stream keeps inputs that the model renews itself (caches, recurrent state) from run to run:
 * input states[2 * i] takes the value of output states[2 * i + 1]. Zero at first. */
FERRULE_API int32_t ferrule_stream_open(ferrule_session* session, const char* const* states,
                                        uint32_t n_states, ferrule_stream** stream,
                                        ferrule_error* error);
FERRULE_API int32_t ferrule_stream_run(ferrule_stream* stream, const ferrule_tensor* inputs,
                                       uint32_t n_inputs, ferrule_result** result,
                                       ferrule_error* error);
FERRULE_API void ferrule_stream_close(ferrule_stream* stream);

#ifdef __cplusplus
}
#endif
#endif
