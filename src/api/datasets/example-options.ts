import type { KeyValues } from "../../model/run.ts";
import type { DatasetKey, VersionKey } from "./dataset-key.ts";
import type { CallOptions } from "../http/http.ts";

/** Bytes that go with an example. */
export interface NewAttachment {
  /** Such as `image/png`. */
  readonly mimeType: string;
  /** A Blob is read as it is sent: one of `fs.openAsBlob` is a file. */
  readonly data: Uint8Array | ArrayBuffer | Blob;
}

/** By name: a text, not empty. */
export type NewAttachments = Readonly<Record<string, NewAttachment>>;

/** An example that is to be made. */
export interface NewExample {
  /** @defaultValue a new one */
  readonly id?: string | undefined;
  /** Free-form; may be left out with `useSourceRunIo` alone. */
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | undefined;
  readonly metadata?: KeyValues | undefined;
  /** The split or splits that it is in. @defaultValue "base" */
  readonly split?: string | readonly string[] | undefined;
  /** The run that it is made of. */
  readonly sourceRunId?: string | undefined;
  /** Whether inputs and outputs are those of the source run. @defaultValue false */
  readonly useSourceRunIo?: boolean | undefined;
  readonly createdAt?: Date | string | undefined;
  /** Where the server takes them: {@link ValidationError} otherwise. */
  readonly attachments?: NewAttachments | undefined;
}

/** What {@link Examples.create} takes: the example, and its dataset. */
export type CreateExample = DatasetKey & NewExample & CallOptions;

/** What {@link Examples.createMany} takes: examples, and their dataset. */
export type CreateExamples = DatasetKey &
  CallOptions & {
    /** As many as there are: read as they are sent, and sent in chunks. */
    readonly examples: Iterable<NewExample> | AsyncIterable<NewExample>;
  };

/** A message of LangChain's. */
export interface LangChainMessage {
  readonly content: unknown;
  readonly additional_kwargs?: object | undefined;
  getType?(): string;
  _getType?(): string;
}

/** A message: LangChain's, or as the platform has it, which stays as it is. */
export type ChatMessage = LangChainMessage | KeyValues;

/** What {@link Examples.createChat} takes: messages in place of inputs and outputs. */
export type CreateChatExample = DatasetKey &
  Omit<NewExample, "inputs" | "outputs" | "useSourceRunIo"> &
  CallOptions & {
    /** The messages up to the answer. */
    readonly messages: readonly ChatMessage[];
    /** The answer that should come. */
    readonly answer?: ChatMessage | undefined;
  };

/** What is left out stays as it is. */
export interface ExampleChanges {
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | undefined;
  /** Replaces what is there. */
  readonly metadata?: KeyValues | undefined;
  /** Replaces what is there. */
  readonly split?: string | readonly string[] | undefined;
  /** Attachments to add; one of the same name is replaced. */
  readonly attachments?: NewAttachments | undefined;
  /** Names of those that stay. @defaultValue all */
  readonly retainAttachments?: readonly string[] | undefined;
  /** New names by old names. */
  readonly renameAttachments?: Readonly<Record<string, string>> | undefined;
}

/** What {@link Examples.update} takes. */
export interface UpdateExample extends ExampleChanges, CallOptions {}

/** One of the changes that {@link Examples.updateMany} takes. */
export interface ExampleUpdate extends ExampleChanges {
  readonly id: string;
}

/** What {@link Examples.updateMany} takes. */
export interface UpdateExamples extends CallOptions {
  /** As many as there are: read as they are sent, and sent in chunks. */
  readonly examples: Iterable<ExampleUpdate> | AsyncIterable<ExampleUpdate>;
  /** Where they are: needed for new attachments alone, and then looked up where it is left out. */
  readonly datasetId?: string | undefined;
}

/** What {@link Examples.read} takes: the version. */
export interface ReadExample extends CallOptions {
  /** The version of its dataset. @defaultValue the latest */
  readonly asOf?: VersionKey | undefined;
}

/** Every filter that is given must hold. */
export type FilterExamples = DatasetKey &
  CallOptions & {
    readonly ids?: readonly string[] | undefined;
    /** The version that is read. @defaultValue the latest */
    readonly asOf?: VersionKey | undefined;
    /** In any of these. */
    readonly splits?: readonly string[] | undefined;
    /** Entries that its metadata has. */
    readonly metadata?: KeyValues | undefined;
    /** In the filter language. */
    readonly filter?: string | undefined;
  };

/** What {@link Examples.list} takes: a filter, what to answer, and how much of it. */
export type ListExamples = FilterExamples & {
  /** Whether large payloads are in the answer itself. @defaultValue true */
  readonly inlineS3Urls?: boolean | undefined;
  /** Whether to say where their attachments are. @defaultValue false */
  readonly includeAttachments?: boolean | undefined;
  /** Examples that are left out at the beginning. @defaultValue 0 */
  readonly offset?: number | undefined;
  /**
   * `recent`: the last written first. `written`: in the order of writing, where the server offers it: then
   * a page costs the same wherever in the list it is.
   *
   * @defaultValue "recent"
   */
  readonly order?: "recent" | "written" | undefined;
  /** Examples at most, from 1; a page holds 100. @defaultValue all of them */
  readonly limit?: number | undefined;
};

/** What {@link Examples.deleteMany} takes beside the ids. */
export interface DeleteExamples extends CallOptions {
  /** Whether they go from earlier versions too. @defaultValue false */
  readonly hardDelete?: boolean | undefined;
}

/** The ids of what was created, in the order given. */
export interface CreatedExamples {
  readonly exampleIds: readonly string[];
}
