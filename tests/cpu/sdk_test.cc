// The SDK, through the template plugin: negotiation, recording, submitting, failing.
#include <gtest/gtest.h>

#include "tests/cpu/host.h"

namespace {
using namespace host;

const std::string kTemplate = FRL_BUILD_DIR "/examples/template.so";

struct Sdk : testing::Test {
  Plugin p{kTemplate};
  Block b;
  frl_kernel* add_kernel(const Shape& shape) {
    const uint32_t x = b.value(FRL_F32, shape), y = b.value(FRL_F32, shape);
    return p.compile(
        b.finish(FRL_OP_pointwise, {x, y}, {b.node1(FRL_OP_add, {x, y}, FRL_F32, shape)}));
  }
  void SetUp() override { ASSERT_EQ(p.why, ""); }
};

TEST_F(Sdk, refuses_a_host_that_speaks_only_newer_minors) {
  frl_error e{};
  void* lib = dlopen(kTemplate.c_str(), RTLD_NOW);
  const auto entry = reinterpret_cast<frl_entry_fn>(dlsym(lib, "frl_plugin_v1"));
  const frl_offer newer{{sizeof newer, FRL_TAG_OFFER}, 3, 4, 0};
  EXPECT_EQ(entry(&newer, &e), nullptr);
  EXPECT_EQ(e.code, FRL_INCOMPATIBLE);
  dlclose(lib);
}

TEST_F(Sdk, runs_a_pointwise_region_with_literal_and_broadcast) {
  const uint32_t x = b.value(FRL_F32, {2, 3}), row = b.value(FRL_F32, {3});
  const uint32_t two = b.literal(of(FRL_F32, {}, {2}));
  const uint32_t m = b.node1(FRL_OP_mul, {x, two}, FRL_F32, {2, 3});
  const uint32_t y = b.node1(FRL_OP_add, {m, row}, FRL_F32, {2, 3});
  frl_kernel* k = p.compile(b.finish(FRL_OP_pointwise, {x, row}, {y}));
  ASSERT_TRUE(k) << p.error.text;
  const float in[] = {1, 2, 3, 4, 5, 6}, bias[] = {10, 20, 30};
  float out[6] = {};
  ASSERT_EQ(p.run(k, {in, bias, out}, 3), 0);
  EXPECT_EQ(out[0], 12);
  EXPECT_EQ(out[5], 42);
  p.api->drop_kernel(k);
}

TEST_F(Sdk, softmax_rows_sum_to_one) {
  const Tensor x = random(FRL_F32, {3, 7}, 1);
  const Result r = run_op(p, FRL_OP_softmax, {Attribute(-1)}, {x}, {Tensor(FRL_F32, {3, 7})});
  ASSERT_EQ(r.error, "");
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int j = 0; j < 7; ++j) sum += r.outputs[0].at(i * 7 + j);
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST_F(Sdk, record_wants_the_right_number_of_arguments) {
  frl_kernel* k = add_kernel({4});
  EXPECT_EQ(p.submit({k, 0, 2, 0, 0, 0, 0}, {nullptr, nullptr}, {}), FRL_INVALID);
  EXPECT_NE(std::string(p.error.text).find("want 3 arguments, got 2"), std::string::npos)
      << p.error.text;
  p.api->drop_kernel(k);
}

// One step that is recorded once and submitted with these requests.
struct Recorded : Sdk {
  frl_kernel* k = nullptr;
  frl_recording* r = nullptr;
  float x[4] = {1, 2, 3, 4}, y[4] = {1, 1, 1, 1}, z[4] = {};
  std::vector<frl_binding> late{plain(x), plain(y), plain(z)};
  std::vector<frl_step> steps;
  std::vector<frl_arg> args{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  void SetUp() override {
    Sdk::SetUp();
    k = add_kernel({4});
    steps = {{k, 0, 3, 0, 0, 0, 0}};
    const frl_segment s{{sizeof s, FRL_TAG_SEGMENT}, rows(steps), rows(args), {}, {}, 3, 0};
    ASSERT_EQ(p.api->record(p.queue, &s, &r, &p.error), 0) << p.error.text;
  }
  void TearDown() override {
    p.api->drop_recording(r);
    p.api->drop_kernel(k);
  }
  frl_submit request(uint64_t signal) const {
    return {{sizeof(frl_submit), FRL_TAG_SUBMIT},
            r,
            rows(late),
            nullptr,
            {},
            {},
            signal,
            nullptr,
            nullptr};
  }
};

TEST_F(Recorded, signals_must_rise) {
  frl_submit q = request(5);
  EXPECT_EQ(p.api->submit(p.queue, &q, &p.error), 0);
  EXPECT_EQ(z[3], 5);
  EXPECT_EQ(p.api->wait(p.queue, 5, 0, &p.error), 0);
  EXPECT_EQ(p.api->submit(p.queue, &q, &p.error), FRL_INVALID);
  EXPECT_EQ(p.api->wait(p.queue, 6, 0, &p.error), FRL_TIMED_OUT);
}

TEST_F(Recorded, copies_come_before_the_steps) {
  const float other[4] = {10, 20, 30, 40};
  const std::vector<frl_copy> copies{{plain(x), plain(other), 16, 1, 0, 0}};
  frl_submit q = request(1);
  q.copies = rows(copies);
  ASSERT_EQ(p.api->submit(p.queue, &q, &p.error), 0);
  EXPECT_EQ(z[2], 31);
}

TEST_F(Recorded, a_cancelled_queue_keeps_its_first_cause) {
  const uint32_t stop = 1;
  frl_submit q = request(1);
  q.cancel = &stop;
  EXPECT_EQ(p.api->submit(p.queue, &q, &p.error), FRL_CANCELLED);
  EXPECT_EQ(p.error.subject, 0);
  q = request(2);
  EXPECT_EQ(p.api->submit(p.queue, &q, &p.error), FRL_CANCELLED);
  EXPECT_EQ(p.api->wait(p.queue, 1, 0, &p.error), FRL_CANCELLED);
  EXPECT_EQ(z[0], 0);
}

TEST_F(Recorded, a_failed_queue_fails_what_waits_for_it) {
  frl_queue* other = nullptr;
  ASSERT_EQ(p.api->open_queue(p.device, &other, &p.error), 0);
  const std::vector<frl_point> ahead{{p.queue, 9}};
  frl_submit w{
      {sizeof w, FRL_TAG_SUBMIT}, nullptr, {}, nullptr, {}, rows(ahead), 1, nullptr, nullptr};
  EXPECT_EQ(p.api->submit(other, &w, &p.error), FRL_INVALID);
  const uint32_t stop = 1;
  frl_submit q = request(1);
  q.cancel = &stop;
  p.api->submit(p.queue, &q, &p.error);
  const std::vector<frl_point> behind{{p.queue, 1}};
  w.waits = rows(behind);
  EXPECT_EQ(p.api->submit(other, &w, &p.error), FRL_CANCELLED);
  EXPECT_EQ(p.api->wait(other, 1, 0, &p.error), FRL_CANCELLED);
  p.api->close_queue(other);
}

TEST_F(Recorded, fills_step_times_and_counts) {
  uint64_t ns[1] = {UINT64_MAX};
  frl_submit q = request(1);
  q.step_ns = ns;
  ASSERT_EQ(p.api->submit(p.queue, &q, &p.error), 0);
  EXPECT_LT(ns[0], uint64_t{10'000'000'000});
  frl_telemetry t{};
  t.head = {sizeof t, FRL_TAG_TELEMETRY};
  p.api->telemetry(p.device, &t);
  EXPECT_EQ(t.submits, 1u);
  EXPECT_EQ(t.steps, 1u);
  EXPECT_EQ(t.compiled, 1u);
}

TEST_F(Recorded, an_older_hosts_shorter_telemetry_is_not_overrun) {
  frl_telemetry t{};
  t.head = {sizeof t - 8, FRL_TAG_TELEMETRY}, t.restored = 77;
  p.api->telemetry(p.device, &t);
  EXPECT_EQ(t.restored, 77u);
}

TEST_F(Sdk, buffers_are_counted_and_imported_ones_borrowed) {
  frl_buffer* own = nullptr;
  const frl_space_request q{{sizeof q, FRL_TAG_SPACE_REQUEST}, 100, 0, 0, 0};
  ASSERT_EQ(p.api->make_buffer(p.device, &q, &own, &p.error), 0);
  EXPECT_EQ(uintptr_t(own->host) % 64, 0u);
  frl_telemetry t{};
  t.head = {sizeof t, FRL_TAG_TELEMETRY};
  p.api->telemetry(p.device, &t);
  EXPECT_EQ(t.live_bytes, 100u);
  p.api->drop_buffer(own);
  EXPECT_EQ(p.services.live, 0);
  float mine[2];
  const frl_space_request import{
      {sizeof q, FRL_TAG_SPACE_REQUEST}, 8, uint64_t(uintptr_t(mine)), 0, 0};
  ASSERT_EQ(p.api->make_buffer(p.device, &import, &own, &p.error), 0);
  EXPECT_EQ(own->host, mine);
  p.api->drop_buffer(own);
}

TEST_F(Sdk, a_binding_past_its_buffer_is_refused) {
  frl_kernel* k = add_kernel({4});
  frl_buffer* buffer = nullptr;
  const frl_space_request q{{sizeof q, FRL_TAG_SPACE_REQUEST}, 64, 0, 0, 0};
  ASSERT_EQ(p.api->make_buffer(p.device, &q, &buffer, &p.error), 0);
  const std::vector<frl_step> steps{{k, 0, 3, 0, 0, 0, 0}};
  const std::vector<frl_arg> args{{0, 0, 0}, {0, 0, 16}, {0, 0, 128}};
  const std::vector<frl_binding> fixed{{buffer, 0}};
  const frl_segment s{{sizeof s, FRL_TAG_SEGMENT}, rows(steps), rows(args), {}, rows(fixed), 0, 0};
  frl_recording* r = nullptr;
  EXPECT_EQ(p.api->record(p.queue, &s, &r, &p.error), FRL_INVALID);
  p.api->drop_buffer(buffer);
  p.api->drop_kernel(k);
}

}  // namespace
