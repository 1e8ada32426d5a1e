#!/bin/sh
# RGB's four abilities in English and Chinese by the extractive baseline, with its report at once; then a small needle map
# by the embedded model, and a diagnosis.
set -eu
ragstone="$1/ragstone"
mkdir -p demo
"$ragstone" bench rgb --model local/extractive --limit "${DEMO_LIMIT:-100}" --run demo/rgb.run --json >demo/extractive.json
"$ragstone" report demo/rgb.run -o demo/report.html
"$ragstone" report demo/rgb.run -o demo/report.zh.html --language zh
echo "The first report is ready: open demo/report.html. Next, a small language model searches for needles (half a minute)."
# A needle test: which needles are found by length and depth, and whether the model abstains without one.
"$ragstone" bench niah --model local/smollm2 --lengths 250,1000 --depths 0,50,100 --max-tokens 16 --data-language en \
    --run demo/niah.run || [ $? -eq 3 ]
"$ragstone" report demo/niah.run -o demo/niah.html
"$ragstone" report demo/niah.run -o demo/niah.zh.html --language zh
# A diagnosis: an application whose query rewriter is broken on purpose; its verdict names that fault and prices the fix.
HANDBOOK_FAULT=rewriter "$ragstone" diagnose examples/handbook/questions.csv --system examples/handbook/app.py:ask \
    --retriever examples/handbook/app.py:search --corpus examples/handbook/docs \
    --run demo/diagnosis.run --report demo/diagnosis.html || [ $? -eq 3 ]
"$ragstone" report demo/diagnosis.run -o demo/diagnosis.zh.html --language zh
# All of them in the viewer: served at once where somebody can end it, else the command with its address.
if [ -t 1 ]; then
    echo "Open http://127.0.0.1:8720/ for all runs (Ctrl-C ends it), or the HTML files in demo/."
    exec "$ragstone" view demo
fi
echo "Open demo/report.html, or run '$ragstone view demo' and open http://127.0.0.1:8720/"
