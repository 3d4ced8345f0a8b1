/* A plugin in plain C11 against frl_plugin.h alone: an inline device on host addresses that runs
 * pointwise regions of f32. Every optional slot is empty. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "plugin-api/frl_plugin.h"

#define STR(s) \
  { s, sizeof(s) - 1 }
#define ROWS(a) \
  { a, sizeof(a) / sizeof(a)[0], sizeof(a)[0] }
enum { MOST_INPUTS = 8, MOST_OUTPUTS = 4, MOST_NODES = 16, MOST_VALUES = 64, MOST_RANK = 4 };

FRL_IDENTITY("org.ferrule.c11", "0.1", "any");

/* ---- what it is ---- */
static const uint32_t kMembers[] = {FRL_OP_identity, FRL_OP_neg, FRL_OP_relu,
                                    FRL_OP_add,      FRL_OP_sub, FRL_OP_mul};
static const frl_operand kOperands[] = {{FRL_BIT(FRL_F32), 0, FRL_LAYOUT_DENSE | FRL_LAYOUT_STRIDED,
                                         FRL_BROADCAST_ANY, 1, 0, MOST_RANK, FRL_OPERAND_REPEAT, 0},
                                        {FRL_BIT(FRL_F32), 0, FRL_LAYOUT_DENSE, 0, 1, 0, MOST_RANK,
                                         FRL_OPERAND_RESULT | FRL_OPERAND_REPEAT, 0}};
static const frl_claim kClaims[] = {{.op = FRL_OP_pointwise,
                                     .shapes = FRL_SHAPES_STATIC,
                                     .compute = FRL_COMPUTE_IEEE,
                                     .operands = ROWS(kOperands),
                                     .max_nodes = MOST_NODES,
                                     .max_inputs = MOST_INPUTS,
                                     .max_outputs = MOST_OUTPUTS,
                                     .members = ROWS(kMembers),
                                     .determinism = FRL_SAME_BITS_ANY_THREADS}};
static const frl_space kSpaces[] = {
    {FRL_SPACE_HOST_VISIBLE | FRL_SPACE_DEVICE | FRL_SPACE_UNIFIED | FRL_SPACE_ADDRESS, 64,
     UINT64_C(1) << 32, UINT64_C(1) << 28, UINT64_C(1) << 28}};
static const frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 1000000000}};
static const frl_cost kCost = {.head = {sizeof(frl_cost), FRL_TAG_COST},
                               .dispatch_ps = 50000,
                               .round_trip_ps = 20000,
                               .memory_ps_per_kib = 100000,
                               .to_device_ps_per_kib = 100000,
                               .from_device_ps_per_kib = 100000,
                               .readback_ps_per_kib = 100000,
                               .arithmetic = ROWS(kRates),
                               .basis = FRL_BASIS_ESTIMATED};
static const frl_device_row kDevice = {.name = STR("c11"),
                                       .flags = FRL_DEVICE_INLINE,
                                       .max_queues = 16,
                                       .dlpack_type = 1,
                                       .fingerprint = 1,
                                       .claims = ROWS(kClaims),
                                       .spaces = ROWS(kSpaces),
                                       .cost = &kCost};

/* ---- handles ---- */
typedef struct device {
  frl_device row;
  const frl_host* host;
} device;
typedef struct member {
  uint32_t op, a, b, result; /* value numbers */
} member;
typedef struct kernel {
  frl_kernel head;
  const frl_host* host;
  uint32_t n_args, n_inputs, n_members, rank;
  int64_t extents[MOST_RANK], strides[MOST_INPUTS + MOST_OUTPUTS][MOST_RANK];
  uint32_t values[MOST_INPUTS + MOST_OUTPUTS]; /* of the arguments */
  float known[MOST_VALUES];
  member members[MOST_NODES];
} kernel;
typedef struct buffer {
  frl_buffer head;
  const frl_host* host;
  int owned;
} buffer;
typedef struct queue {
  frl_queue head;
  const frl_host* host;
  _Atomic uint64_t reached, submitted;
  _Atomic int32_t failed; /* the first cause, which is also the only one there can be: cancelled */
} queue;
typedef struct recording {
  frl_recording head;
  const frl_host* host;
  uint64_t bytes;
  uint32_t n_steps, n_args, n_fixed, n_late;
  frl_step* steps;
  frl_arg* args;
  frl_binding* fixed;
} recording;

static int32_t fail(frl_error* e, int32_t code, const char* text) {
  memset(e, 0, sizeof *e);
  e->code = code, e->subject = -1, e->text_n = (uint32_t)strlen(text);
  memcpy(e->text, text, e->text_n);
  return code;
}
static void* take(const frl_host* host, uint64_t bytes) {
  void* p = host->alloc(host->self, bytes, 64);
  if (p) memset(p, 0, bytes);
  return p;
}
static void give(const frl_host* host, void* p, uint64_t bytes) {
  host->release(host->self, p, bytes, 64);
}

/* ---- compile ---- */
static uint32_t list(const frl_region* r, uint32_t i) {
  uint32_t v;
  FRL_ROW(&v, r, lists, i);
  return v;
}
static uint32_t load_value(kernel* k, const frl_region* r, uint32_t arg, uint32_t id) {
  frl_value v;
  FRL_ROW(&v, r, values, id);
  for (uint32_t d = 0; d < v.rank; ++d) {
    frl_dim dim;
    FRL_ROW(&dim, r, dims, v.first_dim + d);
    const uint32_t axis = d + k->rank - v.rank;
    k->strides[arg][axis] = dim.extent == 1 ? 0 : dim.stride;
    if (arg >= k->n_inputs) k->extents[axis] = dim.extent;
  }
  return id;
}
static int32_t load_region(kernel* k, const frl_region* r, frl_error* e) {
  frl_body body;
  frl_value v;
  FRL_ROW(&body, r, bodies, 0);
  if (r->kind != FRL_OP_pointwise) return fail(e, FRL_NOT_CLAIMED, "kind: want pointwise");
  if (r->values.n > MOST_VALUES || body.n_nodes > MOST_NODES || body.n_inputs > MOST_INPUTS ||
      body.n_outputs > MOST_OUTPUTS)
    return fail(e, FRL_NO_ROOM, "region: want at most 64 values and what the claim says");
  FRL_ROW(&v, r, values, list(r, body.first_output));
  k->rank = v.rank, k->n_inputs = body.n_inputs, k->n_args = body.n_inputs + body.n_outputs;
  for (uint32_t i = 0; i < k->n_args; ++i)
    k->values[i] = load_value(
        k, r, i,
        list(r, i < k->n_inputs ? body.first_input + i : body.first_output + i - k->n_inputs));
  for (uint32_t id = 0; id < r->values.n; ++id) {
    FRL_ROW(&v, r, values, id);
    if (v.flags & FRL_VALUE_LITERAL && v.literal_n == sizeof(float))
      memcpy(&k->known[id], (const char*)r + r->text.at + v.literal_at, sizeof(float));
  }
  k->n_members = body.n_nodes;
  for (uint32_t i = 0; i < body.n_nodes; ++i) {
    frl_node n;
    FRL_ROW(&n, r, nodes, body.first_node + i);
    const uint32_t a = list(r, n.first_operand), b = list(r, n.first_operand + n.n_operands - 1);
    k->members[i] = (member){n.op, a, b, n.first_result};
  }
  return FRL_OK;
}
static void FRL_CALL drop_kernel(frl_kernel* p) { give(((kernel*)p)->host, p, sizeof(kernel)); }
static int32_t FRL_CALL compile(frl_device* dev, const frl_region* r, const frl_compile* request,
                                frl_kernel** out, frl_error* e) {
  /* Nothing is ever saved, so no bytes can be right. */
  if (request->restore_only)
    return fail(e, FRL_FOREIGN, "compile: no kernel is saved by this plugin");
  const frl_host* host = ((device*)dev)->host;
  kernel* k = take(host, sizeof *k);
  if (!k) return fail(e, FRL_NO_MEMORY, "kernel: no memory");
  k->head.head = (frl_head){sizeof k->head, FRL_TAG_KERNEL};
  k->host = host;
  const int32_t code = load_region(k, r, e);
  if (code) return drop_kernel(&k->head), code;
  *out = &k->head;
  return FRL_OK;
}

/* ---- run: one element of the result after the other ---- */
static float apply(uint32_t op, float a, float b) {
  switch (op) {
    case FRL_OP_neg:
      return -a;
    case FRL_OP_relu:
      return a > 0 || a != a ? a : 0;
    case FRL_OP_add:
      return a + b;
    case FRL_OP_sub:
      return a - b;
    case FRL_OP_mul:
      return a * b;
    default:
      return a;
  }
}
static void run(const kernel* k, char* const* args) {
  int64_t n = 1;
  for (uint32_t d = 0; d < k->rank; ++d) n *= k->extents[d];
  for (int64_t i = 0; i < n; ++i) {
    float value[MOST_VALUES];
    int64_t at[MOST_INPUTS + MOST_OUTPUTS] = {0}, rest = i;
    for (uint32_t d = k->rank; d-- > 0; rest /= k->extents[d])
      for (uint32_t a = 0; a < k->n_args; ++a) at[a] += rest % k->extents[d] * k->strides[a][d];
    memcpy(value, k->known, sizeof value);
    for (uint32_t a = 0; a < k->n_inputs; ++a)
      memcpy(&value[k->values[a]], args[a] + at[a] * 4, sizeof(float));
    for (const member* m = k->members; m < k->members + k->n_members; ++m)
      value[m->result] = apply(m->op, value[m->a], value[m->b]);
    for (uint32_t a = k->n_inputs; a < k->n_args; ++a)
      memcpy(args[a] + at[a] * 4, &value[k->values[a]], sizeof(float));
  }
}

/* ---- devices, buffers, queues ---- */
static int32_t FRL_CALL devices(const frl_host* host, frl_rows* rows, frl_error* e) {
  (void)host, (void)e;
  *rows = (frl_rows){&kDevice, 1, sizeof kDevice};
  return FRL_OK;
}
static int32_t FRL_CALL open_device(const frl_host* host, const frl_device_row* row,
                                    frl_device** out, frl_error* e) {
  device* d = take(host, sizeof *d);
  if (!d) return fail(e, FRL_NO_MEMORY, "device: no memory");
  d->row = (frl_device){{sizeof d->row, FRL_TAG_DEVICE}, row};
  d->host = host;
  *out = &d->row;
  return FRL_OK;
}
static void FRL_CALL close_device(frl_device* p) { give(((device*)p)->host, p, sizeof(device)); }
static void FRL_CALL drop_buffer(frl_buffer* p) {
  buffer* b = (buffer*)p;
  if (b->owned) give(b->host, p->host, p->bytes + 1);
  give(b->host, b, sizeof *b);
}
static int32_t FRL_CALL make_buffer(frl_device* dev, const frl_space_request* q, frl_buffer** out,
                                    frl_error* e) {
  if (q->space != 0) return fail(e, FRL_INVALID, "space: want 0, the only one");
  if (q->bytes > kSpaces[0].max_alloc_bytes) {
    fail(e, FRL_NO_MEMORY, "buffer: want at most 256 MiB");
    return e->subject = 0, FRL_NO_MEMORY;
  }
  const frl_host* host = ((device*)dev)->host;
  buffer* b = take(host, sizeof *b);
  if (!b) return fail(e, FRL_NO_MEMORY, "buffer: no memory");
  void* p = q->import_address ? (void*)(uintptr_t)q->import_address : take(host, q->bytes + 1);
  b->head = (frl_buffer){{sizeof b->head, FRL_TAG_BUFFER}, p, (uint64_t)(uintptr_t)p, q->bytes};
  b->host = host, b->owned = p && !q->import_address;
  if (!p) return drop_buffer(&b->head), fail(e, FRL_NO_MEMORY, "buffer: no memory");
  *out = &b->head;
  return FRL_OK;
}
static int32_t FRL_CALL open_queue(frl_device* dev, frl_queue** out, frl_error* e) {
  queue* q = take(((device*)dev)->host, sizeof *q);
  if (!q) return fail(e, FRL_NO_MEMORY, "queue: no memory");
  q->head.head = (frl_head){sizeof q->head, FRL_TAG_QUEUE};
  q->host = ((device*)dev)->host;
  *out = &q->head;
  return FRL_OK;
}
static void FRL_CALL close_queue(frl_queue* p) { give(((queue*)p)->host, p, sizeof(queue)); }

/* ---- record, submit, wait ---- */
static void FRL_CALL drop_recording(frl_recording* p) {
  give(((recording*)p)->host, p, ((recording*)p)->bytes);
}
static void copy_rows(void* target, uint32_t bytes, const frl_rows* rows) {
  for (uint32_t i = 0; i < rows->n; ++i)
    frl_row((char*)target + (uint64_t)i * bytes, bytes, rows->p, rows->stride, i);
}
static int32_t FRL_CALL record(frl_queue* q, const frl_segment* s, frl_recording** out,
                               frl_error* e) {
  const uint64_t bytes = sizeof(recording) + s->steps.n * sizeof(frl_step) +
                         s->args.n * sizeof(frl_arg) + s->fixed.n * sizeof(frl_binding);
  recording* r = take(((queue*)q)->host, bytes);
  if (!r) return fail(e, FRL_NO_MEMORY, "recording: no memory");
  r->head.head = (frl_head){sizeof r->head, FRL_TAG_RECORDING};
  r->host = ((queue*)q)->host, r->bytes = bytes, r->n_steps = s->steps.n, r->n_late = s->n_late;
  r->steps = (frl_step*)(r + 1);
  r->args = (frl_arg*)(r->steps + s->steps.n);
  r->fixed = (frl_binding*)(r->args + s->args.n);
  copy_rows(r->steps, sizeof(frl_step), &s->steps);
  copy_rows(r->args, sizeof(frl_arg), &s->args);
  copy_rows(r->fixed, sizeof(frl_binding), &s->fixed);
  *out = &r->head;
  return FRL_OK;
}
static char* place(const frl_binding* b) {
  return b->buffer ? (char*)b->buffer->host + b->offset : (char*)(uintptr_t)b->offset;
}
static char* argument(const recording* r, const frl_submit* s, const frl_arg* a) {
  frl_binding b;
  if (a->binding >= r->n_late) return place(&r->fixed[a->binding - r->n_late]) + a->offset;
  frl_row(&b, sizeof b, s->late.p, s->late.stride, a->binding);
  return place(&b) + a->offset;
}
static uint64_t now_ns(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
/* A queue fails by being cancelled, and then says so for ever. */
static int32_t cancelled(queue* q, frl_error* e, uint32_t step) {
  atomic_store(&q->failed, FRL_CANCELLED);
  fail(e, FRL_CANCELLED, "submit: cancelled");
  return e->subject = (int32_t)step, FRL_CANCELLED;
}
static int32_t check_submit(queue* q, const frl_submit* s, frl_error* e) {
  if (atomic_load(&q->failed)) return fail(e, FRL_CANCELLED, "queue: cancelled");
  if (s->signal <= atomic_load(&q->submitted))
    return fail(e, FRL_INVALID, "signal: want a greater one than the last");
  for (uint32_t i = 0; i < s->waits.n; ++i) {
    frl_point w;
    frl_row(&w, sizeof w, s->waits.p, s->waits.stride, i);
    queue* other = (queue*)(uintptr_t)w.queue;
    if (atomic_load(&other->submitted) < w.value)
      return fail(e, FRL_INVALID, "wait: want a value that was submitted");
    /* The other queue's submit may still be at work on its own thread. */
    while (atomic_load(&other->reached) < w.value)
      if (atomic_load(&other->failed))
        return fail(e, FRL_CANCELLED, "wait: the queue is cancelled");
  }
  return FRL_OK;
}
static void make_copies(const frl_submit* s) {
  for (uint32_t i = 0; i < s->copies.n; ++i) {
    frl_copy c;
    frl_row(&c, sizeof c, s->copies.p, s->copies.stride, i);
    for (uint64_t j = 0; j < c.rows; ++j)
      memcpy(place(&c.target) + (int64_t)j * c.target_pitch_bytes,
             place(&c.source) + (int64_t)j * c.source_pitch_bytes, c.row_bytes);
  }
}
static int32_t FRL_CALL submit(frl_queue* qp, const frl_submit* s, frl_error* e) {
  queue* q = (queue*)qp;
  const recording* r = (const recording*)s->recording;
  const int32_t code = check_submit(q, s, e);
  if (code) return code;
  atomic_store(&q->submitted, s->signal);
  make_copies(s);
  for (uint32_t i = 0; r && i < r->n_steps; ++i) {
    char* args[MOST_INPUTS + MOST_OUTPUTS];
    if (s->cancel && *(const volatile uint32_t*)s->cancel) return cancelled(q, e, i);
    const uint64_t start = s->step_ns ? now_ns() : 0;
    for (uint32_t a = 0; a < r->steps[i].n_args; ++a)
      args[a] = argument(r, s, &r->args[r->steps[i].first_arg + a]);
    run((const kernel*)r->steps[i].kernel, args);
    if (s->step_ns) s->step_ns[i] = now_ns() - start;
  }
  atomic_store(&q->reached, s->signal);
  return FRL_OK;
}
static int32_t FRL_CALL wait_for(const frl_queue* p, uint64_t value, uint64_t ns, frl_error* e) {
  const queue* q = (const queue*)p;
  const uint64_t start = ns ? now_ns() : 0;
  for (;;) {
    const int32_t failed = atomic_load(&q->failed);
    if (atomic_load(&q->reached) >= value) return FRL_OK;
    if (failed) return fail(e, failed, "queue: cancelled");
    if (ns == 0 || now_ns() - start >= ns) return fail(e, FRL_TIMED_OUT, "wait: not reached");
  }
}

static const frl_plugin kPlugin = {.head = {sizeof(frl_plugin), FRL_TAG_PLUGIN},
                                   .flags = FRL_PLUGIN_CAN_UNLOAD,
                                   .id = STR("org.ferrule.c11"),
                                   .version = STR("0.1"),
                                   .devices = devices,
                                   .open = open_device,
                                   .close = close_device,
                                   .compile = compile,
                                   .drop_kernel = drop_kernel,
                                   .make_buffer = make_buffer,
                                   .drop_buffer = drop_buffer,
                                   .open_queue = open_queue,
                                   .close_queue = close_queue,
                                   .record = record,
                                   .drop_recording = drop_recording,
                                   .submit = submit,
                                   .wait = wait_for};

FRL_ENTRY(const frl_offer* offer, frl_error* error) {
  if (offer->min_minor == 0) return &kPlugin;
  fail(error, FRL_INCOMPATIBLE, "minor: want 0 to 0");
  return NULL;
}
