#!/bin/sh
# What a machine with a CUDA device does with whole studies: doctor, the headline of ten thousand lenses, and the
# reference lens end to end. Nothing is fetched from anywhere; needs the project and its dependencies for python3.
#
#   sh benchmarks/device_study.sh FOLDER [WHEELS]
#
# FOLDER gets doctor.json, evaluate.json, study.log, study.json (where the time went), timeline.jsonl, manifest.json,
# antenna.toml, result.json, certificates.json, report.html and evals/ (every antenna ever solved). WHEELS is a folder of
# wheels to use beside what is installed; they are unpacked in a temporary folder.
set -u
out=${1:?"name a folder for the results"}
mkdir -p "$out"
runs=$(mktemp -d)
if [ $# -gt 1 ]; then
    site=$(mktemp -d)
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$site" "$2"/*.whl || exit 1
    export PYTHONPATH="$site:${PYTHONPATH:-.}"
fi
export PYTHONPATH="${PYTHONPATH:-.}" PYTHONUNBUFFERED=1

python3 -m antennaopt doctor --json "$out/doctor.json" || echo "doctor: the self-test failed" >&2
python3 -m antennaopt doctor --no-self-test | grep -v '^scheme'
began=$(date +%s.%N)
folder=$(python3 -m antennaopt run experiments/ten_thousand.toml --backend cuda --out "$runs" 2>"$out/study.log" | tail -n 1)
ended=$(date +%s.%N)
cat "$out/study.log"
[ -d "$folder" ] || exit 1
python3 benchmarks/device_study.py "$folder" "$out" "$began" "$ended"

python3 -m antennaopt bench evaluate --backend cuda --json "$out/evaluate.json"
