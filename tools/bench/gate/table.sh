#!/bin/sh
# Writes tools/bench/gate/GATE.md anew: every fusion, measured fused and not, beside what the gate
# says. Run it from the root of the tree.
#   usage  tools/bench/gate/table.sh [BUILD]     build/release unless given
# The cpu runs one thread and counts processor time, so that what else the machine does falls out;
# tpu-sim is judged by its simulated clock.
set -e
build=${1:-build/release}
out=tools/bench/gate/GATE.md
{
  echo "# Gate honesty"
  echo
  echo "Written by \`tools/bench/gate/table.sh\`. Times are of one run in us; ratio is unfused over"
  echo "fused; pairs within 5 % count as the same. The gate goes by the plugin's rates (cpu) or its"
  echo "estimates (tpu-sim)."
  echo
  echo "## cpu: one thread, processor time, medians of 301 samples in turn"
  echo
  "$build"/bin/ferrule bench --fusion-table --target cpu --threads 1 --processor-time --repeat 301
  echo
  echo "## tpu-sim: simulated time"
  echo
  "$build"/bin/ferrule bench --fusion-table --plugins "$build"/simulators --target tpu-sim
} > $out.new
mv $out.new $out
tail -1 $out
