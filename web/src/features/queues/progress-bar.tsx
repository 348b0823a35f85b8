import type { QueueProgress } from "./queue.ts";

/** How many runs of a queue have been reviewed, as a bar and as text. */
export const ProgressBar = ({
  progress: { total, completed, mine },
  hasText = true,
}: {
  readonly progress: QueueProgress;
  readonly hasText?: boolean;
}) => (
  <span className="queues-progress">
    <progress
      className="queues-track"
      aria-label="Reviewed runs"
      max={Math.max(total, 1)}
      value={completed}
    />
    {hasText && (
      <span className="queues-progress-text">
        {completed.toLocaleString("en")} of {total.toLocaleString("en")} reviewed
        {mine > 0 && ` · ${mine.toLocaleString("en")} by you`}
      </span>
    )}
  </span>
);
