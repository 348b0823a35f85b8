import type { ImportKind } from "../model/import-source.ts";
import type { SourceClient } from "../source/source-client.ts";
import type { ImportTarget } from "./import-target.ts";

/** The two servers, and what is imported. */
export interface ImportSettings {
  readonly client: SourceClient;
  readonly target: ImportTarget;
  readonly kinds: ReadonlySet<ImportKind>;
  /** The names of the projects; `undefined` for all. */
  readonly projectNames: readonly string[] | undefined;
  /** The runs that are imported started at this time or later; `undefined` if there is no limit. */
  readonly since: string | undefined;
  /** The runs that are imported started before this time. */
  readonly until: string;
}
