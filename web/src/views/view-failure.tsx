import type { ErrorComponentProps } from "@tanstack/react-router";
import { Failure } from "./states.tsx";

/** Shown in the place of a view that threw; the navigation around it stays. */
export const ViewFailure = ({ error, reset }: ErrorComponentProps) => (
  <Failure
    what="this page"
    error={error instanceof Error ? error : new Error(String(error))}
    onRetry={reset}
  />
);
