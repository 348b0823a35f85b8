import type { ImportKind } from "../model/import-source.ts";
import type { SourceClient } from "../source/source-client.ts";
import type { ImportTarget } from "./import-target.ts";

/** The two servers, and the data to import. */
export interface ImportSettings {
  readonly client: SourceClient;
  readonly target: ImportTarget;
  readonly kinds: ReadonlySet<ImportKind>;
  /** The names of the projects; `undefined` for all. */
  readonly projectNames: readonly string[] | undefined;
  /** Only runs that started at this time or later are imported; `undefined` if there is no limit. */
  readonly since: string | undefined;
  /** Only runs that started before this time are imported. */
  readonly until: string;
}
