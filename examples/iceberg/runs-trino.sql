-- The runs of a deck that is an Iceberg table: the rows of one run are one. For Trino.
-- deck.tapedeck is catalog and namespace; reels is the table.

CREATE OR REPLACE VIEW deck.tapedeck.all_runs AS
WITH trace AS (
  SELECT tenant, trace_id, array_sort(array_agg(DISTINCT part) FILTER (WHERE keep IS DISTINCT FROM 'dropped')) AS there, bool_or(area = 'replays') AS replay
  FROM deck.tapedeck.reels WHERE part IS NOT NULL GROUP BY tenant, trace_id
), ranked AS (
  SELECT r.*, t.replay, row_number() OVER (PARTITION BY r.tenant, r.run_id ORDER BY r.items DESC, r.revision DESC, r.tape_id DESC) AS place
  FROM deck.tapedeck.reels r JOIN trace t ON r.tenant = t.tenant AND r.trace_id = t.trace_id
  WHERE r.run_id IS NOT NULL AND (r.parts = t.there AND r.keep IS DISTINCT FROM 'dropped' OR t.there IS NULL)
)
SELECT date, tenant, trace_id, root_span_id, run_id, conversation_id, invocation_id, correlation_id, task_id, workflow_id, replay_run_id, replay_of,
  started_at, ended_at, duration_ms, service, environment, agent, agent_version, provider, models, status, error_type, grade, verified, unverifiable,
  events, model_calls, tool_calls, tools, input_tokens, output_tokens, cost_usd, findings, user_message, dialects, rules, prompt_name, prompt_version,
  verdicts, response_ids, judged, evidence_bytes, tape_bytes, part, parts, items, producer, formats, files, revision, tape_id, signature, redaction_policy, redaction_key_id,
  complete, keep, tape,
  if(replay, 'replays', area) AS area FROM ranked WHERE place = 1;

CREATE OR REPLACE VIEW deck.tapedeck.runs AS SELECT * FROM deck.tapedeck.all_runs WHERE area = 'runs';
