import { LogConnection } from "./log-connection.ts";
import { listDeadLetters, replayDeadLetters } from "./dead-letters.ts";
import { logLimits } from "./log-limits.ts";
import type { DeadLetter, LogState } from "./log-report.ts";
import { readLogState } from "./log-state.ts";
import { parseLogUrl } from "../model/log-target.ts";

/** Reads the state of the ingest log for programs outside the server, and replays dead letters. */
export class IngestLog {
  readonly #log: LogConnection;

  private constructor(log: LogConnection) {
    this.#log = log;
  }

  /**
   * Connects to a log that a server has created.
   *
   * @param url - `nats://HOST,HOST,HOST`, with credentials before the first host if the servers require them
   * @throws OptionError the URL is malformed.
   * @throws {@link ServerError} the log can't be reached, or no server has created one.
   */
  static async open(url: string): Promise<IngestLog> {
    return new IngestLog(await LogConnection.openExisting(parseLogUrl(url)));
  }

  /** The address without credentials. */
  get address(): string {
    return this.#log.address;
  }

  /** Reads how much waits in the log, and how much it may contain. */
  readState(): Promise<LogState> {
    return readLogState(this.#log);
  }

  /** Lists messages whose runs could not be stored, the oldest first. */
  listDeadLetters(limit: number = logLimits.listedLetters): Promise<readonly DeadLetter[]> {
    return listDeadLetters(this.#log, limit);
  }

  /**
   * Puts dead letters back into the log, to be stored again: those with the given numbers, or all. Returns how many
   * were replayed. The call may be repeated, because a run is stored only once.
   *
   * @throws RequestError there is no dead letter with one of the numbers, or the log is full or can't be reached.
   */
  replay(sequences: readonly number[] | "all"): Promise<number> {
    return replayDeadLetters(this.#log, sequences);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}
