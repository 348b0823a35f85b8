import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";

/** How long a server or a writer that was killed is down. */
const downMs = 2_000;

/** What a process says of the log. */
export interface LogHealth {
  readonly log?: { readonly waiting_messages?: number; readonly dead_letters?: number };
}

/** A server or a writer, which can be killed, and started again at the same address. */
export class Member {
  readonly url: string;
  readonly #start: () => StartedProcess;
  #process: StartedProcess;

  private constructor(url: string, start: () => StartedProcess) {
    this.url = url;
    this.#start = start;
    this.#process = start();
  }

  /** Resolves when the process is ready. */
  static async start(url: string, start: () => StartedProcess): Promise<Member> {
    const member = new Member(url, start);
    await member.waitUntilReady();
    return member;
  }

  async killAndRestart(): Promise<void> {
    await this.kill();
    await sleep(downMs);
    this.restart();
  }

  async kill(): Promise<void> {
    await this.#process.end("SIGKILL");
  }

  restart(): void {
    this.#process = this.#start();
  }

  /** Resolves with what the process says of the log. */
  waitUntilReady(): Promise<LogHealth> {
    return waitFor(`the process at ${this.url}`, 60_000, async () => {
      const response = await fetch(`${this.url}/health/ready`).catch(() => undefined);
      const body: unknown = await response?.json().catch(() => undefined);
      return response?.status === 200 ? (body as LogHealth) : undefined;
    });
  }
}
