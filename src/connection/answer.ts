/** What came back for one request. */
export interface Answer {
  readonly status: number;
  /** The value of `Retry-After`, if any. */
  readonly retryAfter?: string | undefined;
  /** Where a redirect points. */
  readonly location?: string | undefined;
  /** Empty where it could not be read: the status counts all the same. */
  readonly body: string;
  /** What kept the body from being read, where something did. */
  readonly bodyFailure?: unknown;
}

export const isOk = (status: number): boolean => status >= 200 && status < 300;

/** An answer that is read as it arrives. */
export interface OpenAnswer {
  /** Its body is empty. */
  readonly head: Answer;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** What an error says of an answer that points elsewhere. */
export const redirectText = ({ location }: Answer): string =>
  [
    ...(location === undefined ? [] : [`to ${location.slice(0, 200)}`]),
    "(redirects are not followed; set the endpoint to where the server is)",
  ].join(" ");
