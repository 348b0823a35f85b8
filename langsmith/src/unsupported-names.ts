import { createUnsupportedError } from "./unsupported.ts";

// Names that langsmith exports and this package does not support. They exist so that a program that imports one without
// using it still compiles and starts.

const generatedAdvice = "Use the methods of `Client`, or its member `millrace`.";
const addressAdvice = "Pass project_name, or set LANGSMITH_PROJECT.";
const batchAdvice = "Runs are sent in batches by worker threads.";

/** Not supported: langsmith's generated client. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class Langsmith {
  constructor(_options?: object) {
    throw createUnsupportedError("Langsmith", generatedAdvice);
  }
}

/** Not supported: the promise of a call of langsmith's generated client. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class APIPromise {
  constructor(..._args: unknown[]) {
    throw createUnsupportedError("APIPromise", generatedAdvice);
  }
}

/** Not supported: the promise of a page of langsmith's generated client. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class PagePromise {
  constructor(..._args: unknown[]) {
    throw createUnsupportedError("PagePromise", generatedAdvice);
  }
}

/** Not supported. */
export function toFile(..._args: unknown[]): never {
  throw createUnsupportedError(
    "toFile",
    "Pass the bytes of an attachment, or a Blob to uploadCsv.",
  );
}

/** The environment of an agent. */
export type Environment = "local" | "development" | "staging" | "production";

/**
 * The address of an agent. LangChain's types refer to it. Creating one is not supported: runs are grouped by project.
 */
export class AgentAddress {
  declare kind: "AGENT";
  declare id: string;
  declare environment: Uppercase<Environment>;

  constructor(_id: string, _environment: string) {
    throw createUnsupportedError("AgentAddress", addressAdvice);
  }
}

/** The address of the project of an experiment. Creating one is not supported: runs are grouped by project. */
export class ExperimentAddress {
  declare kind: "EXPERIMENT";
  declare id: string;

  constructor(_id: string) {
    throw createUnsupportedError("ExperimentAddress", addressAdvice);
  }
}

/**
 * The address of the project with the runs of evaluators. Creating one is not supported: runs are grouped by project.
 */
export class EvaluatorAddress {
  declare kind: "EVALUATOR";

  constructor() {
    throw createUnsupportedError("EvaluatorAddress", addressAdvice);
  }
}

/** The address of a project. */
export type Address = AgentAddress | ExperimentAddress | EvaluatorAddress;
/** The same as {@link Address}. */
export type ApiAddress = Address;

/** An error that this package never throws. */
export class EnvAddressError extends Error {
  override readonly name = "EnvAddressError";
}

/** Not supported. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class AutoBatchQueue {
  constructor(..._args: unknown[]) {
    throw createUnsupportedError("AutoBatchQueue", batchAdvice);
  }
}

/** A limit of langsmith's batches. It has no effect here. */
export const DEFAULT_MAX_SIZE_BYTES = 1_073_741_824;
/** A limit of langsmith's batches. It has no effect here. */
export const DEFAULT_UNCOMPRESSED_BATCH_SIZE_LIMIT_BYTES = 25_165_824;

/** Not supported. */
export function mergeRuntimeEnvIntoRun(..._args: unknown[]): never {
  throw createUnsupportedError("mergeRuntimeEnvIntoRun", batchAdvice);
}

/** Not supported. */
export function _checkBackendVersion(..._args: unknown[]): never {
  throw createUnsupportedError(
    "_checkBackendVersion",
    "This package does not depend on the server's version.",
  );
}

/** Not supported. */
export function createUsageMetadata(..._args: unknown[]): never {
  throw createUnsupportedError("createUsageMetadata", "wrapAnthropic records the tokens.");
}

/** Not supported. */
export function convertMessageToTracedFormat(..._args: unknown[]): never {
  throw createUnsupportedError("convertMessageToTracedFormat", "wrapAISDK records the messages.");
}
