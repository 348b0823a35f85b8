// While the data of a folder is moved to PostgreSQL, a setting in the folder's database records the state of the move.
// The writer reads this setting in each transaction, so that no write is committed once the move refuses writes.

/** The key of the setting, in both databases. */
export const moveSetting = "move";

/**
 * The state of a move. `copying`: writes are accepted, and recorded by triggers. `switching`: writes are refused until
 * `untilMs`, which the move extends while it runs. `moved`: the data is in PostgreSQL, and writes are refused for good.
 */
export interface MoveMark {
  readonly id: string;
  readonly state: "copying" | "switching" | "moved";
  /** Until when writes are refused in the state `switching`, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** Parses a stored mark; `undefined` if there is none. */
export const parseMoveMark = (text: unknown): MoveMark | undefined =>
  typeof text === "string" ? (JSON.parse(text) as MoveMark) : undefined;

/** Why writes are refused at the moment; `undefined` if they are accepted. */
export function explainWriteRefusal(mark: MoveMark | undefined, nowMs: number): string | undefined {
  if (mark?.state === "moved") {
    return "the data of this server was moved to PostgreSQL: start the server with --store, or undo the move with millrace move --abandon; clients keep what they could not send";
  }
  return mark?.state === "switching" && mark.untilMs > nowMs
    ? "the data of this server is being moved to PostgreSQL; retry later"
    : undefined;
}
