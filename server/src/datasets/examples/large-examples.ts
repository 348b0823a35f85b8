import { deserialize, serialize } from "node:v8";
import type {
  ExampleChange,
  ExampleDraft,
  ExamplesImported,
  ExamplesWritten,
  SplitChange,
} from "./example.ts";

/** Values serialized for a transfer between threads: a thread that only passes them on need not deserialize them. */
export type Packed<Value> = Uint8Array<ArrayBuffer> & { readonly packedType?: Value };

/** Serializes into a separate buffer, which can be transferred; `serialize` may return a view of a shared pool. */
export const pack = <Value>(value: Value): Packed<Value> => new Uint8Array(serialize(value));

export const unpack = <Value>(packed: Packed<Value>): Value => deserialize(packed) as Value;

/** An example as it was received: its inputs and outputs may have to be copied from a run. */
export interface ReceivedExample {
  readonly draft: ExampleDraft;
  readonly useSourceRunIo: boolean;
}

/** Writes of many examples, which run in slices; each write still takes effect as a whole or not at all. */
export interface LargeExampleWrites {
  /**
   * Like `examples.create`. Two examples with the same id in one request count as identical only if their JSON is equal
   * byte for byte.
   *
   * @throws RequestError for the reasons of `examples.create`; 413: the examples belong to too many datasets.
   */
  create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<Packed<ExamplesWritten>>;
  /**
   * Like `examples.update`.
   *
   * @throws RequestError as `update` does; 422: an id occurs twice.
   */
  update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): Promise<Packed<ExamplesWritten>>;
  /**
   * Creates those of the examples, all of them new, that match the dataset's schemas, as one version.
   *
   * @throws RequestError 404: no such dataset.
   */
  import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<ExamplesImported>;
  /**
   * Returns the ids of the examples that changed.
   *
   * @throws RequestError 404: no such dataset, or an example is not in it.
   */
  updateSplits(
    tenantId: string,
    datasetId: string,
    change: SplitChange,
  ): Promise<readonly string[]>;
}
