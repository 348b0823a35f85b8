import type { DataType } from "../../model/resources/dataset.ts";
import type { KeyValues } from "../../model/run.ts";
import type { DatasetKey, VersionKey } from "./dataset-key.ts";
import type { CallOptions } from "../http/http.ts";
import type { ByteSource } from "../http/streamed-bodies.ts";

/** Which dataset a call is about, and what ends it. */
export type DatasetCall = DatasetKey & CallOptions;

/** What `datasets.create` takes. */
export interface CreateDataset extends CallOptions {
  readonly name: string;
  readonly description?: string | undefined;
  /** @defaultValue "kv" */
  readonly dataType?: DataType | undefined;
  /** JSON schema that the inputs of its examples must keep to. */
  readonly inputsSchema?: KeyValues | undefined;
  /** JSON schema that the outputs of its examples must keep to. */
  readonly outputsSchema?: KeyValues | undefined;
  readonly metadata?: KeyValues | undefined;
  /** @defaultValue one of the server's */
  readonly id?: string | undefined;
}

/** What `datasets.createFromCsv` takes: a file, and which of its columns are what. */
export interface CreateDatasetFromCsv extends CallOptions {
  /** A path or a `file:` URL, bytes, a Blob, or a stream. A file is read as it is sent. */
  readonly file: ByteSource;
  /** Columns that become inputs: at least one. */
  readonly inputKeys: readonly string[];
  /** Columns that become outputs. @defaultValue none */
  readonly outputKeys?: readonly string[] | undefined;
  /** @defaultValue the name of the file */
  readonly name?: string | undefined;
  /** @defaultValue what the path or the File is called */
  readonly fileName?: string | undefined;
  readonly description?: string | undefined;
  /** @defaultValue "kv" */
  readonly dataType?: DataType | undefined;
}

/**
 * What `datasets.update` takes: which dataset, and its new values. What is left out stays as it is;
 * `null` takes away what was there.
 */
export type UpdateDataset = DatasetCall & {
  /** The new name. */
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly inputsSchema?: KeyValues | null | undefined;
  readonly outputsSchema?: KeyValues | null | undefined;
  /** Replaces what is there. */
  readonly metadata?: KeyValues | null | undefined;
};

/** Every filter that is given must hold. */
export interface ListDatasets extends CallOptions {
  readonly datasetIds?: readonly string[] | undefined;
  readonly datasetName?: string | undefined;
  /** Part of the name, in either case. */
  readonly nameContains?: string | undefined;
  readonly dataType?: DataType | undefined;
  /** Entries that its metadata has. */
  readonly metadata?: KeyValues | undefined;
  /** Datasets that are left out at the beginning. @defaultValue 0 */
  readonly offset?: number | undefined;
  /** Datasets at most, from 1; a page holds 100. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** A dataset, and the version of it that is read. */
export type DatasetAsOf = DatasetCall & {
  /** The version that is read. @defaultValue the latest */
  readonly asOf?: VersionKey | undefined;
};

/** What `datasets.diff` takes: from which version to which. */
export type DiffDataset = DatasetCall & {
  readonly fromVersion: VersionKey;
  readonly toVersion: VersionKey;
};

/** What `datasets.listVersions` takes. Every filter that is given must hold. */
export type ListDatasetVersions = DatasetCall & {
  /** Only those that changed this example. */
  readonly exampleId?: string | undefined;
  /** Part of a tag. */
  readonly search?: string | undefined;
  /** Versions at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
};

/** By a time or by a tag, never both. */
export type ReadDatasetVersion = DatasetCall &
  (
    | { readonly asOf: VersionKey; readonly tag?: undefined }
    | { readonly tag: string; readonly asOf?: undefined }
  );

/** What `datasets.tag` takes: the version, and its new name. */
export type TagDataset = DatasetCall & {
  readonly asOf: VersionKey;
  /** A tag that another version has moves. */
  readonly tag: string;
};

/** What `datasets.updateSplits` takes: examples that join a split, or leave it. */
export type UpdateDatasetSplits = DatasetCall & {
  readonly splitName: string;
  readonly exampleIds: readonly string[];
  /** Whether they leave the split, in place of joining it. @defaultValue false */
  readonly remove?: boolean | undefined;
};

/** What `datasets.index` takes. */
export type IndexDataset = DatasetCall & {
  /** The version that is indexed. @defaultValue the latest */
  readonly tag?: string | undefined;
};

/** What `datasets.search` takes: what to look for, and how much of it. */
export type SearchDataset = DatasetCall & {
  /** What the examples' inputs should be like. */
  readonly inputs: KeyValues;
  /** Examples at most, from 1 to 100. @defaultValue 5 */
  readonly limit?: number | undefined;
  /** In the filter language. */
  readonly filter?: string | undefined;
};

/** Which examples of a shared dataset are meant. Every filter that is given must hold. */
export interface FilterSharedExamples extends CallOptions {
  readonly exampleIds?: readonly string[] | undefined;
  /** Entries that an example's metadata has. */
  readonly metadata?: KeyValues | undefined;
  /** In the filter language. */
  readonly filter?: string | undefined;
}

/** What `datasets.listSharedExamples` takes. */
export interface ListSharedExamples extends FilterSharedExamples {
  /** Examples at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** What `datasets.clone` takes beside the link. */
export interface CloneDataset extends CallOptions {
  /** @defaultValue the shared dataset's */
  readonly name?: string | undefined;
  /**
   * Base address of the API of the server that shares it, where that is another one. Requests to it are sent without
   * this client's key.
   *
   * @defaultValue the client's own server
   */
  readonly sourceEndpoint?: string | undefined;
}
