/**
 * A value whose type the compiler does not check. Programs that are written for langsmith use the inputs, outputs and
 * metadata of runs without narrowing their types, which `unknown` would not allow. Only public types use it.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- langsmith's types contain any, and programs rely on it
export type Any = any;

/** Any function. The types of langsmith use it. */
export type AnyFunction = (...args: Any[]) => Any;
