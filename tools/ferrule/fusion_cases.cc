#include "tools/ferrule/fusion_cases.h"

#include <cctype>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

#define PRODUCT_INPUTS \
  "  %x = input f32[$m,$k] \"x\"\n  %w = parameter f32[$k,$n] \"w\" = random 1\n"
#define PRODUCT PRODUCT_INPUTS "  %p = matmul %x, %w\n"
#define BIAS "  %b = parameter f32[$n] \"b\" = random 2\n"
#define ROWS "  %x = input f32[$m,$n] \"x\"\n"
#define RESIDUAL "  %r = input f32[$m,$n] \"r\"\n"
#define FACTORS \
  "  %g = parameter f32[$n] \"g\" = random 1\n  %h = parameter f32[$n] \"h\" = random 2\n"
#define RETURN "  return %y \"y\"\n"
#define PLANES "  %x = input f32[1,$c,$s,$s] \"x\"\n"
#define CONV \
  PLANES     \
  "  %w = parameter f32[$o,$c,3,3] \"w\" = random 1\n  %p = conv %x, %w {pads=[1,1,1,1]}\n"
#define CONV_1X1 PLANES "  %w = parameter f32[$o,$c,1,1] \"w\" = random 1\n  %p = conv %x, %w\n"
#define WEIGHT(name) "  %" name " = parameter f32[$k,$n] \"" name "\" = random 1\n"
#define TIMES(result, weight) "  %" result " = matmul %x, %" weight "\n"
#define X "  %x = input f32[$m,$k] \"x\"\n"
#define HALVES                                      \
  "  %x = input f32[$m,$N] \"x\"\n"                 \
  "  %a = slice %x {starts=[0,0], sizes=[$m,$n]}\n" \
  "  %b = slice %x {starts=[0,$n], sizes=[$m,$n]}\n"
#define QUEUE(name) "  %" name " = input f32[$m,$n] \"" name "\"\n"
#define HEAD(to, at)                       \
  "  %" to "0 = slice %p {starts=[0,0," at \
  "], sizes=[$b,$s,$d]}\n"                 \
  "  %" to "1 = reshape %" to              \
  "0 {shape=[$b,$s,$h,$e]}\n"              \
  "  %" to " = transpose %" to "1 {order=[-4,-2,-3,-1]}\n"
#define BLOCK_LEAVES                               \
  "  %x = input f32[$b,$s,$d] \"x\"\n"             \
  "  %w = parameter f32[$d,$t] \"w\" = random 1\n" \
  "  %b = parameter f32[$t] \"b\" = random 2\n"    \
  "  %o = parameter f32[$d,$d] \"o\" = random 3\n" \
  "  %c = parameter f32[$d] \"c\" = random 4\n"
#define LAYER_LEAVES                               \
  BLOCK_LEAVES                                     \
  "  %g = parameter f32[$d] \"g\" = random 5\n"    \
  "  %h = parameter f32[$d] \"h\" = random 6\n"    \
  "  %u = parameter f32[$d,$f] \"u\" = random 7\n" \
  "  %k = parameter f32[$f] \"k\" = random 8\n"    \
  "  %v = parameter f32[$f,$d] \"v\" = random 9\n" \
  "  %e = parameter f32[$d] \"e\" = random 10\n"   \
  "  %i = parameter f32[$d] \"i\" = random 11\n"   \
  "  %j = parameter f32[$d] \"j\" = random 12\n"
#define SCALES(n) "  %s = literal f64[4] = 1 1 " n " " n "\n"

const std::vector<const char*> kProducts = {"m=1 k=64 n=64", "m=1 k=768 n=768", "m=16 k=256 n=256",
                                            "m=64 k=256 n=1024", "m=256 k=128 n=128"};
const std::vector<const char*> kShared = {"m=1 k=256 n=256",  "m=4 k=64 n=64",   "m=16 k=256 n=256",
                                          "m=64 k=64 n=64",   "m=64 k=512 n=64", "m=256 k=16 n=64",
                                          "m=256 k=64 n=256", "m=512 k=32 n=32", "m=1024 k=16 n=32",
                                          "m=384 k=48 n=96"};
const std::vector<const char*> kPlanes = {"c=3 o=16 s=16", "c=32 o=32 s=14", "c=64 o=64 s=28"};
const std::vector<const char*> kRowShapes = {"m=1 n=64", "m=16 n=256", "m=128 n=768"};
const std::vector<const char*> kTensors = {"m=1 n=64", "m=16 n=256", "m=128 n=1024"};
const std::vector<const char*> kBlocks = {"b=1 s=8 d=64 t=192 h=4 e=16 f=128",
                                          "b=2 s=32 d=128 t=384 h=4 e=32 f=256",
                                          "b=1 s=64 d=256 t=768 h=4 e=64 f=512"};

const FusionCase kCases[] = {
    {"fuse_matmul_bias_act", "bias", "", kProducts, PRODUCT BIAS "  %y = add %p, %b\n" RETURN},
    {"fuse_matmul_bias_act", "bias, relu", "", kProducts,
     PRODUCT BIAS "  %s = add %p, %b\n  %y = relu %s\n" RETURN},
    {"fuse_matmul_bias_act", "bias, gelu", "", kProducts,
     PRODUCT BIAS "  %s = add %p, %b\n  %y = gelu %s\n" RETURN},
    {"fuse_matmul_bias_act", "relu", "", kProducts, PRODUCT "  %y = relu %p\n" RETURN},
    {"fuse_matmul_bias_act", "bias, silu", "", kProducts,
     PRODUCT BIAS "  %s = add %p, %b\n  %y = silu %s\n" RETURN},
    {"fuse_matmul_residual", "residual", "", kProducts,
     PRODUCT RESIDUAL "  %y = add %p, %r\n" RETURN},
    {"fuse_conv_bias_act", "3x3, relu", "", kPlanes, CONV "  %y = relu %p\n" RETURN},
    {"fuse_conv_bias_act", "1x1, residual, relu", "", kPlanes,
     CONV_1X1 "  %r = input f32[1,$o,$s,$s] \"r\"\n  %q = add %p, %r\n  %y = relu %q\n" RETURN},
    {"fuse_conv_bias_act", "1x1, relu", "", kPlanes, CONV_1X1 "  %y = relu %p\n" RETURN},
    {"fuse_conv_bias_act", "depthwise, clamp", "", kPlanes,
     PLANES "  %w = parameter f32[$c,1,3,3] \"w\" = random 1\n"
            "  %p = conv %x, %w {pads=[1,1,1,1], groups=$c}\n"
            "  %lo = literal f32[] = 0\n  %hi = literal f32[] = 6\n"
            "  %q = max %p, %lo\n  %y = min %q, %hi\n" RETURN},
    {"fuse_conv_affine_act", "3x3, scale, shift, relu", "", kPlanes,
     CONV "  %g = parameter f32[$o,1,1] \"g\" = random 3\n"
          "  %h = parameter f32[$o,1,1] \"h\" = random 4\n"
          "  %a = mul %p, %g\n  %q = add %a, %h\n  %y = relu %q\n" RETURN},
    {"fuse_residual_layer_norm", "sum inside", "", kRowShapes,
     ROWS RESIDUAL FACTORS "  %s = add %x, %r\n  %y = layer_norm %s, %g, %h\n" RETURN},
    {"fuse_residual_layer_norm", "sum is a result", "", kRowShapes,
     ROWS RESIDUAL FACTORS
     "  %s = add %x, %r\n  %y = layer_norm %s, %g, %h\n  return %y \"y\", %s \"s\"\n"},
    {"fuse_residual_rms_norm", "sum inside", "", kRowShapes,
     ROWS RESIDUAL FACTORS "  %s = add %x, %r\n  %y = rms_norm %s, %g\n" RETURN},
    {"fuse_residual_rms_norm", "sum is a result", "", kRowShapes,
     ROWS RESIDUAL FACTORS
     "  %s = add %x, %r\n  %y = rms_norm %s, %g\n  return %y \"y\", %s \"s\"\n"},
    {"fuse_ada_layer_norm", "scale and shift", "", kRowShapes,
     ROWS
     "  %a = input f32[1,$n] \"a\"\n  %b = input f32[1,$n] \"b\"\n  %one = literal f32[] = 1\n"
     "  %n = layer_norm %x\n  %s = add %a, %one\n  %t = mul %n, %s\n  %y = add %t, %b\n" RETURN},
    {"fuse_gated_residual", "gate by row", "", kTensors,
     ROWS RESIDUAL "  %g = input f32[1,$n] \"g\"\n  %t = mul %r, %g\n  %y = add %x, %t\n" RETURN},
    {"fuse_shared_input", "2 weights", "", kShared,
     X WEIGHT("u") WEIGHT("v") TIMES("a", "u") TIMES("b", "v") "  return %a \"a\", %b \"b\"\n"},
    {"fuse_shared_input", "3 weights", "", kShared,
     X WEIGHT("u") WEIGHT("v") WEIGHT("w") TIMES("a", "u") TIMES("b", "v")
         TIMES("c", "w") "  return %a \"a\", %b \"b\", %c \"c\"\n"},
    {"fuse_shared_input", "4 weights", "", kShared,
     X WEIGHT("t") WEIGHT("u") WEIGHT("v") WEIGHT("w") TIMES("d", "t") TIMES("a", "u")
         TIMES("b", "v") TIMES("c", "w") "  return %a \"a\", %b \"b\", %c \"c\", %d \"d\"\n"},
    {"fuse_swiglu_matmuls", "two products", "", kShared,
     X WEIGHT("u") WEIGHT("v") TIMES("a", "u")
         TIMES("b", "v") "  %s = silu %b\n  %y = mul %a, %s\n" RETURN},
    {"fuse_pointwise", "2 cheap nodes", "", kTensors,
     ROWS RESIDUAL "  %a = add %x, %r\n  %y = relu %a\n" RETURN},
    {"fuse_pointwise", "4 cheap nodes", "", kTensors,
     ROWS RESIDUAL
     "  %a = add %x, %r\n  %b = mul %a, %r\n  %c = sub %b, %x\n  %y = relu %c\n" RETURN},
    {"fuse_pointwise", "8 mixed nodes", "", kTensors,
     ROWS RESIDUAL "  %a = add %x, %r\n  %b = sigmoid %a\n  %c = mul %b, %x\n  %d = tanh %c\n"
                   "  %e = sub %d, %r\n  %f = abs %e\n  %g = sqrt %f\n  %y = neg %g\n" RETURN},
    {"fuse_pointwise", "16 nodes", "", kTensors,
     ROWS RESIDUAL "  %a = add %x, %r\n  %b = mul %a, %x\n  %c = sub %b, %r\n  %d = abs %c\n"
                   "  %e = add %d, %x\n  %f = sqrt %d\n  %g = mul %f, %e\n  %h = relu %g\n"
                   "  %i = sub %h, %r\n  %j = mul %i, %i\n  %k = add %j, %x\n  %l = abs %k\n"
                   "  %m = sqrt %l\n  %n = sub %m, %x\n  %o = mul %n, %r\n  %y = neg %o\n" RETURN},
    {"fuse_pointwise", "row times column", "", kTensors,
     "  %x = input f32[$m,1] \"x\"\n  %r = input f32[$n] \"r\"\n"
     "  %a = mul %x, %r\n  %y = add %a, %r\n" RETURN},
    {"fuse_pointwise", "bias by row, gelu", "", kTensors,
     ROWS "  %b = input f32[$n] \"b\"\n  %a = add %x, %b\n  %y = gelu %a\n" RETURN},
    {"fuse_pointwise", "2 results", "", kTensors,
     ROWS RESIDUAL
     "  %a = add %x, %r\n  %b = mul %a, %x\n  %y = relu %b\n  return %y \"y\", %a \"a\"\n"},
    {"fuse_batch", "4 slices of rows", "fuse_pointwise mark_batch_slices", kTensors,
     "  %x = input f32[4,$m,$n] \"x\"\n"
     "  %a = slice %x {starts=[0,0,0], sizes=[1,$m,$n]}\n  %e = relu %a\n"
     "  %b = slice %x {starts=[1,0,0], sizes=[1,$m,$n]}\n  %f = relu %b\n"
     "  %c = slice %x {starts=[2,0,0], sizes=[1,$m,$n]}\n  %g = relu %c\n"
     "  %d = slice %x {starts=[3,0,0], sizes=[1,$m,$n]}\n  %h = relu %d\n"
     "  %y = concat %e, %f, %g, %h {axis=-3}\n" RETURN},
    {"fuse_batch", "2 slices of columns", "fuse_pointwise mark_batch_slices", kTensors,
     HALVES "  %e = neg %a\n  %f = neg %b\n  %y = concat %e, %f {axis=-1}\n" RETURN},
    {"mark_transforms",
     "up and up",
     "",
     {"c=3 s=8 v=2", "c=3 s=32 v=2"},
     PLANES SCALES("2") "  %a = resize %x, %s {sizes=[1,$c,$S,$S], mode=1}\n"
                        "  %q = literal f64[4] = 1 1 0.5 0.5\n"
                        "  %y = resize %a, %q {sizes=[1,$c,$s,$s], mode=1}\n" RETURN},
    {"fuse_prologue",
     "resize, relu",
     "",
     {"c=1 s=8", "c=3 s=32", "c=16 s=28"},
     PLANES SCALES(
         "2") "  %a = resize %x, %s {sizes=[1,$c,$S,$S], mode=1}\n  %y = relu %a\n" RETURN},
    {"fuse_attention_block", "packed projection", "", kBlocks,
     BLOCK_LEAVES "  %p = matmul_bias_act %x, %w, %b\n" HEAD("q", "0") HEAD("k", "$d")
         HEAD("v", "$D") "  %a = attention %q, %k, %v\n"
                         "  %t = transpose %a {order=[-4,-2,-3,-1]}\n"
                         "  %f = reshape %t {shape=[$b,$s,$d]}\n"
                         "  %y = matmul_bias_act %f, %o, %c\n" RETURN},
    {"fuse_transformer_layer", "of its blocks", "", kBlocks,
     LAYER_LEAVES "  %a = attention_block %x, %w, %o, none, %b, %c {heads=$h}\n"
                  "  %n = residual_layer_norm %a, %x, %g, %h\n"
                  "  %f = matmul_bias_act %n, %u, %k {activation=gelu}\n"
                  "  %s = matmul_bias_act %f, %v, %e\n"
                  "  %y = residual_layer_norm %s, %n, %i, %j\n" RETURN},
};

int64_t extent(const std::string& shape, char name) {
  const char wanted = char(std::tolower(static_cast<unsigned char>(name)));
  for (const std::string& part : split(shape, ' '))
    if (part.size() > 2 && part[0] == wanted)
      return parse_int(part.substr(2)).value_or(1) * (wanted == name ? 1 : 2);
  return 1;
}

}  // namespace

std::span<const FusionCase> fusion_cases() { return kCases; }

std::string instance(const FusionCase& row, const std::string& shape) {
  std::string out = "graph \"g\"\n";
  for (const char* at = row.text; *at; ++at) {
    if (*at != '$')
      out += *at;
    else
      out += std::to_string(extent(shape, *++at));
  }
  return out;
}

}  // namespace ferrule::cli
