// The rig and the lists of cases: what guards see, how devices are driven, what a name alone gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/cases/check.h"
#include "conformance/rig/memory.h"
#include "conformance/suite/families.h"

namespace ferrule::conformance::test {
namespace {

using testing::HasSubstr;

// ---- lists ----

Target target_of(const char* plugin) {
  Target out;
  out.path = std::string(FRL_BUILD_DIR) + plugin;
  out.data_folder = FRL_TEST_DATA "/../conformance/data";
  auto driver = load_plugin(out.path, std::make_shared<Team>(2), {}, &out.load);
  EXPECT_TRUE(driver.ok()) << out.load.status.message();
  if (driver.ok()) out.driver = *driver;
  return out;
}

// A name alone gives its case, whatever the family leaves out.
TEST(Lists, HoldWhatIsAskedFor) {
  Target target = target_of("/plugins/cpu.so");
  for (void (*list)(const Target&, std::vector<Case>&) :
       {list_behaviour, list_numerics, list_fusions, list_shapes, list_special, list_determinism,
        list_guards}) {
    target.only = nullptr;
    std::vector<Case> all;
    list(target, all);
    ASSERT_GT(all.size(), 100u);
    std::set<std::string> names;
    for (const Case& one : all) EXPECT_TRUE(names.insert(one.name).second) << one.name << " twice";
    for (size_t i = 0; i < all.size(); i += all.size() / 8 + 1) {
      target.only =
          std::make_shared<const std::set<std::string>>(std::set<std::string>{all[i].name});
      std::vector<Case> some;
      list(target, some);
      const bool found = std::any_of(some.begin(), some.end(),
                                     [&](const Case& c) { return c.name == all[i].name; });
      EXPECT_TRUE(found) << all[i].name;
    }
  }
}

// ---- the rig ----

TEST(Rig, GuardsSeeEveryByteAroundATensor) {
  const Target target = target_of("/plugins/cpu.so");
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok()) << rig.status().message();
  const Shape shape{2, 3};
  Strides backwards{};
  backwards[0] = 8, backwards[1] = -2;  // with gaps
  auto memory = Guarded::tensor((*rig)->device(), 0, {Type::i16, shape}, backwards, 1, false);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  Tensor x(TensorType{Type::i16, shape});
  for (int i = 0; i < 6; ++i) x.set_f64(i, i + 1);
  memory->put(x);
  ASSERT_TRUE(memory->upload((*rig)->queue()).ok());
  auto bytes = memory->download((*rig)->queue());
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(same_bits(memory->take(*bytes, shape), x));
  EXPECT_EQ(memory->damage(*bytes, true, "x"), "");
  size_t elements = 0;
  for (size_t i = 0; i < bytes->size(); ++i) {
    auto changed = *bytes;
    changed[i] ^= std::byte{1};
    EXPECT_NE(memory->damage(changed, true, "x"), "");
    elements += memory->damage(changed, false, "x").empty();
  }
  EXPECT_EQ(elements, 12u) << "six elements of two bytes may change, nothing else";
}

TEST(Rig, FindsElementsThatNobodyWrote) {
  const Target target = target_of("/plugins/cpu.so");
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok()) << rig.status().message();
  for (Type type : {Type::f64, Type::f32, Type::f16, Type::bf16, Type::u8, Type::boolean}) {
    auto memory =
        Guarded::tensor((*rig)->device(), 0, {type, Shape{5}}, row_major(Shape{5}), 0, false);
    ASSERT_TRUE(memory.ok());
    for (int round : {0, 1}) {
      memory->put_pattern(round);
      auto image = std::vector<std::byte>(memory->image().begin(), memory->image().end());
      EXPECT_EQ(memory->unwritten(image, Shape{5}, round).size(), 5u);
      EXPECT_EQ(memory->unwritten(image, Shape{5}, 1 - round).size(), 0u);
      if (is_float(type)) {
        EXPECT_TRUE(std::isnan(memory->take(image, Shape{5}).at_f64(0)));
      }
    }
  }
}

// The same numbers on a device without host-visible memory, with packs, late bindings and written
// extents.
TEST(Rig, DrivesADeviceWithMemoryOfItsOwn) {
  const Target target = target_of("/test_plugins/discrete.so");
  const auto subject = [](OpId op) { return subjects_of(op, Type::f32).at(0); };
  for (OpId op : {OpId(FRL_OP_add), OpId(FRL_OP_relu)}) {
    const auto graph = claimed_form(target.row(), graph_of(subject(op), 1));
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    RunOptions options;
    options.late = options.imported = true, options.repeats = 2;
    const Outcome out =
        check_run(target, *graph, inputs_of(subject(op), *graph, Style::data, 1), options);
    EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
    EXPECT_GT(out.judged, 0u);
  }
  Subject product = subject(FRL_OP_matmul);
  product.operands[1].parameter = true;
  const auto packed = claimed_form(target.row(), graph_of(product, 1));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const Outcome out = check_run(target, *packed, inputs_of(product, *packed, Style::ramp, 1));
  EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
  Subject flat = subject(FRL_OP_nonzero);
  flat.operands[0].type.shape = Shape{17};
  const auto nonzero = claimed_form(target.row(), graph_of(flat, 1));
  ASSERT_TRUE(nonzero.ok()) << nonzero.status().message();
  RunResult result;
  std::vector<Expected> want;
  const Outcome places =
      check_run(target, *nonzero, inputs_of(flat, *nonzero, Style::one_hot, 1), {}, &result, &want);
  EXPECT_EQ(places.verdict, Verdict::pass) << places.text;
  EXPECT_EQ(to_string(result.results[0].shape()), "[1,1]");
  drop_shared_rig();
}

TEST(Rig, PassesOnWhatThePluginRefuses) {
  const Target target = target_of("/examples/template.so");
  const auto graph = graph_of(subjects_of(FRL_OP_matmul, Type::f32).at(0), 1);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(claimed_form(target.row(), *graph).status().message(),
              HasSubstr("matmul is not claimed"));
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok());
  EXPECT_TRUE((*rig)->asks(*graph).refused());
}

}  // namespace
}  // namespace ferrule::conformance::test
