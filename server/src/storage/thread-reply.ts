import { messageOf, RequestError } from "../model/errors.ts";

/** A call of a resource's method, by name, that another thread performs; arguments and result are plain data. */
export type ResourceCall<Resources> = {
  [Resource in keyof Resources & string]: {
    readonly resource: Resource;
    readonly method: keyof Resources[Resource] & string;
    readonly args: readonly unknown[];
  };
}[keyof Resources & string];

/** The result of a call to another thread. */
export type ThreadReply =
  | { readonly kind: "result"; readonly sequence: number; readonly value: unknown }
  /** The call threw a `RequestError` in the thread and changed nothing. */
  | {
      readonly kind: "refused";
      readonly sequence: number;
      readonly status: number;
      readonly detail: string;
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly kind: "failed"; readonly sequence: number; readonly reason: string };

/** Creates the reply to a call that threw an error. */
export const toFailure = (sequence: number, cause: unknown): ThreadReply =>
  cause instanceof RequestError
    ? {
        kind: "refused",
        sequence,
        status: cause.status,
        detail: cause.message,
        retryAfterSeconds: cause.retryAfterSeconds,
      }
    : { kind: "failed", sequence, reason: messageOf(cause) };

/** Creates the error that the caller receives if its call was refused or failed. */
export const toError = (reply: Exclude<ThreadReply, { kind: "result" }>): RequestError =>
  reply.kind === "refused"
    ? new RequestError(reply.status, reply.detail, reply.retryAfterSeconds)
    : new RequestError(503, `the database reported an error: ${reply.reason}`, 1);

/** Calls a method of a repository by its name. TypeScript has checked the arguments where the call was made. */
export function invokeMethod<Resources extends object>(
  resources: Resources,
  { resource, method, args }: ResourceCall<Resources>,
): unknown {
  const target: object = Reflect.get(resources, resource) as object;
  const implementation = Reflect.get(target, method) as (...args: readonly unknown[]) => unknown;
  return Reflect.apply(implementation, target, args);
}
