-- What the archive is asked (vision/floor/archive/questions.py), for SQLite and PostgreSQL alike.
-- `:since` and `:until` are Unix milliseconds, `:until` not included; `:table` is "" for all tables.
-- `{key}` is what the rows are of. Blocks begin with `-- name:`.

-- name: alerts
SELECT {key}, count(*) FROM alert
WHERE raised_at >= :since AND raised_at < :until AND (:table = '' OR table_name = :table)
  AND severity IN ('warning', 'critical') AND code IN :codes
GROUP BY 1

-- name: coups
SELECT {key}, count(*) FROM coup
WHERE dealt_at >= :since AND dealt_at < :until AND (:table = '' OR table_name = :table)
  AND state IN ('final', 'corrected', 'void')
GROUP BY 1

-- name: remedies
SELECT {key}, raised_at, acknowledged_at, rectified_at, closed_at, in_time FROM alert
WHERE raised_at >= :since AND raised_at < :until AND (:table = '' OR table_name = :table)
ORDER BY 1

-- name: reads
SELECT {key}, sum(shoe.reads), coalesce(sum(unusual.declined), 0), coalesce(sum(unusual.keyed), 0)
FROM shoe
LEFT JOIN (
  SELECT site, table_name, numbering, shoe,
    sum(CASE WHEN declined THEN 1 ELSE 0 END) AS declined,
    sum(CASE WHEN keyed AND NOT declined THEN 1 ELSE 0 END) AS keyed
  FROM card GROUP BY site, table_name, numbering, shoe
) AS unusual ON unusual.site = shoe.site AND unusual.table_name = shoe.table_name
  AND unusual.numbering = shoe.numbering AND unusual.shoe = shoe.shoe
LEFT JOIN run ON run.site = shoe.site AND run.table_name = shoe.table_name AND run.boot = shoe.boot
WHERE begun_at >= :since AND begun_at < :until AND (:table = '' OR shoe.table_name = :table)
GROUP BY 1 ORDER BY 1

-- name: pace
SELECT table_name, dealt_at / 3600000 AS hour, count(*) FROM coup
WHERE dealt_at >= :since AND dealt_at < :until AND (:table = '' OR table_name = :table)
GROUP BY table_name, hour

-- Coups that stand, of a table and a run at once, so that the index of outcomes answers.
-- name: odds
SELECT coup.table_name, coalesce(run.profile, '') AS profile, coup.*
FROM (
  SELECT site, table_name, boot, {key}, {counts} FROM coup
  WHERE dealt_at >= :since AND dealt_at < :until AND (:table = '' OR table_name = :table)
    AND state IN ('final', 'corrected')
  GROUP BY site, table_name, boot, {key}
) AS coup
LEFT JOIN run ON run.site = coup.site AND run.table_name = coup.table_name AND run.boot = coup.boot

-- name: days
SELECT count(DISTINCT dealt_at / 86400000) FROM coup WHERE dealt_at < :until

-- name: states
SELECT table_name, at, state FROM status
WHERE at < :until AND (:table = '' OR table_name = :table)
ORDER BY table_name, at, seq

-- name: last
SELECT coalesce(max(at), 0) FROM message
