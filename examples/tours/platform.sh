#!/bin/sh
# A platform engineer has agents that send OTLP, and a bucket. TAPEDECK_DECK names it; the ports come from the environment as in examples/.
. "$(dirname "$0")/common.sh"
recordings
cd "$work"
TAPEDECK_DECK=${TAPEDECK_DECK:-file://$work/deck}
TAPEDECK_SPOOL=$work/spool
TAPEDECK_REDACTION_KEY=tour-9f3c1b7e52a84d06c1e9a7730b5f2d48 # take: openssl rand -hex 32
export TAPEDECK_DECK TAPEDECK_SPOOL TAPEDECK_REDACTION_KEY
config=$root/examples/s3/collector.yaml
health=http://${HEALTH_ENDPOINT:-127.0.0.1:13133}
otlp=http://${OTLP_HTTP_ENDPOINT:-127.0.0.1:4318}
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true' EXIT

await() { # await WHAT COMMAND…: until it succeeds, a minute at most
	what=$1; shift
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ "$i" -lt 300 ] && { [ -z "$server" ] || kill -0 "$server"; } || { tail -n 5 collector.log >&2; fail "$what"; }
		sleep 0.2
	done
}
start() {
	otelcol-tapedeck --config "$config" >collector.log 2>&1 &
	server=$!
	await 'the collector is not alive' curl -sf "$health"
}
send() { curl -sSf -o /dev/null -H 'Content-Type: application/json' --data-binary "@$1" "$otlp/v1/$2"; }
has() { tapedeck show "$TAPEDECK_DECK" | grep -q "^$1"; }

step 'A key that is none is refused, by name.'
ends 1 env TAPEDECK_REDACTION_KEY=short otelcol-tapedeck validate --config "$config"
says err 'redaction key: 5 bytes, at least 32 are needed'

step 'The program names its version, and its components have it.'
version=$(tapedeck version | sed 's/tapedeck \([^,]*\),.*/\1/')
ends 0 otelcol-tapedeck components
says out "github.com/tapedeck/tapedeck v$version"

step 'Start, send, and the run is in the bucket.'
start
send good.jsonl traces
await 'the run is not in the deck' has 5666c55d
ends 0 tapedeck verify "$TAPEDECK_DECK"
says out 'ok 5666c55d'

step 'Kill it right behind an acknowledged request. The next start finds the run in the spool.'
send bad.jsonl traces
kill -9 "$server"
wait "$server" 2>/dev/null || true
server=
ends 0 tapedeck spool inspect "$TAPEDECK_SPOOL"
start
await 'the run of the killed process is not in the deck' has 6666c55d

step 'An agent whose content switch is off: show names one cause, doctor the setting.'
send "$recorded/openai-otel-contrib-nocontent/research_chain.otlp.json" traces
await 'the run is not in the deck' has b2436201
ends 0 tapedeck show b24362012aab --deck "$TAPEDECK_DECK"
says out 'the telemetry holds the structure of the run and not its content'
ends 1 tapedeck doctor "$TAPEDECK_DECK"
says out '→ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY'

step 'No secret lies in the bucket.'
ends 0 tapedeck verify --secrets "$TAPEDECK_DECK"

step 'A person under another key cannot damage it.'
ends 2 env TAPEDECK_REDACTION_KEY=other-2b7d94c6f10e8a35d2769bc4e81f0537 tapedeck derive good.jsonl --to "$TAPEDECK_DECK"
says err 'name the key of the deck with --redaction-key-file'

step 'Stop.'
kill -INT "$server"
wait "$server"
server=
