import type { ReactNode } from "react";
import { Failure, Loading } from "./states.tsx";

/**
 * A whole view while what it is about is not here: on its way, not there, or not to be had.
 * `children` is a link to where such things are listed, where there is such a place.
 */
export const AbsentView = ({
  title,
  what,
  error,
  onRetry,
  missing,
  children,
}: {
  /** What kind of thing it is: "Dataset". */
  readonly title: string;
  /** The same in a sentence: "the dataset". */
  readonly what: string;
  /** `null` while it is on its way. */
  readonly error: Error | null;
  readonly onRetry: () => unknown;
  /** What is to be said where there is no such thing. */
  readonly missing?: string;
  readonly children?: ReactNode;
}) => (
  <div className="absent-view">
    <title>{`${title} · Millrace`}</title>
    <div className="heading">
      <div>
        {children !== undefined && <p className="crumbs">{children}</p>}
        <h1>{title}</h1>
      </div>
    </div>
    {error === null ? (
      <Loading what={what} />
    ) : (
      <Failure what={what} error={error} onRetry={onRetry} missing={missing} isOne />
    )}
  </div>
);

/** Until it is known what stands at the address. */
export const PageLoading = () => (
  <div className="absent-view">
    <div className="heading">
      <h1>Millrace</h1>
    </div>
    <Loading what="the page" />
  </div>
);
