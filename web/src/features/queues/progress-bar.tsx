import type { QueueProgress } from "./queue.ts";

/** How many runs of a queue are done, as a bar and in words. */
export const ProgressBar = ({
  progress: { total, completed, mine },
  withWords = true,
}: {
  readonly progress: QueueProgress;
  readonly withWords?: boolean;
}) => (
  <span className="queues-progress">
    <progress
      className="queues-track"
      aria-label="Runs that are done"
      max={Math.max(total, 1)}
      value={completed}
    />
    {withWords && (
      <span className="queues-words">
        {completed.toLocaleString("en")} of {total.toLocaleString("en")} done
        {mine > 0 && ` · ${mine.toLocaleString("en")} by you`}
      </span>
    )}
  </span>
);
