#!/bin/sh
# MIRAGE on 200 invented questions and their 1,000 chunks: three retrievers, three k, the extractive floor on every
# question, the embedded model on a few.
set -eu
ragstone="$1/ragstone"
mkdir -p demo
sweep="bench mirage --retriever bm25 --retriever local/e5-small --retriever hybrid(bm25,local/e5-small) --run demo/mirage.run"
"$ragstone" $sweep --model local/extractive --top-k 1,3,5
"$ragstone" $sweep --model local/smollm2 --top-k 1,5 --limit "${DEMO_LIMIT:-4}" --max-tokens 48 || [ $? -eq 3 ]
"$ragstone" report demo/mirage.run -o demo/mirage.html
"$ragstone" report demo/mirage.run -o demo/mirage.zh.html --language zh
