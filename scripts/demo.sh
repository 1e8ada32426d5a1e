#!/bin/sh
# The four RGB abilities in English and Chinese: the extractive floor on every question, the embedded model on a few.
set -eu
ragstone="$1/ragstone"
mkdir -p demo
"$ragstone" bench rgb --model local/extractive --run demo/rgb.run --json >demo/extractive.json
"$ragstone" bench rgb --model local/smollm2 --limit "${DEMO_LIMIT:-2}" --max-tokens 64 --run demo/rgb.run || [ $? -eq 3 ]
"$ragstone" report demo/rgb.run -o demo/report.html
"$ragstone" report demo/rgb.run -o demo/report.zh.html --language zh
