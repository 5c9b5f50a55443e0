#!/bin/sh
# Search the frozen problems of `antennaopt bench search`, or the problems on which the rule of `auto` was made, on a
# device: sh benchmarks/search_suite.sh suite|rule FOLDER [SECONDS]. Run it again to go on where the time ended.
set -e
set=$1 folder=$2 limit=${3:-225}
if [ "$set" = rule ]; then
    given="--first-seed 101 --algorithm ga --algorithm ga_1/n --algorithm cmaes --algorithm de"
    for file in "$(dirname "$0")"/search_rule/*.toml; do given="$given --problem $file"; done
else
    given="--problem all"
fi
mkdir -p "$folder"
exec "${PYTHON:-python}" -m antennaopt bench search $given --seeds 11 --backend "${BACKEND:-cuda}" --time-limit "$limit" \
    --store "$folder/search_$set.jsonl" --json "$folder/search_$set.json" --plot "$folder/search_$set.svg"
