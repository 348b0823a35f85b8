import { messageOf } from "../model/errors.ts";
import type { LogConnection } from "./log-connection.ts";
import { logLimits } from "./log-limits.ts";
import { deleteOrphans } from "./orphaned-objects.ts";

/**
 * Deletes objects from the object store of NATS. Runs that are too large for a message are kept there, and the message
 * names the object. An object is deleted some time after its runs were stored. Objects that no message names are also
 * deleted: they remain if a server ends before it sends the message, or a writer before it deletes the object.
 */
export class ObjectCleaner {
  readonly #log: LogConnection;
  /** Objects whose runs were stored, and when they are to be deleted. */
  readonly #storedObjects: { readonly object: string; readonly time: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #nextSearch = Date.now() + logLimits.maintainMs;
  #step: Promise<void> = Promise.resolve();
  #hasWarned = false;

  constructor(log: LogConnection) {
    this.#log = log;
    this.#timer = setInterval(() => {
      this.#step = this.#step.then(() => this.#maintain());
    }, logLimits.maintainMs);
  }

  /** Deletes an object later, when its message can't be delivered again any more. */
  deleteLater(object: string): void {
    this.#storedObjects.push({ object, time: Date.now() + logLimits.objectGraceMs });
  }

  /** Stops deleting. A later search finds the objects that were not deleted yet. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#step;
  }

  async #maintain(): Promise<void> {
    try {
      while (this.#storedObjects[0] !== undefined && this.#storedObjects[0].time <= Date.now()) {
        await this.#log.deleteObject(this.#storedObjects[0].object);
        this.#storedObjects.shift();
      }
      if (Date.now() >= this.#nextSearch) {
        this.#nextSearch = Date.now() + logLimits.orphanMs;
        await deleteOrphans(this.#log);
      }
      this.#hasWarned = false;
    } catch (cause) {
      if (!this.#hasWarned) {
        this.#hasWarned = true;
        process.emitWarning(
          `Failed to delete objects of the ingest log; the next round tries again: ${messageOf(cause)}`,
        );
      }
    }
  }
}
