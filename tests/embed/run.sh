#!/bin/sh
# Installs BUILD into a folder of its own, builds two programs against it outside the tree, runs them.
set -e
build=$1 source=$2
prefix=$build/embed/prefix work=$build/embed/work
rm -rf "$build/embed"
cmake --install "$build" --prefix "$prefix" >/dev/null
cmake -G Ninja -S "$source/tests/embed" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work" >/dev/null
model=$source/tests/models/real/mnist_cntk/model.onnx
"$work/embed_cxx" "$model"
libdir=$(dirname "$(find "$prefix" -name ferrule.pc)")
flags=$(PKG_CONFIG_PATH=$libdir pkg-config --cflags --libs ferrule)
# shellcheck disable=SC2086
cc -std=c11 -Wall -Wextra -Werror "$source/tests/embed/embed.c" $flags -o "$work/embed_c"
LD_LIBRARY_PATH=$(dirname "$libdir") "$work/embed_c" "$model"
"$prefix/bin/ferrule" run "$model" --random-inputs 1 >/dev/null
