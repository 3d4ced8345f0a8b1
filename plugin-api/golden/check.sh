#!/bin/sh
# Holds frl_plugin.h against its golden layout and ABI, under every compiler and target. Seconds.
# After a change that is meant:  sh plugin-api/golden/check.sh --renew   rewrites abi.xml.
set -e
cd "$(dirname "$0")/../.."
golden=plugin-api/golden
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
warn="-I. -Wall -Wextra -Wpedantic -Werror"

# One compilation: the command and its options, without the file.
layout() { "$@" $warn -Wpadded -fsyntax-only "$golden/layout_test.c"; }
layout gcc -std=c11
layout g++ -x c++ -std=c++20
for target in "" x86_64-pc-windows-msvc arm64-apple-macos; do
  bare=${target:+-target $target -ffreestanding -nostdlibinc}
  # shellcheck disable=SC2086
  layout clang $bare -std=c11
  # shellcheck disable=SC2086
  layout clang++ $bare -x c++ -std=c++20
done

# No struct of the header is left out of either file.
names() { sed -n "$1" "$2" | sort >"$out/$3"; }
names 's/^} \(frl_[a-z_]*\);$/\1/p' plugin-api/frl_plugin.h header
sed -n 's/^typedef struct \(frl_[a-z_]*\) {.*/\1/p' plugin-api/frl_plugin.h | sort >"$out/typedefs"
names 's/^SIZE(\(frl_[a-z_]*\),.*/\1/p' $golden/layout_test.c layout
names 's/^REACH(\(frl_[a-z_]*\))$/\1/p' $golden/abi.c reach
for file in header layout reach; do diff "$out/typedefs" "$out/$file"; done

# What a compiled plugin sees: types, members, parameters.
gcc -std=c11 -g -O0 -fPIC -shared $warn $golden/abi.c -o "$out/abi.so"
if [ "$1" = --renew ]; then
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash --out-file $golden/abi.xml "$out/abi.so"
fi
abidiff --no-show-locs $golden/abi.xml "$out/abi.so"
echo "plugin ABI: $(wc -l <"$out/layout") structs are laid out as ever"
