-- What the archive is asked (vision/floor/archive/questions.py), for SQLite and PostgreSQL alike.
-- `:since` and `:until` are Unix milliseconds, `:until` not included; `:table` is "" for all tables.
-- `{key}` is what the rows are of. Blocks begin with `-- name:`.

-- name: alerts
SELECT {key}, count(*) FROM alert
WHERE raised_at >= :since AND raised_at < :until AND (:table = '' OR table_name = :table)
  AND severity IN ('warning', 'critical') AND code IN :codes
GROUP BY 1

-- name: closed
SELECT {key}, count(*), sum(CASE WHEN category = 'reader' THEN 1 ELSE 0 END) FROM alert
WHERE raised_at >= :since AND raised_at < :until AND (:table = '' OR table_name = :table)
  AND severity <> 'info' AND category IS NOT NULL
GROUP BY {key} ORDER BY {key}

-- name: coups
SELECT {key}, count(*) FROM coup
WHERE dealt_at >= :since AND dealt_at < :until AND (:table = '' OR table_name = :table)
  AND state IN ('final', 'corrected', 'void')
GROUP BY 1

-- name: remedies
SELECT {key}, raised_at, acknowledged_at, rectified_at, closed_at, in_time FROM alert
WHERE raised_at >= :since AND raised_at < :until AND (:table = '' OR table_name = :table)
ORDER BY 1

-- A card that was declined and keyed in is named in its coup, though nobody read it.
-- name: reads
SELECT {key}, sum(named), sum(declined), sum(corrected) FROM (
  SELECT site, table_name, boot, dealt_at AS at, named, 0 AS declined, 0 AS corrected FROM coup
  UNION ALL
  SELECT site, table_name, min(boot), min(at), -max(declined) * max(keyed), max(declined),
    max(keyed) * (1 - max(declined))
  FROM card GROUP BY site, table_name, shoe, position
) AS fact
LEFT JOIN run ON run.site = fact.site AND run.table_name = fact.table_name AND run.boot = fact.boot
WHERE at >= :since AND at < :until AND (:table = '' OR fact.table_name = :table)
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
