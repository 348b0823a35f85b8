import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ServerOrder } from "./faulty-server.ts";
import type { Finished, Flushed, ProducerOrder, ProducerTask, Sample } from "./producer.ts";

const program = (name: string): string => join(import.meta.dirname, `${name}.ts`);
const loader = ["--import", "tsx"];
const startLimitMs = 60_000;

/** A server in a process of its own, always at the same address. */
export class ServerProcess {
  readonly #journal: string;
  readonly #seed: number;
  #child: ChildProcess | undefined;
  #port = 0;
  #fault = "none";

  constructor(journal: string, seed: number) {
    this.#journal = journal;
    this.#seed = seed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const child = fork(
      program("faulty-server"),
      [this.#journal, String(this.#seed), String(this.#port)],
      { execArgv: loader },
    );
    this.#child = child;
    const signal = AbortSignal.timeout(startLimitMs);
    const [{ port }] = (await once(child, "message", { signal })) as [{ readonly port: number }];
    this.#port = port;
    this.tell({ fault: this.#fault });
  }

  /** Remembered through a kill; what is told while it is dead is told again when it is back. */
  tell(order: ServerOrder): void {
    this.#fault = order.fault ?? this.#fault;
    if (this.#child?.connected === true) {
      this.#child.send(order);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
  }
}

/** A program that records, in a process of its own. */
export class ProducerProcess {
  readonly samples: Sample[] = [];
  /** What the last short flush reported as pending. */
  pendingAtFlush = 0;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #finished: Finished | undefined;
  #errors = "";

  constructor(task: ProducerTask) {
    this.#child = fork(program("producer"), [JSON.stringify(task)], {
      execArgv: task.collect === true ? [...loader, "--expose-gc"] : loader,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-4_000);
    });
    this.#child.on("message", (said: Sample | Flushed | Finished) => {
      switch (said.is) {
        case "sample":
          this.samples.push(said);
          break;
        case "flushed":
          this.pendingAtFlush = said.pending;
          break;
        case "finished":
          this.#finished = said;
          break;
      }
    });
    this.#exited = once(this.#child, "exit");
  }

  tell(order: ProducerOrder): void {
    if (this.#child.connected) {
      this.#child.send(order);
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /**
   * Has it come to its end and say what it counted.
   *
   * @throws Error it ended without a word.
   */
  async finish(): Promise<Finished> {
    this.tell({ is: "finish" });
    await this.#exited;
    if (this.#finished === undefined) {
      throw new Error(`A producer ended without its account: ${this.#errors}`);
    }
    return this.#finished;
  }
}
