import { Alert, Button, Loader } from "@mantine/core";
import type { ReactNode } from "react";
import { ApiError } from "../api/http.ts";

/** Shown until the first answer. */
export const Loading = ({ what }: { readonly what: string }) => (
  <output className="state" aria-label={`Loading ${what}`}>
    <Loader size="sm" type="dots" />
  </output>
);

/** Shown where there is nothing, with what to do about it. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}) => (
  <div className="state">
    <p className="state-title">{title}</p>
    {children}
  </div>
);

/** Shown when the server refused or did not answer. */
export const Failure = ({
  what,
  error,
  onRetry,
}: {
  readonly what: string;
  readonly error: Error;
  readonly onRetry: () => unknown;
}) => (
  <Alert
    className="failure"
    color="red"
    title={`Could not ${isMissing(error) ? "find" : "load"} ${what}`}
    role="alert"
  >
    <p>{error.message}</p>
    <Button size="xs" variant="default" onClick={() => void onRetry()}>
      Try again
    </Button>
  </Alert>
);

/** Whether what was asked for is not there, or can't be: an address that was cut off, or a thing deleted. */
const isMissing = (error: Error): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 422);
