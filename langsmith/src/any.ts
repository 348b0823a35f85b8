/**
 * Any value, without a check by the compiler. Programs that are written for langsmith read inputs, outputs and metadata of
 * runs without narrowing them, which `unknown` would not allow. Only the types of the public interface use it.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- langsmith's types contain any, and programs rely on it
export type Any = any;

/** Any function, in the types of langsmith. */
export type AnyFunction = (...args: Any[]) => Any;
