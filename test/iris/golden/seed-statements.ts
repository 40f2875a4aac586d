/** The statements of iris_job_cpu_time.py, as it sends them. */
export function seedStatements(root: string) {
  const list = (ids: readonly string[]): string => ids.map((id) => `'${id.replaceAll("'", "''")}'`).join(", ");
  return {
    leaves: `SELECT job_id, parent_job_id FROM jobs WHERE job_id = '${root}' OR job_id LIKE '${root}/%'`,
    tasks: (leaves: readonly string[], includeFailed: boolean) => `
            SELECT COUNT(DISTINCT t.task_id)                            AS leaf_tasks,
                   COALESCE(SUM(t.finished_at_ms - t.started_at_ms), 0) AS cpu_wall_ms
            FROM tasks t
            WHERE t.job_id IN (${list(leaves)})
              AND t.started_at_ms IS NOT NULL
              AND t.finished_at_ms IS NOT NULL
              AND t.finished_at_ms > t.started_at_ms
              ${includeFailed ? "" : "AND t.state = 4"}
        `,
    samples: (leaves: readonly string[]) => `
            WITH per_attempt AS (
              SELECT task_id,
                     attempt_id,
                     EXTRACT(EPOCH FROM (max(ts) - min(ts))) AS wall_s,
                     avg(cpu_millicores)                     AS avg_cpu_m
              FROM "iris.task"
              WHERE regexp_replace(task_id, '/[0-9]+$', '') IN (${list(leaves)})
              GROUP BY task_id, attempt_id
            )
            SELECT count(DISTINCT task_id)                       AS leaf_tasks,
                   round(sum(wall_s) * 1000)                     AS approx_cpu_wall_ms,
                   round(sum(wall_s * avg_cpu_m / 1000.0), 1)    AS integrated_cpu_seconds
            FROM per_attempt
        `,
  };
}
