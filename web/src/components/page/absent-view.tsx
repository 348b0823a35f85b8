import type { ReactNode } from "react";
import { Failure, Loading } from "./states.tsx";

/**
 * Fills a view while its resource is loading, does not exist, or could not be loaded. `children` is a link
 * back to the list of such resources, if there is one.
 */
export const AbsentView = ({
  title,
  resourceName,
  error,
  onRetry,
  missingMessage,
  children,
}: {
  /** The heading, such as "Dataset". */
  readonly title: string;
  /** The resource as part of a sentence, such as "the dataset". */
  readonly resourceName: string;
  /** `null` while the resource is loading. */
  readonly error: Error | null;
  readonly onRetry: () => unknown;
  /** The message to show if the resource does not exist (404). */
  readonly missingMessage?: string;
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
      <Loading resourceName={resourceName} />
    ) : (
      <Failure
        resourceName={resourceName}
        error={error}
        onRetry={onRetry}
        missingMessage={missingMessage}
        isSingleResource
      />
    )}
  </div>
);

/** Shown while the router loads the view of the current URL. */
export const PageLoading = () => (
  <div className="absent-view">
    <div className="heading">
      <h1>Millrace</h1>
    </div>
    <Loading resourceName="the page" />
  </div>
);
