import { deserialize, serialize } from "node:v8";
import type {
  ExampleChange,
  ExampleDraft,
  ExamplesImported,
  ExamplesWritten,
  SplitChange,
} from "./example.ts";
import type { LongWrite } from "../../storage/long-write.ts";

/** Some values that cross threads as bytes: a thread that only passes them on has no work with them. */
export type Packed<Value> = Uint8Array<ArrayBuffer> & { readonly packs?: Value };

/** In memory of its own, which can be given away: small ones share it with others. */
export const pack = <Value>(value: Value): Packed<Value> => new Uint8Array(serialize(value));

export const unpack = <Value>(packed: Packed<Value>): Value => deserialize(packed) as Value;

/** An example as it came: its inputs and outputs may have to be taken from a run. */
export interface ReceivedExample {
  readonly draft: ExampleDraft;
  readonly useSourceRunIo: boolean;
}

/** Writes of many examples, which are done in slices; each still takes effect whole or not at all. */
export interface LargeExampleWrites {
  /**
   * As `examples.create`. Examples of one id are the same where their texts are.
   *
   * @throws RequestError as `create` does; 413: they are of too many datasets.
   */
  create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): LongWrite<Packed<ExamplesWritten>>;
  /** As `examples.update`. @throws RequestError as `update` does; 422: an id is there twice. */
  update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): LongWrite<Packed<ExamplesWritten>>;
  /**
   * Makes those of the examples, all of them new, that fit the dataset's schemas, as one version.
   *
   * @throws RequestError 404: no such dataset.
   */
  import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): LongWrite<ExamplesImported>;
  /** Ids of those changed. @throws RequestError 404: no such dataset, or an example is not in it. */
  updateSplits(
    tenantId: string,
    datasetId: string,
    change: SplitChange,
  ): LongWrite<readonly string[]>;
}
