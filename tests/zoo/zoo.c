/* Plugins that each break one rule. CMakeLists.txt compiles this file once for each member, with
 * -DZOO_<member>=1; what no line below changes is a whole plugin with one device that claims relu.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin-api/frl_plugin.h"

#define STR(s) \
  { s, sizeof(s) - 1 }
#define ROWS(a) \
  { a, sizeof(a) / sizeof(a)[0], sizeof(a)[0] }

#define MAYBE __attribute__((unused)) /* some members leave it out */

/* ---- identity ---- */

#if ZOO_other_id
#define ID "org.ferrule.zoo.other"
#elif ZOO_cpu_id
#define ID "org.ferrule.cpu"
#elif ZOO_odd_id
#define ID "zoo\x01"
#else
#define ID "org.ferrule.zoo"
#endif
#if ZOO_isa
#define ISA "x86-64-v9"
#else
#define ISA "any"
#endif

#if ZOO_major
#define VERSIONS 2, 0, 0, FRL_SANITIZER
#elif ZOO_minor
#define VERSIONS 1, 3, 9, FRL_SANITIZER
#elif ZOO_sanitizer
#define VERSIONS 1, 0, 0, (FRL_SANITIZER == 2 ? 1 : 2)
#else
#define VERSIONS 1, 0, 0, FRL_SANITIZER
#endif

#if ZOO_owner
#define OWNER "Feather"
#else
#define OWNER "Ferrule"
#endif

#if !ZOO_no_note
__attribute__((section(".note.ferrule"), used, aligned(4))) static const frl_note kNote = {
    8, sizeof(frl_identity), 1, OWNER, {VERSIONS, ID, "0.1", ISA, ""}};
#endif

/* ---- before anything was called ---- */

#if ZOO_trap || ZOO_segv || ZOO_hang || ZOO_exit || ZOO_flush
__attribute__((constructor)) static void start(void) {
#if ZOO_trap
  __builtin_trap();
#elif ZOO_segv
  raise(SIGSEGV);
#elif ZOO_hang
  for (;;) pause();
#elif ZOO_exit
  exit(0);
#elif ZOO_flush && defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u); /* denormals become zero */
#endif
}
#endif

#if ZOO_absent
extern int zoo_absent(void);
int (*const zoo_needs)(void);
int (*const zoo_needs)(void) = zoo_absent;
#endif

/* ---- rows ---- */

static const frl_operand kOperands[] = {
    {FRL_BIT(FRL_F32), 0, FRL_LAYOUT_DENSE, 0, 1, 0, 4, 0, 0},
    {FRL_BIT(FRL_F32), 0, FRL_LAYOUT_DENSE, 0, 1, 0, 4, FRL_OPERAND_RESULT, 0}};
MAYBE static const frl_claim kClaims[] = {
    {.op = FRL_OP_relu, .shapes = FRL_SHAPES_STATIC, .operands = ROWS(kOperands)},
#if ZOO_future_op
    {.op = 4000, .shapes = FRL_SHAPES_STATIC, .operands = ROWS(kOperands)},
#endif
};
MAYBE static const frl_space kSpaces[] = {{FRL_SPACE_HOST_VISIBLE | FRL_SPACE_DEVICE,
#if ZOO_align
                                           3,
#else
                                           64,
#endif
                                           1 << 20, 1 << 20, 1 << 20}};
MAYBE static const frl_cost kCost = {
#if ZOO_cost_tag
    .head = {sizeof(frl_cost), 7},
#else
    .head = {sizeof(frl_cost), FRL_TAG_COST},
#endif
    .basis = FRL_BASIS_ESTIMATED};
static const frl_device_row kDevice = {
#if ZOO_name
    .name = STR("zoo\xc3\x28"),
#elif ZOO_nul_name
    .name = STR("zoo\0:0"),
#elif ZOO_long_name
    .name = {"zoo", UINT64_MAX},
#else
    .name = STR("zoo"),
#endif
#if ZOO_state
    .state = 7,
#endif
#if ZOO_claim_count
    .claims = {kClaims, UINT32_MAX, sizeof(frl_claim)},
#elif ZOO_claim_stride
    .claims = {kClaims, 1, 0},
#elif ZOO_claim_null
    .claims = {NULL, 3, sizeof(frl_claim)},
#else
    .claims = ROWS(kClaims),
#endif
#if !ZOO_no_space
    .spaces = ROWS(kSpaces),
#endif
#if !ZOO_no_cost
    .cost = &kCost,
#endif
};
#if ZOO_changes
static const frl_device_row kBarren = {.name = STR("zoo"), .spaces = ROWS(kSpaces), .cost = &kCost};
#endif

static int32_t FRL_CALL devices(const frl_host* host, frl_rows* out, frl_error* error) {
  (void)host, (void)error;
  *out = (frl_rows){&kDevice, 1, sizeof kDevice};
#if ZOO_devices_abort
  abort();
#elif ZOO_devices_fail
  const char text[] = "zoo driver: want libzoo.so.1, got nothing";
  memcpy(error->text, text, sizeof text);
  error->text_n = sizeof text - 1;
  return FRL_DRIVER_MISSING;
#elif ZOO_devices_silent
  return FRL_DEVICE_LOST;
#elif ZOO_endless_text
  memset(error->text, 'x', sizeof error->text);
  error->text_n = UINT32_MAX;
  return FRL_INTERNAL;
#elif ZOO_device_count
  out->n = UINT32_MAX;
#elif ZOO_changes
  static int calls;
  if (calls++) out->p = &kBarren;
#endif
  return FRL_OK;
}

/* ---- table ---- */

static int32_t FRL_CALL open_device(const frl_host* h, const frl_device_row* r, frl_device** d,
                                    frl_error* e) {
  (void)h, (void)r, (void)d, (void)e;
  return FRL_DEVICE_LOST;
}
/* Nothing opens, so that none of these is ever called. */
static void never(void) { abort(); }
#define NEVER(slot) .slot = (__typeof__(((frl_plugin*)0)->slot))(void (*)(void))never

static const frl_option kOptions[] = {{STR("speed"), STR("1"), STR("how fast it would run")}};
#if ZOO_kind
static const frl_kind kKinds[] = {{.name = STR("com.example.stolen")}};
#endif

MAYBE static const frl_plugin kPlugin = {
#if ZOO_short_table
    .head = {64, FRL_TAG_PLUGIN},
#elif ZOO_table_tag
    .head = {sizeof(frl_plugin), 99},
#else
    .head = {sizeof(frl_plugin), FRL_TAG_PLUGIN},
#endif
#if ZOO_table_minor
    .minor = 5,
#endif
#if ZOO_features
    .features = 1,
#endif
#if ZOO_id_differs
    .id = STR("org.ferrule.imposter"),
#else
    .id = STR(ID),
#endif
    .version = STR("0.1"),
    .options = ROWS(kOptions),
#if ZOO_kind
    .kinds = ROWS(kKinds),
#endif
    .devices = devices,
    .open = open_device,
#if !ZOO_null_slot
    NEVER(compile),
#endif
    NEVER(close),
    NEVER(drop_kernel),
    NEVER(make_buffer),
    NEVER(drop_buffer),
    NEVER(open_queue),
    NEVER(close_queue),
    NEVER(record),
    NEVER(drop_recording),
    NEVER(submit),
    NEVER(wait),
};

#if ZOO_long_table
static struct {
  frl_plugin plugin;
  char newer[64];
} long_table;
#endif

#if ZOO_no_entry
const frl_plugin* zoo_unused(void);
const frl_plugin* zoo_unused(void) { return &kPlugin; }
#else
FRL_ENTRY(const frl_offer* offer, frl_error* error) {
  (void)offer, (void)error;
#if ZOO_entry_abort
  abort();
#elif ZOO_entry_exit
  _exit(0);
#elif ZOO_null_silent
  return NULL;
#elif ZOO_null_reason
  const char text[] = "minor: want 7 to 9, got 0";
  memcpy(error->text, text, sizeof text);
  error->text_n = sizeof text - 1;
  return NULL;
#elif ZOO_long_table
  long_table.plugin = kPlugin;
  long_table.plugin.head.size = sizeof long_table;
  return &long_table.plugin;
#endif
  return &kPlugin;
}
#endif
