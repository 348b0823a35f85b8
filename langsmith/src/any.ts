/**
 * Any value, without a check by the compiler. Programs written for langsmith read the values of a run's inputs, outputs and
 * metadata without narrowing them, which `unknown` would not allow. Only types that such a program sees use it.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the types of langsmith have it, and programs rely on it
export type Any = any;

/** Any function, in the types of langsmith. */
export type AnyFunction = (...args: Any[]) => Any;
