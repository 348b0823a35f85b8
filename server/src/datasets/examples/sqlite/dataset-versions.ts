import { RequestError } from "../../../model/errors.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { prepareQuery } from "../../../storage/sqlite/sqlite-database.ts";
import { tokenKeysOf } from "../../../storage/sqlite/token-keys.ts";
import type { Dataset } from "../../dataset.ts";
import { datasetQueries } from "../../dataset-queries.ts";
import type { CurrentAuthor } from "../../version-author.ts";
import { parseDatasetRow } from "../../dataset-row.ts";

/**
 * The counterpart of `DatasetVersions` for long writes, which run in slices. Its methods are synchronous, because each
 * slice runs synchronously.
 */
export class SqliteDatasetVersions {
  readonly #author: CurrentAuthor;
  readonly #tokens;
  readonly #queries;

  constructor(db: Connection, author: CurrentAuthor) {
    this.#author = author;
    const { find, insertVersion, setVersion } = datasetQueries;
    this.#tokens = tokenKeysOf(db);
    this.#queries = {
      find: prepareQuery(db, find),
      insertVersion: prepareQuery(db, insertVersion),
      setVersion: prepareQuery(db, setVersion),
    };
  }

  /** @throws RequestError 404: no such dataset. */
  readDataset(tenantId: string, id: string): Dataset {
    const [row] = this.#queries.find.all({ tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return parseDatasetRow(row, this.#tokens);
  }

  /** Adds a version, and changes the number of examples of the dataset by `countChange`. */
  addVersion({ id, tenantId }: Dataset, micros: number, countChange: number): void {
    this.#queries.insertVersion.run({
      tenant_id: tenantId,
      dataset_id: id,
      at_us: micros,
      author_json: this.#author.toJson(),
    });
    this.#queries.setVersion.run({ id, micros, countChange });
  }
}
