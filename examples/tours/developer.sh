#!/bin/sh
# An agent developer has the telemetry of a run that answered wrongly, and of one that answered well.
. "$(dirname "$0")/common.sh"
recordings
cd "$work"

step 'Does my telemetry hold what is needed?'
ends 0 tapedeck doctor bad.jsonl
says out 'nothing is missing'

step 'And where the content switch is off: which setting brings it?'
ends 1 tapedeck doctor "$recorded/openai-otel-contrib-nocontent/research_chain.otlp.json"
says out '→ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY'

step 'What did the agent do?'
ends 0 tapedeck show bad.jsonl
says out 'asks     calculate {"expression":"330 / 8849"}'
says out 'text     About 0.04 times'

step 'Where did it go wrong? The first line says it; the page shows it side by side.'
ends 1 tapedeck bisect good.jsonl bad.jsonl --html page.html
[ "$(head -n 1 out)" = 'The runs part at event 5: the model asked `calculate` for 330 / 8849 instead of 8849 / 330.' ] || fail 'the first line'
says out 'A  ok  About 26.8 times'
says out 'B  ok  About 0.04 times'
says page.html 'The runs part at event 5'

step 'The same agent in another framework: only what differs counts, not how a framework writes it down.'
ends 0 tapedeck bisect good.jsonl "$recorded/genkit/research_chain.otlp.json"
says out 'alike as JSON, not as text'

step 'Keep the tapes, find one by the beginning of its id.'
ends 0 tapedeck derive good.jsonl bad.jsonl --to ./deck
ends 0 tapedeck show ./deck
says out '6666c55d  '
ends 0 tapedeck show 6666c55d --deck ./deck

step 'A wrong guess is told what would be right.'
ends 2 tapedeck show 6666c55d
says err 'name its deck with --deck'
ends 2 tapedeck verify bad.jsonl
says err 'tapedeck derive bad.jsonl --to DECK makes tapes of it'
