import { decryptToken } from "../../storage/share-token.ts";
import type { ShareToken, TokenCipher } from "../../storage/share-token.ts";
import type { RunRow, StoredRun } from "../run-row.ts";
import { parseCost, parseRow, runColumnNames } from "./run-columns.ts";
import type { RunColumnValues } from "./run-columns.ts";

/** The columns of `runs r` that queries select for each run. */
export const runColumnsSql = ["r.tenant_id", ...runColumnNames.map((name) => `r.${name}`)].join(
  ", ",
);

/** SQL that adds the project and the share of each run. `runs` is a table or a subquery with the columns of a run. */
export const createDetailsSql = (runs: string): string =>
  `SELECT f.*, p.name_json AS project_name_json, s.sealed AS share_sealed FROM (${runs}) f
   LEFT JOIN projects p ON p.tenant_id = f.tenant_id AND p.id = f.project_id
   LEFT JOIN shares s ON s.tenant_id = f.tenant_id AND s.trace_id = f.trace_id AND s.id = f.id`;

/** A row of {@link createDetailsSql}. */
export interface DetailsRow extends RunColumnValues {
  readonly tenant_id: string;
  readonly project_name_json: string | null;
  readonly share_sealed: string | null;
}

/** A run's row, with the columns of joined tables. */
export interface FoundRun extends Pick<
  StoredRun,
  "tenantId" | "projectName" | "shareToken" | "cost"
> {
  readonly row: RunRow;
  readonly rootMicros: number;
}

/** Identifies the row to which the token of a run is bound. */
export const ownerOfRunToken = (id: string): string => `run ${id}`;

export const toFoundRun = (row: DetailsRow, tokenCipher: TokenCipher): FoundRun => ({
  row: parseRow(row),
  rootMicros: row.root_us,
  tenantId: row.tenant_id,
  projectName: row.project_name_json === null ? "" : String(JSON.parse(row.project_name_json)),
  shareToken: toShareToken(row, tokenCipher),
  cost: parseCost(row),
});

const toShareToken = ({ share_sealed: sealed, id }: DetailsRow, cipher: TokenCipher): ShareToken =>
  sealed === null ? null : decryptToken(cipher, sealed, ownerOfRunToken(id));
