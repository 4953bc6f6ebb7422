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
# The first bytes say the format; or which package it is, of which part.
before() { # target, name, file, numbers
    mkdir -p "fuzz/corpus/$1"
    { printf '%b' "$4" && cat "$3"; } >"fuzz/corpus/$1/$2"
}
number=0
for ending in csv tsv json xml rst; do
    before structured "$ending" "tests/formats/mill.$ending" "\\x0$number"
    number=$((number + 1))
done
for ending in docx pptx xlsx odt ods odp epub; do
    before packages "$ending" "tests/formats/mill.$ending" '\x00\x00'
done
# Each part of each package once by itself.
python3 - <<'PYTHON'
import pathlib, zipfile

for number, ending in enumerate("docx pptx xlsx odt ods odp epub".split()):
    with zipfile.ZipFile(f"tests/formats/mill.{ending}") as package:
        for part, name in enumerate(package.namelist()):
            seed = bytes([4 * number + 1, part]) + package.read(name)
            pathlib.Path(f"fuzz/corpus/packages/{ending}-{part}").write_bytes(seed)
PYTHON
mkdir -p fuzz/corpus/frames
# A frame with its checksums: an event of a text.
python3 - <<'PYTHON'
import pathlib, struct, zlib

def header(name, value):
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()

def frame(event, payload):
    headers = header(":event-type", event) + header(":message-type", "event")
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    return start + headers + payload + struct.pack(">I", zlib.crc32(start + headers + payload))

frames = frame("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"Hel"}}') + frame("messageStop", b'{"stopReason":"end_turn"}')
pathlib.Path("fuzz/corpus/frames/text").write_bytes(b"\x07" + frames)
PYTHON
