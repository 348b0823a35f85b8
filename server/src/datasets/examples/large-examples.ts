import { deserialize, serialize } from "node:v8";
import type {
  ExampleChange,
  ExampleDraft,
  ExampleImportResult,
  ExampleWriteResult,
  SplitChange,
} from "./example.ts";

/**
 * A value that is serialized for a transfer between threads. A thread that only forwards it need not deserialize it.
 * `unpackedType` is never set: it only lets the compiler know the type of the value.
 */
export type Packed<Value> = Uint8Array<ArrayBuffer> & { readonly unpackedType?: Value };

/**
 * Serializes a value, and copies the bytes to a buffer that can be transferred to another thread: `serialize` may
 * return a part of a shared buffer.
 */
export const pack = <Value>(value: Value): Packed<Value> => new Uint8Array(serialize(value));

/** Deserializes a value that {@link pack} has serialized. */
export const unpack = <Value>(packed: Packed<Value>): Value => deserialize(packed) as Value;

/** An example as a client has sent it. */
export interface ReceivedExample {
  readonly draft: ExampleDraft;
  /** Whether the inputs and outputs must be copied from the source run. */
  readonly useSourceRunIo: boolean;
}

/** Writes of many examples. They run in slices, but each takes effect as a whole or not at all. */
export interface LargeExampleWrites {
  /**
   * Like `ExampleWrites.create`. On SQLite, two examples with the same id in one request count as identical only if
   * their JSON texts are equal byte for byte.
   *
   * @throws RequestError for the same reasons as `ExampleWrites.create`. 413: the examples belong to too many datasets.
   */
  create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<Packed<ExampleWriteResult>>;
  /**
   * Like `ExampleWrites.update`.
   *
   * @throws RequestError for the same reasons as `ExampleWrites.update`. 422: an id occurs twice.
   */
  update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): Promise<Packed<ExampleWriteResult>>;
  /**
   * Creates the examples that match the dataset's schemas, as one version. All of the examples must be new.
   *
   * @throws RequestError 404: no such dataset.
   */
  import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<ExampleImportResult>;
  /**
   * Adds examples to a split or removes them from it. Returns the ids of the examples that changed.
   *
   * @throws RequestError 404: no such dataset, or an example is not in it.
   */
  updateSplits(
    tenantId: string,
    datasetId: string,
    change: SplitChange,
  ): Promise<readonly string[]>;
}
