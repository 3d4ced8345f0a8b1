#!/bin/sh
# A vendor's first steps, as plugin-api/README.md tells them: from an install alone, outside the tree.
set -e
build=$1
work=$build/vendor prefix=$build/vendor/prefix
rm -rf "$work"
cmake --install "$build" --prefix "$prefix" >/dev/null
cp -r "$prefix/share/ferrule/template" "$work/mine"
cd "$work"
cmake -G Ninja -S mine -B mine/build -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build mine/build >/dev/null
g++ -std=c++20 -O2 -shared -fPIC -fvisibility=hidden -I"$prefix/include" mine/plugin.cc -Wl,--version-script=mine/plugin.map -o mine.so
for library in mine/build/template.so mine.so; do
  # No symbol but the entry leaves the library.
  [ "$(nm -D --defined-only "$library" | grep -vc frl_plugin_v1)" = 0 ]
  "$prefix/bin/ferrule-conformance" "$library" --profile pointwise-minimal --level 1 --depth smoke >said || { cat said; exit 1; }
done
