// Libraries that load, or that say no: each has its own verdict, and cpu beside it still loads.
#include <cfloat>

#include "tests/zoo/cage.h"

namespace ferrule::zoo {
namespace {

using testing::HasSubstr;

struct Row {
  const char* member;
  Stage stage;
  Code code;
  const char* text;
};

class Zoo : public testing::TestWithParam<Row> {};

TEST_P(Zoo, HasItsOwnVerdict) {
  const Row& row = GetParam();
  const Cage cage;
  cage.put(row.member);
  const Loaded loaded = cage.load();
  const Verdict verdict = verdict_of(loaded, "bad.so");
  EXPECT_STREQ(stage_name(verdict.stage), stage_name(row.stage)) << verdict.status.message();
  EXPECT_STREQ(code_name(verdict.status.code()), code_name(row.code)) << verdict.status.message();
  EXPECT_THAT(verdict.status.message(), HasSubstr(row.text));
  EXPECT_FALSE(verdict.loaded());
  EXPECT_EQ(loaded.drivers.size(), 1u);
  expect_cpu(loaded);
}

constexpr Row kRows[] = {
    {"no_note", Stage::inspect, Code::incompatible,
     "want a section .note.ferrule (FRL_IDENTITY), got none"},
    {"owner", Stage::inspect, Code::incompatible, "want owner 'Ferrule'"},
    {"odd_id", Stage::inspect, Code::incompatible, "want a plain id like com.example.name"},
    {"major", Stage::inspect, Code::incompatible, "major: want 1, got 2"},
    {"minor", Stage::inspect, Code::incompatible, "got 3 to 9; a newer core is needed"},
    {"isa", Stage::inspect, Code::incompatible, "isa: this machine cannot run code for x86-64-v9"},
    {"sanitizer", Stage::inspect, Code::incompatible, "sanitizer: want a build like this core's"},
    {"absent", Stage::load, Code::incompatible, "libzoo_absent.so"},
    {"no_entry", Stage::check, Code::incompatible,
     "want the exported symbol frl_plugin_v1, got none"},
    {"null_silent", Stage::check, Code::incompatible,
     "it refused the offer without a reason (offered minor 0 to 0)"},
    {"null_reason", Stage::check, Code::incompatible, "minor: want 7 to 9, got 0"},
    {"short_table", Stage::check, Code::incompatible, "table: want at least 232 bytes, got 64"},
    {"table_tag", Stage::check, Code::incompatible, "table: want tag 2, got 99"},
    {"table_minor", Stage::check, Code::incompatible, "minor: want at most 0, got 5"},
    {"features", Stage::check, Code::incompatible,
     "features: want a subset of the offer's (none), got 1"},
    {"null_slot", Stage::check, Code::incompatible, "slot compile: want a function, got NULL"},
    {"id_differs", Stage::check, Code::incompatible,
     "id: want that of the identity note, org.ferrule.zoo, got org.ferrule.imposter"},
    {"kind", Stage::check, Code::incompatible,
     "kind \"com.example.stolen\": want the plugin's id as prefix"},
    {"devices_fail", Stage::check, Code::driver_missing,
     "devices: zoo driver: want libzoo.so.1, got nothing"},
    {"devices_silent", Stage::check, Code::device_lost, "devices: the plugin gave no reason"},
    {"endless_text", Stage::check, Code::internal, "devices: xxx"},
    {"device_count", Stage::check, Code::invalid_argument,
     "devices: want at most 1024 rows, got 4294967295"},
    {"claim_count", Stage::check, Code::invalid_argument,
     "device 0: claims: want at most 65536 rows, got 4294967295"},
    {"claim_stride", Stage::check, Code::invalid_argument,
     "claims: want a stride of at least 160, got 0"},
    {"claim_null", Stage::check, Code::invalid_argument,
     "claims: want rows, got a null pointer and n = 3"},
    {"name", Stage::check, Code::invalid_argument, "name: want UTF-8, got"},
    {"nul_name", Stage::check, Code::invalid_argument, "name: want a text without NUL"},
    {"long_name", Stage::check, Code::invalid_argument, "name: want a text of at most 65536 bytes"},
    {"state", Stage::check, Code::invalid_argument, "state: want 0 to 2, got 7"},
    {"no_space", Stage::check, Code::invalid_argument, "spaces: want at least one, got none"},
    {"align", Stage::check, Code::invalid_argument,
     "want an alignment that is a power of two, got 3"},
    {"no_cost", Stage::check, Code::invalid_argument, "cost: want a cost row, got a null pointer"},
    {"cost_tag", Stage::check, Code::invalid_argument, "cost: want tag 5 and 96 bytes, got 7"},
    {"changes", Stage::check, Code::internal, "devices: want the same rows at each call"},
};
INSTANTIATE_TEST_SUITE_P(All, Zoo, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.member); });

// ---- odd, but within the rules ----

TEST(ZooGood, LoadsBesideCpu) {
  const Cage cage;
  cage.put("good");
  const Loaded loaded = cage.load();
  const Verdict verdict = verdict_of(loaded, "bad.so");
  EXPECT_TRUE(verdict.loaded()) << verdict.status.message();
  EXPECT_EQ(loaded.drivers.size(), 2u);
  expect_cpu(loaded);
}

TEST(ZooGood, LongerTableOfANewerMinor) {
  const Cage cage;
  cage.put("long_table");
  const Loaded loaded = cage.load();
  EXPECT_TRUE(verdict_of(loaded, "bad.so").loaded())
      << verdict_of(loaded, "bad.so").status.message();
}

TEST(ZooGood, UnknownOpVoidsItsRowOnly) {
  const Cage cage;
  cage.put("future_op");
  const Loaded loaded = cage.load();
  ASSERT_TRUE(verdict_of(loaded, "bad.so").loaded());
  const DeviceRow& row = loaded.drivers[0]->devices()[0];
  EXPECT_EQ(row.claims.size(), 1u);
  ASSERT_EQ(row.voided.size(), 1u);
  EXPECT_EQ(row.voided[0], "claim 1: op 4000 is not known");
}

TEST(ZooGood, DenormalsSurviveFastMathStartup) {
  const Cage cage;
  cage.put("flush");
  const Loaded loaded = cage.load();
  EXPECT_TRUE(verdict_of(loaded, "bad.so").loaded());
  volatile float tiny = FLT_MIN, half = 0.5f;
  EXPECT_GT(tiny * half, 0.0f);
  expect_cpu(loaded);
}

TEST(ZooGood, FailedOpenIsASentence) {
  const Cage cage;
  cage.put("good");
  const Loaded loaded = cage.load();
  const auto device = loaded.drivers[0]->open(0);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), Code::device_lost);
  EXPECT_THAT(device.status().message(),
              HasSubstr("org.ferrule.zoo: open zoo: the plugin gave no reason"));
}

// ---- two that cannot both be ----

TEST(ZooPairs, SameIdIsTakenOnce) {
  const Cage cage;
  cage.put("cpu_id", "zcopy.so");
  const Loaded loaded = cage.load();
  const Verdict verdict = verdict_of(loaded, "zcopy.so");
  EXPECT_EQ(verdict.stage, Stage::policy);
  EXPECT_EQ(verdict.status.code(), Code::denied);
  EXPECT_THAT(verdict.status.message(),
              HasSubstr("id: org.ferrule.cpu is loaded already, from " + cage.at("cpu.so")));
  expect_cpu(loaded);
}

TEST(ZooPairs, SameSonameIsTakenOnce) {
  const Cage cage;
  cage.put("same_a", "a.so");
  cage.put("same_b", "b.so");
  const Loaded loaded = cage.load();
  EXPECT_TRUE(verdict_of(loaded, "a.so").loaded());
  const Verdict verdict = verdict_of(loaded, "b.so");
  EXPECT_EQ(verdict.stage, Stage::policy);
  EXPECT_EQ(verdict.status.code(), Code::denied);
  EXPECT_THAT(verdict.status.message(), HasSubstr("soname: libzoo_same.so is loaded already"));
  expect_cpu(loaded);
}

TEST(ZooPolicy, DeniedByIdAndByFile) {
  for (const char* deny : {"org.ferrule.zoo", "bad.so"}) {
    const Cage cage;
    cage.put("good");
    LoadPolicy policy = cage.policy();
    policy.deny = {deny};
    const Loaded loaded = Cage::load(policy);
    const Verdict verdict = verdict_of(loaded, "bad.so");
    EXPECT_EQ(verdict.stage, Stage::policy);
    EXPECT_EQ(verdict.status.code(), Code::denied);
    EXPECT_THAT(verdict.status.message(), HasSubstr(deny));
    expect_cpu(loaded);
  }
}

TEST(ZooPolicy, MisspeltSettingNamesTheNearest) {
  const Cage cage;
  cage.put("good");
  LoadPolicy policy = cage.policy();
  policy.settings["org.ferrule.zoo"]["sped"] = "9";
  const Loaded loaded = Cage::load(policy);
  const Verdict verdict = verdict_of(loaded, "bad.so");
  EXPECT_EQ(verdict.stage, Stage::check);
  EXPECT_THAT(verdict.status.message(),
              HasSubstr("option sped: want one of speed; did you mean speed"));
  expect_cpu(loaded);
}

}  // namespace
}  // namespace ferrule::zoo
