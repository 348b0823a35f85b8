import { Alert, Button, Loader } from "@mantine/core";
import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import { describeFailure } from "../../api/failure.ts";
import type { CallFailure } from "../../api/failure.ts";
import { toVisibleText } from "../text/visible-text.ts";

/** After so long it is said that the server takes its time. */
const slowMs = 5_000;
const detailChars = 300;

/** Shown until the first answer. It ends: a call has a deadline, and then a {@link Failure} stands here. */
export const Loading = ({ what }: { readonly what: string }) => {
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), slowMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <output className="state loading" aria-label={`Loading ${what}`}>
      <Loader size="sm" type="dots" />
      <span>Loading {what} …</span>
      {isSlow && <span>The server takes its time.</span>}
    </output>
  );
};

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

/** Shown when the server refused or did not answer: what is not here, why, and how to go on. */
export const Failure = ({
  what,
  error,
  onRetry,
  isOne = false,
  missing,
  children,
}: {
  readonly what: string;
  readonly error: Error;
  readonly onRetry: () => unknown;
  /** Whether it is one thing, which an address names by its id. */
  readonly isOne?: boolean;
  /** What is to be said where there is no such thing. */
  readonly missing?: string | undefined;
  /** Other ways on than to try again. */
  readonly children?: ReactNode;
}) => {
  const { kind, message, detail } = describeFailure(error, { isOne });
  return (
    <Problem
      title={`Could not ${verbs[kind]} ${what}`}
      message={kind === "missing" && missing !== undefined ? missing : message}
      detail={detail}
      onRetry={onRetry}
    >
      {children}
    </Problem>
  );
};

/** What went wrong, what that means, what was said of it, and a way to try again. */
export const Problem = ({
  title,
  message,
  detail,
  onRetry,
  children,
}: {
  readonly title: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly onRetry: () => unknown;
  readonly children?: ReactNode;
}) => (
  <Alert className="failure" color="red" title={title} role="alert">
    <p>{message}</p>
    {detail !== undefined && (
      <p className="failure-detail">{toVisibleText(detail.slice(0, detailChars))}</p>
    )}
    <div className="tools">
      <Button size="xs" variant="default" onClick={() => void onRetry()}>
        Try again
      </Button>
      {children}
    </div>
  </Alert>
);

const verbs: { readonly [Kind in CallFailure["kind"]]: string } = {
  missing: "find",
  offline: "load",
  timeout: "load",
  refused: "load",
  failed: "load",
  malformed: "read",
};
