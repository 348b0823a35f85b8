import { stampLength, stampToIso, uuidLength } from "../../model/dotted-order.ts";
import type { KeyValues, WireRun } from "../../model/run.ts";
import { ownRun } from "./foreign-run.ts";
import { childConfigKey, contextVariablesKey, nestConfig } from "./langchain-config.ts";
import { isPlainObject, mergeTags, toTags } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { RunTree } from "./run-tree.ts";
import { isObject } from "../tape/placeholder.ts";

/** Where LangChain's tracing library collects what a run's end waits for. */
const endPromisesKey = Symbol.for("lc:child_run_end_promises");

/** A list that stays empty: what others append to a run's children must not pile up with the run. */
class NoEntries extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override push(): number {
    return 0;
  }
}

const noEntries = new NoEntries();

type Fields = Readonly<Record<PropertyKey, unknown>>;

interface BridgeInit {
  /** The store of the context in which this one is entered. */
  readonly outer?: unknown;
  /** For a run that LangChain's tracing library starts and records through us. */
  readonly guest?: { readonly parent: LangsmithBridge; readonly config: Fields };
}

/**
 * What stands for a run of ours in the shared context, in the shape that LangChain and its tracing
 * library know: they hang their runs below it, and record them through its client. Fields, not
 * getters, because they copy it by spreading.
 *
 * There are two kinds. One stands for a run that we record; its `postRun` and `patchRun` do
 * nothing. The other, from `createChild`, is a guest: the library fills it and decides when to record it.
 */
export class LangsmithBridge {
  readonly [ownRun]: RunTree;
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
  /** What the start was recorded with. */
  #attached: unknown;
  child_runs: unknown[] = noEntries;
  execution_order = 1;
  child_execution_order = 1;
  _awaitInputsOnPost = false;

  constructor(run: RunTree, { outer, guest }: BridgeInit) {
    this[ownRun] = run;
    this.id = run.id;
    this.trace_id = run.traceId;
    this.dotted_order = run.dottedOrder;
    this.parent_run_id = run.parentRunId;
    this.parent_run = guest?.parent;
    this.client = run.client;
    this.project_name = run.projectName;
    this.start_time = stampToIso(run.dottedOrder.slice(-stampLength - uuidLength, -uuidLength));
    this.name = run.name;
    this.run_type = run.runType;
    this.tags = run.tags;
    const config = guest?.config;
    this.tracingEnabled = config?.["tracingEnabled"] !== false;
    const metadata = run.metadata === undefined ? {} : { ...run.metadata };
    this.extra = config === undefined ? { metadata } : { ...extraOf(config), metadata };
    this.inputs = config?.["inputs"];
    this.serialized = config?.["serialized"];
    this.reference_example_id = config?.["reference_example_id"];
    this.attachments = config?.["attachments"];
    this.#continueContext(guest?.parent ?? outer, config);
  }

  /** @internal Called by LangChain's tracing library, as all below. */
  createChild(config: Fields): LangsmithBridge {
    const given = isPlainObject(config["metadata"]) ? config["metadata"] : undefined;
    const extra = extraOf(config)["metadata"];
    const options = {
      id: config["id"],
      name: config["name"],
      runType: config["run_type"],
      projectName: this.project_name,
      tags: config["tags"],
      metadata: {
        ...metadataOf(this.extra),
        ...given,
        ...(isPlainObject(extra) ? extra : undefined),
      },
    };
    const init = { client: this.client, parent: this[ownRun], recorded: false };
    return new LangsmithBridge(RunTree.start(init, options as object), {
      guest: { parent: this, config },
    });
  }

  async postRun(): Promise<void> {
    await this.#send(async (client) => {
      if (this._awaitInputsOnPost) {
        this.inputs = await this.inputs;
      }
      await client.createRun(this.#wire({ inputs: this.inputs, attachments: this.attachments }));
      this.#attached = this.attachments;
    });
  }

  async patchRun(options?: { readonly excludeInputs?: boolean }): Promise<void> {
    await this.#send(async (client) => {
      const patch = this.#wire({
        ...(options?.excludeInputs === false ? { inputs: this.inputs } : {}),
        // Bytes that went with the start do not go again.
        ...(this.attachments === this.#attached ? {} : { attachments: this.attachments }),
      });
      this[ownRun].end();
      await client.updateRun(this.id, patch);
    });
  }

  async end(
    ...[outputs, error, endTime = Date.now(), metadata]: readonly [
      outputs?: unknown,
      error?: unknown,
      endTime?: number | string,
      metadata?: KeyValues,
    ]
  ): Promise<void> {
    this.metadata = metadata;
    this.outputs ??= outputs;
    this.error ??= error;
    this.end_time ??= endTime;
    const options = { endTime: new Date(endTime) };
    if (this.#isGuest()) {
      return;
    }
    if (error === undefined || error === null) {
      this[ownRun].end(outputs, options);
    } else {
      this[ownRun].fail(error, outputs, options);
    }
  }

  addEvent(event: unknown): void {
    const named = typeof event === "string" ? { name: "event", message: event } : event;
    if (!isObject(named)) {
      return;
    }
    if (this.#isGuest()) {
      (this.events ??= []).push({ time: new Date().toISOString(), ...named });
    } else {
      this[ownRun].addEvent({ name: "event", ...named });
    }
  }

  get metadata(): KeyValues {
    return metadataOf(this.extra);
  }

  set metadata(metadata: KeyValues | undefined) {
    if (metadata !== undefined) {
      this.extra = { ...this.extra, metadata: { ...metadataOf(this.extra), ...metadata } };
      this[ownRun].addMetadata(metadata);
    }
  }

  get [endPromisesKey](): unknown[] {
    return noEntries;
  }

  toHeaders(headers?: { set(name: string, value: string): void }): Record<string, string> {
    const result = this[ownRun].toHeaders();
    for (const [name, value] of Object.entries(result)) {
      headers?.set(name, value);
    }
    return result;
  }

  toJSON(): KeyValues {
    return this[ownRun].toJSON();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): KeyValues {
    return this.toJSON();
  }

  #isGuest(): boolean {
    return this.parent_run !== undefined;
  }

  async #send(send: (client: TracingClient) => Promise<void>): Promise<void> {
    if (!this.#isGuest() || !this[ownRun].sampled) {
      return;
    }
    try {
      await send(this.client);
    } catch {
      this.client[recorder].warn("hiddenFailure", "A run of another library was not recorded.");
    }
  }

  /** The run as the wire has it, with what was added to it by our own methods. */
  #wire(payloads: { readonly inputs?: unknown; readonly attachments?: unknown }): WireRun {
    const { [ownRun]: run, extra, events } = this;
    const wire: Record<string, unknown> = {
      id: this.id,
      name: this.name,
      run_type: this.run_type,
      start_time: this.start_time,
      end_time: this.end_time,
      ...payloads,
      outputs: this.outputs,
      error: this.error,
      extra: { ...extra, metadata: { ...run.metadata, ...metadataOf(extra) } },
      serialized: this.serialized,
      events: run.events === undefined ? events : [...run.events, ...(events ?? [])],
      tags: mergeTags(toTags(this.tags), run.tags),
      parent_run_id: this.parent_run_id,
      trace_id: this.trace_id,
      dotted_order: this.dotted_order,
      session_name: this.project_name,
      reference_example_id: this.reference_example_id,
    };
    return wire as WireRun;
  }

  /** Carries on what LangChain put into the context around this run. */
  #continueContext(around: unknown, config: Fields | undefined): void {
    if (!isObject(around)) {
      return;
    }
    const variables = around[contextVariablesKey];
    if (variables !== undefined) {
      Reflect.set(this, contextVariablesKey, variables);
    }
    const present = extraOf(config)[childConfigKey] ?? extraOf(around)[childConfigKey];
    if (present !== undefined) {
      this.extra[childConfigKey] = nestConfig(present, this);
    }
  }
}

const extraOf = (holder: unknown): Fields => {
  const extra = isObject(holder) ? holder["extra"] : undefined;
  return isObject(extra) ? extra : {};
};

const metadataOf = (extra: Fields): KeyValues => {
  const { metadata } = extra;
  return isPlainObject(metadata) ? metadata : {};
};
