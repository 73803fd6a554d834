-- The runs of a deck that is an Iceberg table: the rows of one run are one. For DuckDB.
-- reels is the table: a view of iceberg_scan('…'), of an attached catalog, or what PyIceberg has scanned.

CREATE OR REPLACE TEMPORARY VIEW all_runs AS
WITH trace AS (
  SELECT tenant, trace_id, list_sort(list(DISTINCT part) FILTER (WHERE keep IS DISTINCT FROM 'dropped')) AS there, bool_or(area = 'replays') AS replay
  FROM reels WHERE part IS NOT NULL GROUP BY ALL
)
SELECT r.* EXCLUDE (evidence, area), if(t.replay, 'replays', r.area) AS area
FROM reels r JOIN trace t USING (tenant, trace_id)
WHERE r.run_id IS NOT NULL AND (r.parts = t.there AND r.keep IS DISTINCT FROM 'dropped' OR t.there IS NULL)
QUALIFY row_number() OVER (PARTITION BY r.tenant, r.run_id ORDER BY r.items DESC, r.revision DESC, r.tape_id DESC) = 1;

CREATE OR REPLACE TEMPORARY VIEW runs AS SELECT * FROM all_runs WHERE area = 'runs';
