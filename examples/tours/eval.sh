#!/bin/sh
# An eval engineer has a deck with recorded runs and wants a gate: does the new version of the agent still do the same?
. "$(dirname "$0")/common.sh"
recordings
cd "$work"
run=5666c55d
listen=${ORACLE_LISTEN:-127.0.0.1:8321}

step 'The recorded runs.'
ends 0 tapedeck derive good.jsonl "$recorded/langchain-openinference/llm_failure.otlp.json" --to ./deck

step 'Gate 1: the records are whole.'
ends 0 tapedeck verify ./deck
says out 'ok 5666c55d'

step 'Gate 2: they are consistent. A run that failed is no inconsistency …'
ends 0 tapedeck replay ./deck
says out 'consistent; run status: error'

step '… unless the gate says so.'
ends 1 tapedeck replay ./deck --fail-on-status error

step 'Gate 3: the new version asks the oracle instead of its tools. It asks for something that was never recorded.'
tapedeck serve --oracle ./deck --listen "$listen" >oracle.out 2>oracle.err &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
i=0
until curl -sf "http://$listen/healthz" >/dev/null; do
	i=$((i + 1))
	[ "$i" -lt 200 ] && kill -0 "$server" || { cat oracle.err >&2; fail 'the oracle did not start'; }
	sleep 0.1
done
ask() { curl -sS -H 'Content-Type: application/json' -d "{\"replay_run_id\":\"ci-1\",\"tool_name\":\"calculate\",\"args\":{\"expression\":\"$1\"}}" "http://$listen/v1/runs/$run/tool-calls"; }
ask '8849 / 330' >out && says out '"response":"26.815151515151516"'
ask '330 / 8849' >out && says out '"hit":false,"reason":"no_entry"'
kill "$server"
code=0
wait "$server" || code=$?
trap - EXIT
[ "$code" = 1 ] || fail "serve ended with $code although a call was missed"
says oracle.err 'no_entry: calculate'

step 'Gate 4: other actions than recorded. The telemetry of the new version is compared as it is.'
sed -e '0,/"attributes": *\[/s//&{"key":"replay_run_id","value":{"stringValue":"ci-1"}},{"key":"replay_of","value":{"stringValue":"5666c55d27d216df3e87b09e020d2036-e68a83e31e7e69b4"}},/' bad.jsonl >replayed.jsonl
ends 1 tapedeck bisect "$run" replayed.jsonl --deck ./deck --compare actions
says out 'the model asked `calculate` for 330 / 8849 instead of 8849 / 330'

step 'Gate 5: another answer than recorded, noted in the deck.'
ends 0 tapedeck derive replayed.jsonl --to ./replayed
tape=$(sed 's/.*"url":"\([^"]*\)".*/\1/' out)
ends 1 tapedeck match "$run" "$tape" --deck ./deck --record
says out '"match_status":"no_match"'
says out '"noted":true'

step 'Gate 6: no secret lies in the deck.'
ends 0 tapedeck verify --secrets ./deck

step 'A version that does the same passes all of it.'
ends 0 tapedeck bisect "$run" good.jsonl --deck ./deck --compare actions
