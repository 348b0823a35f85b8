import { Alert, Button, Loader } from "@mantine/core";
import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import { describeFailure } from "../../api/failure.ts";
import type { CallFailure } from "../../api/failure.ts";
import { toVisibleText } from "../text/visible-text.ts";

/** After this time, the loading state also shows that the server is slow. */
const slowMs = 5_000;
const maxDetailChars = 300;

/** The loading state of a view, shown until the response arrives or the request times out. */
export const Loading = ({
  resourceName,
}: {
  /** The resource that is loading, as part of a sentence: "the dataset". */
  readonly resourceName: string;
}) => {
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), slowMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <output className="state loading" aria-label={`Loading ${resourceName}`}>
      <Loader size="sm" type="dots" />
      <span>Loading {resourceName} …</span>
      {isSlow && <span>The server is responding slowly.</span>}
    </output>
  );
};

/** The empty state of a view: a title and, as `children`, a hint or an action for the user. */
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

/** The error state of a view: the resource that could not be loaded, the reason, and a button to try again. */
export const Failure = ({
  resourceName,
  error,
  onRetry,
  isSingleResource = false,
  missingMessage,
  children,
}: {
  /** The resource that could not be loaded, as part of a sentence: "the dataset". */
  readonly resourceName: string;
  readonly error: Error;
  readonly onRetry: () => unknown;
  /** Whether the request was for one resource, by its id: a 404 then means that the resource does not exist. */
  readonly isSingleResource?: boolean;
  /** The message to show if the resource does not exist (404). */
  readonly missingMessage?: string | undefined;
  /** Other actions, which are shown next to the button "Try again". */
  readonly children?: ReactNode;
}) => {
  const { kind, message, detail } = describeFailure(error, { isSingleResource });
  return (
    <Problem
      title={`Could not ${verbsByKind[kind]} ${resourceName}`}
      message={kind === "missing" && missingMessage !== undefined ? missingMessage : message}
      detail={detail}
      onRetry={onRetry}
    >
      {children}
    </Problem>
  );
};

/** An error box: a title, an explanation, the server's error text, and a button to try again. */
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
      <p className="failure-detail">{toVisibleText(detail.slice(0, maxDetailChars))}</p>
    )}
    <div className="tools">
      <Button size="xs" variant="default" onClick={() => void onRetry()}>
        Try again
      </Button>
      {children}
    </div>
  </Alert>
);

const verbsByKind: { readonly [Kind in CallFailure["kind"]]: string } = {
  missing: "find",
  offline: "load",
  timeout: "load",
  rejected: "load",
  failed: "load",
  malformed: "read",
};
