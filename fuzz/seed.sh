#!/usr/bin/env bash
# Fills fuzz/corpus with what the repository has of each kind; run again, it adds what is new.
set -euo pipefail
cd "$(dirname "$0")/.."
seed() { # target, file
    mkdir -p "fuzz/corpus/$1"
    cp "$2" "fuzz/corpus/$1/$(sha1sum "$2" | cut -c1-16)"
}
while IFS= read -r file; do
    case $file in
        *.pdf) seed pdf "$file" ;;
        *.html | *.htm) seed html "$file" ;;
        *.md | *.txt) seed markdown "$file" && seed citations "$file" ;;
    esac
done < <(find examples/library -type f)
mkdir -p fuzz/corpus/{sse,json}
printf 'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"search_web","arguments":"{\\"queries\\":"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\ndata: [DONE]\n' >fuzz/corpus/sse/chunks
printf '{"results":[{"url":"https://example.org/a","title":"A","content":"b","raw_content":null,"score":0.5,"published_date":"2031-03-10"}]}' >fuzz/corpus/json/results
printf '```json\n{"name":"search_web","arguments":{"queries":["a"]}}\n```\n<tool_call>{"name":"search_web","arguments":{}}</tool_call>' >fuzz/corpus/json/calls
printf '# R\n\nIt is so [S1001][S1002, S2001]. See [a](https://example.org/a) and <https://b.test>.\n\n```\n[S1001]\n```\n\n## Sources\n\n1. https://c.test\n' >fuzz/corpus/citations/report
