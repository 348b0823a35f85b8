import { markMetricsFunction } from "../../metrics/postgres/metric-tables.ts";
import { publicPromptPolicies, tenantPolicies } from "../../storage/postgres/tenant-policies.ts";
import { postgresIngestCountTables } from "../../tenants/ingest-counts.ts";
import { valueCandidateTables } from "../../runs/postgres/unused-values.ts";
import { threadListIndex } from "../../runs/postgres/run-tables.ts";
import { expiredWeekTables } from "../../runs/retention/postgres/expired-weeks.ts";
import { createMeasureIndexes } from "../../runs/tables/run-measure-tables.ts";
import { sharedTextTables } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { postgresRuns } from "./postgres-runs.ts";
import { resourceTables } from "./resource-tables.ts";

/** For each format of a PostgreSQL database, the SQL that leads to it. Entries are only appended. */
export const postgresFormats: readonly string[] = [
  `${resourceTables} ${tenantPolicies} ${publicPromptPolicies}`,
  ...postgresRuns.tables.slice(0, 1),
  `${postgresIngestCountTables} ${tenantPolicies}`,
  // Metrics and the text index came later than the counts.
  ...postgresRuns.tables.slice(1),
  `${sharedTextTables} ${tenantPolicies}`,
  `${expiredWeekTables} ${valueCandidateTables} ${markMetricsFunction} ${tenantPolicies}`,
  createMeasureIndexes,
  // The trigger also marks the roots above runs with a first token.
  markMetricsFunction,
  threadListIndex,
];
