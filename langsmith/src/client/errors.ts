import {
  AbortError,
  ConflictError as MillraceConflictError,
  HttpError,
  NetworkError,
  NotFoundError as MillraceNotFoundError,
  SdkError,
  TimeoutError,
} from "millrace";

/**
 * The error classes of langsmith, for `instanceof` in programs. Calls throw the errors of Millrace. For a class that
 * exists only in langsmith, `instanceof` compares the status of the error.
 */
export {
  SdkError as LangsmithError,
  HttpError as APIError,
  NetworkError as APIConnectionError,
  TimeoutError as APIConnectionTimeoutError,
  AbortError as APIUserAbortError,
  MillraceNotFoundError as NotFoundError,
  MillraceConflictError as ConflictError,
};

const hasStatus = (error: unknown, matches: (status: number) => boolean): boolean =>
  error instanceof HttpError && matches(error.status);

/** The server refused the request: 400. */
export class BadRequestError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status === 400);
  }
}

/** The key is invalid: 401. */
export class AuthenticationError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status === 401);
  }
}

/** The key does not permit the request: 403. */
export class PermissionDeniedError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status === 403);
  }
}

/** The server can't use the request's content: 422. */
export class UnprocessableEntityError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status === 422);
  }
}

/** Too many requests: 429. */
export class RateLimitError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status === 429);
  }
}

/** The server failed: 500 or more. */
export class InternalServerError extends HttpError {
  static override [Symbol.hasInstance](error: unknown): boolean {
    return hasStatus(error, (status) => status >= 500);
  }
}
