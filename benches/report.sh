#!/usr/bin/env bash
# Runs every benchmark in release and writes docs/PERFORMANCE.md from the lines benches/README.md describes.
set -euo pipefail
cd "$(dirname "$0")/.."
report=$(mktemp)
trap 'rm -f "$report"' EXIT

cores=$(nproc 2>/dev/null || sysctl -n hw.ncpu)
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null || true)
{
    echo "# Performance"
    echo
    echo "Written by \`benches/report.sh\`: everything here was measured in one go, in release, by the code of"
    echo "this tree. Ratios compare two things measured in turn in the same run."
    echo
    echo "Measured with ${cores} cores (${processor:-unknown processor}), ${memory:-unknown} memory, $(uname -sm), $(rustc --version | cut -d' ' -f1-2)."
} >"$report"

for file in benches/*.rs; do
    name=$(basename "$file" .rs)
    echo "== $name" >&2
    output=$(cargo bench --quiet --bench "$name" | tee >(cat >&2))
    rows=$(grep -P '^bar\t' <<<"$output" || true)
    [ -n "$rows" ] || continue
    {
        echo
        echo "## $name"
        echo
        sed -n '1s/^\/\/! *//p' "$file"
        echo
        echo "| what | measured | bar | met |"
        echo "|---|---|---|---|"
        awk -F'\t' '{
            limit = $5 == "-" ? "" : "≤ " $5 " " $4
            met = $6 == "-" ? "" : ($6 == "yes" ? "yes" : "**no**")
            printf "| %s | %s %s | %s | %s |\n", $2, $3, $4, limit, met
        }' <<<"$rows"
    } >>"$report"
done
cp "$report" docs/PERFORMANCE.md
chmod 644 docs/PERFORMANCE.md
echo "wrote docs/PERFORMANCE.md" >&2
