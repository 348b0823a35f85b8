import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import type { ServerCommand } from "./faulty-server.ts";
import type { Finished, Flushed, ProducerCommand, ProducerTask, Sample } from "./producer.ts";

const program = (name: string): string => join(import.meta.dirname, `${name}.ts`);
const loader = ["--import", "tsx"];
const startLimitMs = 60_000;

/** A faulty server in a separate process, always at the same address. */
export class ServerProcess {
  readonly #journal: string;
  readonly #seed: number;
  #child: ChildProcess | undefined;
  #port = 0;
  /**
   * Part of the address. While this server is down, another program may listen at its port, and would acknowledge runs
   * that it does not write down. It has no such path.
   */
  readonly #basePath = `/${randomUUID()}`;
  #fault = "none";

  constructor(journal: string, seed: number) {
    this.#journal = journal;
    this.#seed = seed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#basePath}`;
  }

  async start(): Promise<void> {
    const child = fork(
      program("faulty-server"),
      [this.#journal, String(this.#seed), String(this.#port), this.#basePath],
      { execArgv: loader },
    );
    this.#child = child;
    const signal = AbortSignal.timeout(startLimitMs);
    const [{ port }] = (await once(child, "message", { signal })) as [{ readonly port: number }];
    this.#port = port;
    this.send({ fault: this.#fault });
  }

  /** Sends a command. The current fault is remembered, and sent again after a restart. */
  send(order: ServerCommand): void {
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

/** A recording program in a separate process. */
export class ProducerProcess {
  readonly samples: Sample[] = [];
  /** The number of records that the last short flush reported as pending. */
  pendingAtFlush = 0;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #finished: Finished | undefined;
  #errors = "";

  constructor(task: ProducerTask) {
    this.#child = fork(program("producer"), [JSON.stringify(task)], {
      execArgv: task.collectGarbage === true ? [...loader, "--expose-gc"] : loader,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-4_000);
    });
    this.#child.on("message", (message: Sample | Flushed | Finished) => {
      switch (message.is) {
        case "sample":
          this.samples.push(message);
          break;
        case "flushed":
          this.pendingAtFlush = message.pending;
          break;
        case "finished":
          this.#finished = message;
          break;
      }
    });
    this.#exited = once(this.#child, "exit");
  }

  send(order: ProducerCommand): void {
    if (this.#child.connected) {
      this.#child.send(order);
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /**
   * Asks the program to finish, and returns its counters.
   *
   * @throws Error the program ended without reporting them.
   */
  async finish(): Promise<Finished> {
    this.send({ is: "finish" });
    await this.#exited;
    if (this.#finished === undefined) {
      throw new Error(`A producer ended without a report: ${this.#errors}`);
    }
    return this.#finished;
  }
}
