import { messageOf, RequestError } from "../model/errors.ts";

/** The result of a call to another thread. */
export type ThreadAnswer =
  | { readonly kind: "answer"; readonly sequence: number; readonly value: unknown }
  /** The call was rejected and changed nothing: a `RequestError` of the thread. */
  | {
      readonly kind: "refused";
      readonly sequence: number;
      readonly status: number;
      readonly detail: string;
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly kind: "failed"; readonly sequence: number; readonly reason: string };

/** The reply to a call that failed. */
export const toFailure = (sequence: number, cause: unknown): ThreadAnswer =>
  cause instanceof RequestError
    ? {
        kind: "refused",
        sequence,
        status: cause.status,
        detail: cause.message,
        retryAfterSeconds: cause.retryAfterSeconds,
      }
    : { kind: "failed", sequence, reason: messageOf(cause) };

/** The error that the caller receives for a reply. */
export const toError = (answer: Exclude<ThreadAnswer, { kind: "answer" }>): RequestError =>
  answer.kind === "refused"
    ? new RequestError(answer.status, answer.detail, answer.retryAfterSeconds)
    : new RequestError(503, `the database reported an error: ${answer.reason}`, 1);

/** Calls a method of a repository by name. The types were checked where the call was made. */
export function invokeMethod(
  resources: object,
  { resource, method, args }: { resource: string; method: string; args: readonly unknown[] },
): unknown {
  const target: object = Reflect.get(resources, resource) as object;
  const performer = Reflect.get(target, method) as (...args: readonly unknown[]) => unknown;
  return Reflect.apply(performer, target, args);
}
