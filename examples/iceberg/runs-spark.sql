-- The runs of a deck that is an Iceberg table: the rows of one run are one. For Spark from 4.0 on.
-- deck.tapedeck.reels is the table: catalog, namespace, name.

CREATE OR REPLACE TEMPORARY VIEW all_runs AS
WITH trace AS (
  SELECT tenant, trace_id, sort_array(collect_set(part) FILTER (WHERE keep IS DISTINCT FROM 'dropped')) AS there, bool_or(area = 'replays') AS replay
  FROM deck.tapedeck.reels WHERE part IS NOT NULL GROUP BY tenant, trace_id
), ranked AS (
  SELECT r.*, t.replay, row_number() OVER (PARTITION BY r.tenant, r.run_id ORDER BY r.items DESC, r.revision DESC, r.tape_id DESC) AS place
  FROM deck.tapedeck.reels r JOIN trace t ON r.tenant = t.tenant AND r.trace_id = t.trace_id
  WHERE r.run_id IS NOT NULL AND (r.parts = t.there AND r.keep IS DISTINCT FROM 'dropped' OR size(t.there) = 0)
)
SELECT * EXCEPT (evidence, area, replay, place), if(replay, 'replays', area) AS area FROM ranked WHERE place = 1;

CREATE OR REPLACE TEMPORARY VIEW runs AS SELECT * FROM all_runs WHERE area = 'runs';
