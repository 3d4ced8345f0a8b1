/* The smallest host: loads one plugin, runs relu(x + y) as one pointwise region, checks the
 * numbers. A frozen copy of it, built against its frozen header, has to run today's plugins. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin-api/frl_plugin.h"

enum { kElements = 8 };

static void* FRL_CALL host_alloc(void* self, uint64_t bytes, uint64_t align_bytes) {
  (void)self;
  return aligned_alloc(align_bytes, (bytes + align_bytes - 1) / align_bytes * align_bytes);
}
static void FRL_CALL host_release(void* self, void* p, uint64_t bytes, uint64_t align_bytes) {
  (void)self, (void)bytes, (void)align_bytes;
  free(p);
}
static void FRL_CALL host_log(void* self, uint32_t level, const char* text, uint64_t text_n) {
  (void)self;
  fprintf(stderr, "%u: %.*s\n", level, (int)text_n, text);
}
static int32_t FRL_CALL host_team(void* self, uint32_t wanted, uint64_t scratch_bytes,
                                  void(FRL_CALL* fn)(void* arg, const frl_worker* worker),
                                  void* arg) {
  void* scratch = aligned_alloc(64, (scratch_bytes + 127) / 64 * 64);
  frl_worker worker = {{sizeof worker, FRL_TAG_WORKER}, 0, 1, scratch, scratch_bytes};
  (void)self, (void)wanted;
  if (!scratch) return FRL_NO_MEMORY;
  fn(arg, &worker);
  free(scratch);
  return FRL_OK;
}
static void FRL_CALL host_barrier(void* self, const frl_worker* worker) {
  (void)self, (void)worker;
}

/* relu(x + y): values 0 and 1 are inputs, 2 the sum, 3 the result. */
typedef struct block {
  frl_region region;
  frl_body body;
  frl_node nodes[2];
  frl_value values[4];
  frl_dim dims[4];
  uint32_t lists[6];
} block;

static void fill(block* b) {
  static const uint32_t lists[6] = {0, 1, 2, 0, 1, 3}; /* operands of both nodes, inputs, output */
  frl_region* r = &b->region;
  int i;
  memset(b, 0, sizeof *b);
  r->head.size = sizeof *r, r->head.tag = FRL_TAG_REGION;
  r->bytes = sizeof *b, r->kind = FRL_OP_pointwise, r->compute = FRL_COMPUTE_IEEE;
#define TABLE(name, rows)                                                             \
  r->name.at = offsetof(block, rows), r->name.n = sizeof b->rows / sizeof b->rows[0], \
  r->name.stride = sizeof b->rows[0]
  r->bodies.at = offsetof(block, body), r->bodies.n = 1, r->bodies.stride = sizeof b->body;
  TABLE(nodes, nodes);
  TABLE(values, values);
  TABLE(dims, dims);
  TABLE(lists, lists);
#undef TABLE
  memcpy(b->lists, lists, sizeof lists);
  b->body.n_nodes = 2, b->body.first_input = 3, b->body.n_inputs = 2, b->body.first_output = 5,
  b->body.n_outputs = 1;
  b->nodes[0].op = FRL_OP_add, b->nodes[0].n_operands = 2, b->nodes[0].first_result = 2,
  b->nodes[0].n_results = 1;
  b->nodes[1].op = FRL_OP_relu, b->nodes[1].first_operand = 2, b->nodes[1].n_operands = 1,
  b->nodes[1].first_result = 3, b->nodes[1].n_results = 1;
  for (i = 0; i < 4; ++i) {
    b->values[i].type = FRL_F32, b->values[i].rank = 1, b->values[i].first_dim = (uint32_t)i,
    b->values[i].align_bytes = 64;
    b->dims[i].extent = kElements, b->dims[i].stride = 1;
  }
}

static int fail(const char* what, const frl_error* error) {
  printf("%s: %d %s\n", what, (int)error->code, error->text);
  return 1;
}

/* One kernel, recorded and submitted once on plain addresses. */
static int run(const frl_plugin* api, frl_device* device, frl_queue* queue, const float* x,
               const float* y, float* z) {
  static block b;
  frl_error error = {0};
  frl_kernel* kernel = NULL;
  frl_recording* recording = NULL;
  frl_compile request = {{sizeof request, FRL_TAG_COMPILE}, NULL, 0, NULL, 0, 0};
  frl_binding late[4] = {
      {NULL, (uintptr_t)x}, {NULL, (uintptr_t)y}, {NULL, (uintptr_t)z}, {NULL, 0}};
  frl_arg args[4] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  frl_step step = {NULL, 0, 3, 0, 0, 0, 0};
  frl_segment segment = {{sizeof segment, FRL_TAG_SEGMENT},
                         {&step, 1, sizeof step},
                         {NULL, 0, sizeof(frl_arg)},
                         {NULL, 0, 4},
                         {NULL, 0, sizeof(frl_binding)},
                         0,
                         0};
  frl_submit submit = {{sizeof submit, FRL_TAG_SUBMIT},
                       NULL,
                       {NULL, 0, sizeof(frl_binding)},
                       NULL,
                       {NULL, 0, sizeof(frl_copy)},
                       {NULL, 0, sizeof(frl_point)},
                       1,
                       NULL,
                       NULL};
  void* scratch;
  fill(&b);
  if (api->compile(device, &b.region, &request, &kernel, &error)) return fail("compile", &error);
  scratch = aligned_alloc(64, (kernel->scratch_bytes + 127) / 64 * 64);
  late[3].offset = (uintptr_t)scratch;
  step.kernel = kernel, step.n_args = kernel->scratch_bytes ? 4 : 3;
  segment.args.p = args, segment.args.n = step.n_args, segment.n_late = step.n_args;
  submit.late.p = late, submit.late.n = step.n_args;
  if (api->record(queue, &segment, &recording, &error)) return fail("record", &error);
  submit.recording = recording;
  if (api->submit(queue, &submit, &error)) return fail("submit", &error);
  if (api->wait(queue, 1, UINT64_MAX, &error)) return fail("wait", &error);
  api->drop_recording(recording);
  api->drop_kernel(kernel);
  free(scratch);
  return 0;
}

static int session(const frl_plugin* api, const frl_host* host) {
  static _Alignas(64) float x[kElements], y[kElements], z[kElements];
  frl_error error = {0};
  frl_rows rows = {0};
  frl_device* device = NULL;
  frl_queue* queue = NULL;
  int i, failed;
  if (api->devices(host, &rows, &error)) return fail("devices", &error);
  if (rows.n == 0) return printf("devices: none\n"), 1;
  if (api->open(host, (const frl_device_row*)rows.p, &device, &error)) return fail("open", &error);
  if (api->open_queue(device, &queue, &error)) return fail("open_queue", &error);
  for (i = 0; i < kElements; ++i) x[i] = (float)(i - 4), y[i] = 0.5f, z[i] = -1;
  failed = run(api, device, queue, x, y, z);
  for (i = 0; !failed && i < kElements; ++i)
    if (z[i] != (x[i] + y[i] > 0 ? x[i] + y[i] : 0))
      failed = 1, printf("z[%d]: got %g\n", i, (double)z[i]);
  api->close_queue(queue);
  api->close(device);
  if (api->quiesce && api->quiesce(host, UINT64_C(1000000000), &error))
    return fail("quiesce", &error);
  return failed;
}

int main(int argc, char** argv) {
  frl_error error = {0};
  frl_offer offer = {{sizeof offer, FRL_TAG_OFFER}, 0, FRL_MINOR, 0};
  frl_host host = {0};
  frl_entry_fn entry;
  const frl_plugin* api;
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return printf("usage: %s PLUGIN: %s\n", argv[0], argc == 2 ? dlerror() : "one argument"), 2;
  *(void**)&entry = dlsym(library, "frl_plugin_v1");
  if (!entry) return printf("no entry\n"), 1;
  api = entry(&offer, &error);
  if (!api) return fail("entry", &error);
  host.head.size = sizeof host, host.head.tag = FRL_TAG_HOST, host.max_workers = 1;
  host.alloc = host_alloc, host.release = host_release, host.log = host_log, host.team = host_team,
  host.barrier = host_barrier;
  return session(api, &host);
}
