import { clock } from "../../model/clock.ts";
import { microsToIso, stampLength, stampToIso, uuidLength } from "../../model/dotted-order.ts";
import type { KeyValues, WireRun } from "../../model/run.ts";
import { formatError } from "../tape/error-text.ts";
import { runSymbol } from "./foreign-run.ts";
import { toInheritingClient } from "./langchain/inherited-ids.ts";
import { childConfigKey, contextVariablesKey, nestConfig } from "./langchain/nested-config.ts";
import { isPlainObject, mergeTags, toTags } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { RunTree } from "./run-tree.ts";
import { isObject } from "../tape/override-methods.ts";

/** The key under which LangChain's tracing library collects promises that the end of a run waits for. */
const endPromisesKey = Symbol.for("lc:child_run_end_promises");

/** An array that stays empty. LangChain appends child runs to it, which must not accumulate in memory. */
class EmptyList extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override push(): number {
    return 0;
  }
}

const emptyList = new EmptyList();

/** An object whose fields are not known. */
type Fields = Readonly<Record<PropertyKey, unknown>>;

/** Constructor arguments of {@link LangsmithBridge}, in addition to its run. */
interface BridgeInit {
  /** The context store that was current before this run. */
  readonly outer?: unknown;
  /** Set for a run that LangChain's tracing library starts and records through this client. */
  readonly libraryRun?: { readonly parent: LangsmithBridge; readonly config: Fields };
}

/**
 * Represents a Millrace run in the context shared with LangChain, in the shape that LangChain and its tracing library
 * expect. They create their runs as children of it and record them through its client. The properties are fields, not
 * getters, because these libraries copy the object by spreading it.
 *
 * There are two kinds. The first represents a run that Millrace records; its `postRun` and `patchRun` do nothing. The
 * second represents a run of the library, which creates it with `createChild`, sets its fields and decides when to
 * record it.
 */
export class LangsmithBridge {
  readonly [runSymbol]: RunTree;
  readonly id: string;
  readonly trace_id: string;
  readonly dotted_order: string;
  readonly parent_run_id: string | undefined;
  readonly parent_run: LangsmithBridge | undefined;
  readonly client: TracingClient;
  readonly project_name: string;
  readonly start_time: string;
  tracingEnabled: boolean;
  name: string;
  run_type: string;
  extra: Record<PropertyKey, unknown>;
  tags: readonly string[] | undefined;
  inputs: unknown;
  outputs: unknown;
  error: unknown;
  end_time: unknown;
  events: unknown[] | undefined;
  serialized: unknown;
  reference_example_id: unknown;
  attachments: unknown;
  /** The attachments that were sent with the start of the run. */
  #postedAttachments: unknown;
  child_runs: unknown[] = emptyList;
  execution_order = 1;
  child_execution_order = 1;
  _awaitInputsOnPost = false;

  constructor(run: RunTree, { outer, libraryRun }: BridgeInit) {
    this[runSymbol] = run;
    this.id = run.id;
    this.trace_id = run.traceId;
    this.dotted_order = run.dottedOrder;
    this.parent_run_id = run.parentRunId;
    this.parent_run = libraryRun?.parent;
    const outerRun = libraryRun?.parent ?? outer;
    this.client = toInheritingClient(run, isObject(outerRun) ? outerRun["client"] : undefined);
    this.project_name = run.projectName;
    this.start_time = stampToIso(run.dottedOrder.slice(-stampLength - uuidLength, -uuidLength));
    this.name = run.name;
    this.run_type = run.runType;
    this.tags = run.tags;
    const config = libraryRun?.config;
    this.tracingEnabled = config?.["tracingEnabled"] !== false;
    const metadata = run.metadata === undefined ? {} : { ...run.metadata };
    this.extra = config === undefined ? { metadata } : { ...readExtra(config), metadata };
    this.inputs = config?.["inputs"];
    this.serialized = config?.["serialized"];
    this.reference_example_id = config?.["reference_example_id"];
    this.attachments = config?.["attachments"];
    this.#copyContext(outerRun, config);
  }

  /** @internal Called by LangChain's tracing library, like all methods below. */
  createChild(config: Fields): LangsmithBridge {
    const metadata = isPlainObject(config["metadata"]) ? config["metadata"] : undefined;
    const extraMetadata = readExtra(config)["metadata"];
    const options = {
      id: config["id"],
      name: config["name"],
      runType: config["run_type"],
      projectName: this.project_name,
      tags: config["tags"],
      metadata: {
        ...readMetadata(this.extra),
        ...metadata,
        ...(isPlainObject(extraMetadata) ? extraMetadata : undefined),
      },
    };
    const run = this[runSymbol];
    const init = { client: run.client, parent: run, recorded: false };
    return new LangsmithBridge(RunTree.start(init, options as object), {
      libraryRun: { parent: this, config },
    });
  }

  async postRun(): Promise<void> {
    await this.#send(async (client) => {
      if (this._awaitInputsOnPost) {
        this.inputs = await this.inputs;
      }
      await client.createRun(this.#toWire({ inputs: this.inputs, attachments: this.attachments }));
      this.#postedAttachments = this.attachments;
    });
  }

  async patchRun(options?: { readonly excludeInputs?: boolean }): Promise<void> {
    await this.#send(async (client) => {
      const patch = this.#toWire({
        ...(options?.excludeInputs === false ? { inputs: this.inputs } : {}),
        // Attachments that were sent with the start of the run are not sent again.
        ...(this.attachments === this.#postedAttachments ? {} : { attachments: this.attachments }),
      });
      this[runSymbol].end();
      await client.updateRun(this.id, patch);
    });
  }

  async end(
    ...[outputs, error, endTime, metadata]: readonly [
      outputs?: unknown,
      error?: unknown,
      endTime?: number | string,
      metadata?: KeyValues,
    ]
  ): Promise<void> {
    this.metadata = metadata;
    this.outputs ??= outputs;
    this.error ??= typeof error === "string" ? error : this.#formatError(error);
    this.end_time ??= endTime ?? microsToIso(clock());
    const options = endTime === undefined ? {} : { endTime: new Date(endTime) };
    if (this.#isLibraryRun()) {
      return;
    }
    if (error === undefined || error === null) {
      this[runSymbol].end(outputs, options);
    } else {
      this[runSymbol].fail(error, outputs, options);
    }
  }

  addEvent(event: unknown): void {
    const fields = typeof event === "string" ? { name: "event", message: event } : event;
    if (!isObject(fields)) {
      return;
    }
    if (this.#isLibraryRun()) {
      (this.events ??= []).push({ time: new Date().toISOString(), ...fields });
    } else {
      this[runSymbol].addEvent({ name: "event", ...fields });
    }
  }

  get metadata(): KeyValues {
    return readMetadata(this.extra);
  }

  set metadata(metadata: KeyValues | undefined) {
    if (metadata !== undefined) {
      this.extra = { ...this.extra, metadata: { ...readMetadata(this.extra), ...metadata } };
      this[runSymbol].addMetadata(metadata);
    }
  }

  get [endPromisesKey](): unknown[] {
    return emptyList;
  }

  toHeaders(headers?: { set(name: string, value: string): void }): Record<string, string> {
    const result = this[runSymbol].toHeaders();
    for (const [name, value] of Object.entries(result)) {
      headers?.set(name, value);
    }
    return result;
  }

  toJSON(): KeyValues {
    return this[runSymbol].toJSON();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): KeyValues {
    return this.toJSON();
  }

  #formatError(error: unknown): string | undefined {
    return error === undefined || error === null
      ? undefined
      : formatError(error, () => this.client[recorder].truncated());
  }

  #isLibraryRun(): boolean {
    return this.parent_run !== undefined;
  }

  async #send(send: (client: TracingClient) => Promise<void>): Promise<void> {
    if (!this.#isLibraryRun() || !this[runSymbol].sampled) {
      return;
    }
    try {
      await send(this[runSymbol].client);
    } catch {
      this.client[recorder].warn(
        "hiddenFailure",
        "A run of another tracing library was not recorded: createRun or updateRun failed.",
      );
    }
  }

  /**
   * Returns the run in wire format. It includes the tags, metadata and events that were added through the Millrace run.
   */
  #toWire(payloads: { readonly inputs?: unknown; readonly attachments?: unknown }): WireRun {
    const { [runSymbol]: run, extra, events } = this;
    const wireRun: Record<string, unknown> = {
      id: this.id,
      name: this.name,
      run_type: this.run_type,
      start_time: this.start_time,
      end_time: this.end_time,
      ...payloads,
      outputs: this.outputs,
      error: this.error,
      extra: { ...extra, metadata: { ...run.metadata, ...readMetadata(extra) } },
      serialized: this.serialized,
      events: run.events === undefined ? events : [...run.events, ...(events ?? [])],
      tags: mergeTags(toTags(this.tags), run.tags),
      parent_run_id: this.parent_run_id,
      trace_id: this.trace_id,
      dotted_order: this.dotted_order,
      session_name: this.project_name,
      reference_example_id: this.reference_example_id,
    };
    return wireRun as WireRun;
  }

  /** Copies LangChain's own entries from the surrounding context, so that nested calls still find them. */
  #copyContext(outerStore: unknown, config: Fields | undefined): void {
    if (!isObject(outerStore)) {
      return;
    }
    const variables = outerStore[contextVariablesKey];
    if (variables !== undefined) {
      Reflect.set(this, contextVariablesKey, variables);
    }
    const childConfig = readExtra(config)[childConfigKey] ?? readExtra(outerStore)[childConfigKey];
    if (childConfig !== undefined) {
      this.extra[childConfigKey] = nestConfig(childConfig, this);
    }
  }
}

const readExtra = (holder: unknown): Fields => {
  const extra = isObject(holder) ? holder["extra"] : undefined;
  return isObject(extra) ? extra : {};
};

const readMetadata = (extra: Fields): KeyValues => {
  const { metadata } = extra;
  return isPlainObject(metadata) ? metadata : {};
};
