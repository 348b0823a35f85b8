import { RequestError } from "../model/errors.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { explainWriteRefusal, moveSetting, parseMoveMark } from "./move-mark.ts";

/** Seconds after which a client may send a refused write again. */
const retrySeconds = 5;

/** Refuses writes while the data is being moved to another database. */
export class MoveWriteGuard {
  readonly #find;

  constructor(db: Connection) {
    this.#find = db.prepare(`SELECT value FROM settings WHERE key = '${moveSetting}'`).raw();
  }

  /**
   * Returns the error for writes while the move refuses them, as the current transaction sees it; `undefined` if writes
   * are accepted.
   */
  check(): RequestError | undefined {
    const reason = explainWriteRefusal(
      parseMoveMark(parseRows(this.#find.all())[0]?.[0]),
      Date.now(),
    );
    return reason === undefined ? undefined : new RequestError(503, reason, retrySeconds);
  }
}
