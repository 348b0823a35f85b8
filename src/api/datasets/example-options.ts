import type { KeyValues } from "../../model/run.ts";
import type { DatasetKey, VersionKey } from "./dataset-key.ts";
import type { CallOptions } from "../http/http.ts";

/** Binary data attached to an example. */
export interface NewAttachment {
  /** MIME type, such as `image/png`. */
  readonly mimeType: string;
  /** The content. A Blob is read while it is sent; `fs.openAsBlob` creates one for a file. */
  readonly data: Uint8Array | ArrayBuffer | Blob;
}

/** Attachments by name. A name must not be empty. */
export type NewAttachments = Readonly<Record<string, NewAttachment>>;

/** An example to create. */
export interface NewExample {
  /** @defaultValue a new UUID */
  readonly id?: string | undefined;
  /** Free-form inputs. Required unless `useSourceRunIo` is set. */
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | undefined;
  readonly metadata?: KeyValues | undefined;
  /** The split or splits that the example belongs to. @defaultValue "base" */
  readonly split?: string | readonly string[] | undefined;
  /** The run that the example is created from. */
  readonly sourceRunId?: string | undefined;
  /** Whether to use the inputs and outputs of the source run. @defaultValue false */
  readonly useSourceRunIo?: boolean | undefined;
  readonly createdAt?: Date | string | undefined;
  /** If the server does not accept attachments, the call throws {@link ValidationError}. */
  readonly attachments?: NewAttachments | undefined;
}

/** What every new example needs: inputs, or a source run whose inputs and outputs are used. */
export type ExampleContent =
  | { readonly inputs: KeyValues }
  | { readonly sourceRunId: string; readonly useSourceRunIo: true };

/** Arguments of {@link Examples.create}: the example, and its dataset. */
export type CreateExample = DatasetKey & NewExample & ExampleContent & CallOptions;

/** Arguments of {@link Examples.createMany}: the examples, and their dataset. */
export type CreateExamples = DatasetKey &
  CallOptions & {
    /** Any number of examples. They are read while they are sent, in chunks. */
    readonly examples: Iterable<NewExample> | AsyncIterable<NewExample>;
  };

/** The members of LangChain's `BaseMessage` that are read to convert it. The SDK does not depend on LangChain. */
export interface LangChainMessage {
  readonly content: unknown;
  readonly additional_kwargs?: object | undefined;
  getType?(): string;
  _getType?(): string;
}

/**
 * A chat message: a LangChain message, which is converted, or a message in the format of `chat` datasets
 * (`{ type, data }`), which stays unchanged.
 */
export type ChatMessage = LangChainMessage | KeyValues;

/** Arguments of {@link Examples.createChat}: messages instead of inputs and outputs. */
export type CreateChatExample = DatasetKey &
  Omit<NewExample, "inputs" | "outputs" | "useSourceRunIo"> &
  CallOptions & {
    /** The messages before the answer. */
    readonly messages: readonly ChatMessage[];
    /** The expected answer of the model. */
    readonly answer?: ChatMessage | undefined;
  };

/** Changes of an example. A field that is left out keeps its value. */
export interface ExampleChanges {
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | undefined;
  /** Replaces all existing metadata. */
  readonly metadata?: KeyValues | undefined;
  /** Replaces all splits that the example belonged to. */
  readonly split?: string | readonly string[] | undefined;
  /** Attachments to add. An existing attachment of the same name is replaced. */
  readonly attachments?: NewAttachments | undefined;
  /** Names of the attachments to keep. @defaultValue all of them */
  readonly retainAttachments?: readonly string[] | undefined;
  /**
   * New names of attachments, by their old names. Without `retainAttachments`, all other attachments are kept: the
   * client then reads their names first, because servers may delete the attachments that a request does not name.
   */
  readonly renameAttachments?: Readonly<Record<string, string>> | undefined;
}

/** Arguments of {@link Examples.update}. */
export interface UpdateExample extends ExampleChanges, CallOptions {}

/** The changes of one example in {@link Examples.updateMany}. */
export interface ExampleUpdate extends ExampleChanges {
  readonly id: string;
}

/** Arguments of {@link Examples.updateMany}. */
export interface UpdateExamples extends CallOptions {
  /** Any number of examples. They are read while they are sent, in chunks. */
  readonly examples: Iterable<ExampleUpdate> | AsyncIterable<ExampleUpdate>;
  /**
   * Id of the dataset that contains the examples. Needed only to add attachments; if it is left out, the client looks
   * it up.
   */
  readonly datasetId?: string | undefined;
}

/** Arguments of {@link Examples.read}. */
export interface ReadExample extends CallOptions {
  /** The version of the dataset to read. @defaultValue the latest */
  readonly asOf?: VersionKey | undefined;
}

/** Filters of examples. An example is selected if it matches all of them. */
export type FilterExamples = DatasetKey &
  CallOptions & {
    readonly ids?: readonly string[] | undefined;
    /** The version of the dataset to read. @defaultValue the latest */
    readonly asOf?: VersionKey | undefined;
    /** Only examples in at least one of these splits. */
    readonly splits?: readonly string[] | undefined;
    /** Entries that the metadata must contain. */
    readonly metadata?: KeyValues | undefined;
    /** An expression of the filter language (docs/filter-language.md). */
    readonly filter?: string | undefined;
  };

/** Arguments of {@link Examples.list}: filters, and which part of the result to return. */
export type ListExamples = FilterExamples & {
  /** Whether large payloads are included in the response itself. @defaultValue true */
  readonly inlineS3Urls?: boolean | undefined;
  /** Whether to include the URLs of attachments. @defaultValue false */
  readonly includeAttachments?: boolean | undefined;
  /** Number of examples to skip at the beginning. @defaultValue 0 */
  readonly offset?: number | undefined;
  /**
   * `recent`: newest first. `written`: in the order in which the examples were written, if the server supports this
   * order, as a Millrace server does. Each page then begins after the last example of the previous page, and takes no
   * longer than the first. It can't begin after an example that was deleted with `hardDelete`.
   *
   * @defaultValue "recent"
   */
  readonly order?: "recent" | "written" | undefined;
  /** Maximum number of examples, at least 1. Each request fetches at most 100. @defaultValue all of them */
  readonly limit?: number | undefined;
};

/** Options of {@link Examples.deleteMany}. */
export interface DeleteExamples extends CallOptions {
  /** Whether to delete the examples from earlier versions of the dataset too. @defaultValue false */
  readonly hardDelete?: boolean | undefined;
}

/** The ids of the created examples, in the order in which the examples were passed. */
export interface CreatedExamples {
  readonly exampleIds: readonly string[];
}
