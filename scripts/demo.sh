#!/bin/sh
# The four RGB abilities in English and Chinese: the extractive floor on every question, the embedded model on a few.
# Then a needle in a haystack.
set -eu
ragstone="$1/ragstone"
mkdir -p demo
"$ragstone" bench rgb --model local/extractive --run demo/rgb.run --json >demo/extractive.json
"$ragstone" bench rgb --model local/smollm2 --limit "${DEMO_LIMIT:-2}" --max-tokens 64 --run demo/rgb.run || [ $? -eq 3 ]
"$ragstone" report demo/rgb.run -o demo/report.html
"$ragstone" report demo/rgb.run -o demo/report.zh.html --language zh
# A small needle map by the embedded model: what is found at which length and depth, and what is refused without a needle.
"$ragstone" bench niah --model local/smollm2 --lengths 500,2000,4000 --depths 0,50,100 --max-tokens 32 --run demo/niah.run ||
    [ $? -eq 3 ]
"$ragstone" report demo/niah.run -o demo/niah.html
"$ragstone" report demo/niah.run -o demo/niah.zh.html --language zh
