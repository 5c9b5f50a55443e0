#!/bin/sh
# Run benchmarks/device_study.py where the project's dependencies come as a folder of wheels; nothing is fetched.
#
#   sh benchmarks/device_study.sh FOLDER [WHEELS [PART ...]]
#
# FOLDER gets the results. WHEELS are unpacked in a temporary folder and used with what is installed; `-` is none.
# COMMIT names the source where there is no .git; SECONDS_LEFT is the time for all parts (540).
set -u
out=${1:?"name a folder for the results"}
wheels=${2:--}
[ $# -gt 1 ] && shift 2 || shift 1
export PYTHONUNBUFFERED=1
if [ "$wheels" != - ]; then
    site=$(mktemp -d)
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$site" "$wheels"/*.whl || exit 1
    PYTHONPATH="$site:${PYTHONPATH:-}"
fi
export PYTHONPATH=".:${PYTHONPATH:-}"
exec python3 benchmarks/device_study.py "$out" "$@" --seconds "${SECONDS_LEFT:-540}"
