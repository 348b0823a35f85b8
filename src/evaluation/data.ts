import type {
  Attachment,
  DatasetKey,
  KeyValues,
  NewAttachment,
  VersionKey,
} from "../main/index.ts";

/** A file that belongs to an example. It is downloaded when it is read. */
export interface ExampleAttachment {
  readonly mimeType?: string | undefined;
  /** Returns the content. */
  read(): Promise<Uint8Array>;
}

/** The attachments of an example, by name. */
export type ExampleAttachments = Readonly<Record<string, ExampleAttachment>>;

/**
 * A row of data: the target's inputs and, if known, the expected outputs. An example of a dataset is a row, and so is
 * any object with `inputs`.
 */
export interface EvaluationRow<Inputs = KeyValues, Reference = KeyValues> {
  /**
   * Identifies the row across experiments. A string that is not a UUID is converted to one.
   *
   * @defaultValue an id that is derived from the row's content, and from the number of equal rows before it
   */
  readonly id?: string | undefined;
  readonly inputs: Inputs;
  /** The expected outputs. */
  readonly outputs?: Reference | undefined;
  readonly metadata?: KeyValues | undefined;
  readonly splits?: readonly string[] | undefined;
  /** The dataset that the row is an example of. All rows of an experiment must have the same dataset, or none. */
  readonly datasetId?: string | undefined;
  readonly attachments?:
    | Readonly<Record<string, ExampleAttachment | Attachment | NewAttachment>>
    | undefined;
}

/** A row as it is passed to evaluators and targets, always with an id. */
export interface EvaluationExample<Inputs = KeyValues, Reference = KeyValues> extends Omit<
  EvaluationRow<Inputs, Reference>,
  "attachments"
> {
  /** A UUID that is the same in every experiment. */
  readonly id: string;
  readonly metadata: KeyValues;
  readonly splits: readonly string[];
  readonly attachments?: ExampleAttachments | undefined;
}

/** Selects examples of a dataset. An example is selected if it matches all conditions. */
export type DatasetSelection = DatasetKey & {
  /**
   * The version: a time or a tag.
   *
   * @defaultValue the latest version at the start; later changes have no effect on the evaluation
   */
  readonly asOf?: VersionKey | undefined;
  readonly splits?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Entries that the metadata must contain. */
  readonly metadata?: KeyValues | undefined;
  /** An expression of the filter language (docs/filter-language.md). */
  readonly filter?: string | undefined;
  /** Maximum number of examples, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
  /** Whether targets and evaluators can read the attachments of the examples. @defaultValue false */
  readonly includeAttachments?: boolean | undefined;
};

/**
 * The data to evaluate on: the name of a dataset, a selection of its examples, or any iterable of rows. An iterable can
 * be of any length, because rows are read only when they are needed.
 */
export type EvaluationData<Inputs = KeyValues, Reference = KeyValues> =
  | string
  | DatasetSelection
  | Iterable<EvaluationRow<Inputs, Reference>>
  | AsyncIterable<EvaluationRow<Inputs, Reference>>;
