// Where an input's elements are indices: into what, and through which ops that is seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/places.h"

namespace ferrule {
namespace {

using testing::ElementsAre;

std::vector<int64_t> places(const std::string& nodes) {
  const auto graph = parse_graph("graph \"g\"\n" + nodes);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? count_places(*graph) : std::vector<int64_t>();
}

TEST(Places, OfATableAreItsRows) {
  EXPECT_THAT(places(R"(  %t = input f32[30522,8] "t"
  %i = input i64[2,3] "i"
  %m = input i64[3] "m"
  %a = gather %t, %i {axis=-2}
  %b = add %m, %m
  return %a "a", %b "b")"),
              ElementsAre(kAnyPlace, 30522, kAnyPlace));
}

TEST(Places, AreSeenThroughMovesAndCasts) {
  EXPECT_THAT(places(R"(  %t = input f32[7,8] "t"
  %s = input f32[5] "s"
  %i = input i32[6] "i"
  %j = input i64[2,3] "j"
  %a = cast %i {to=i64}
  %b = reshape %a {shape=[2,3]}
  %c = concat %b, %j {axis=-2}
  %d = gather %t, %c {axis=-2}
  %e = gather_elements %s, %a {axis=-1}
  return %d "d", %e "e")"),
              ElementsAre(kAnyPlace, kAnyPlace, 5, 7));
}

TEST(Places, OfRowsOfIndicesAreTheLeastOfTheirAxes) {
  EXPECT_THAT(places(R"(  %x = input f32[4,9,3] "x"
  %i = input i64[5,2] "i"
  %y = gather_nd %x, %i
  return %y "y")"),
              ElementsAre(kAnyPlace, 4));
}

TEST(Places, AreSeenInBodies) {
  EXPECT_THAT(places(R"(  %c = input bool[] "c"
  %t = input f32[7,8] "t"
  %i = input i64[2] "i"
  %y = if %c, %t, %i
  body
    %a = input f32[7,8] "a"
    %b = input i64[2] "b"
    %r = gather %a, %b {axis=-2}
    return %r "r"
  body
    %a = input f32[7,8] "a"
    %b = input i64[2] "b"
    %r = slice %a {starts=[0,0], sizes=[2,8]}
    return %r "r"
  return %y "y")"),
              ElementsAre(kAnyPlace, kAnyPlace, 7));
}

}  // namespace
}  // namespace ferrule
