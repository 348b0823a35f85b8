import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTenantId } from "../../api/tenant.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatTime } from "../../components/time/time.ts";
import type { FeedbackEntry } from "./feedback.ts";
import { createRecentFeedbackQuery, maxRecentEntries } from "./queries.ts";
import type { FeedbackPeriod } from "./queries.ts";

/** A table of the latest feedback, or of the feedback of a period, with links to its runs. */
export const RecentFeedback = ({
  projectId,
  keyName,
  period,
  onClearPeriod,
}: {
  readonly projectId: string;
  readonly keyName: string | undefined;
  readonly period: FeedbackPeriod | undefined;
  /** Called to remove the period, so that the latest feedback is shown again. */
  readonly onClearPeriod: () => void;
}) => {
  const { data, error, refetch } = useQuery(
    createRecentFeedbackQuery(projectId, { key: keyName, period }),
  );
  if (data === undefined) {
    return error === null ? (
      <Loading resourceName="the latest feedback" />
    ) : (
      <Failure resourceName="the latest feedback" error={error} onRetry={refetch} />
    );
  }
  return data.length === 0 && period === undefined ? null : (
    <section className="feedback-recent">
      {period === undefined ? (
        <h2>Latest feedback</h2>
      ) : (
        <h2>
          Feedback from {formatTime(period.fromMs).slice(0, 16)} to{" "}
          {formatTime(period.toMs).slice(0, 16)}{" "}
          <Button size="compact-xs" variant="default" onClick={onClearPeriod}>
            Show latest
          </Button>
        </h2>
      )}
      {data.length === 0 && <p className="form-about">No feedback in this period.</p>}
      {data.length === maxRecentEntries && (
        <p className="form-about">Only the latest {maxRecentEntries} entries are shown.</p>
      )}
      <ScrollX label="Latest feedback">
        <table className="projects stacked">
          <thead>
            <tr>
              <th scope="col">Created</th>
              <th scope="col">Key</th>
              <th scope="col">Score</th>
              <th scope="col">Comment</th>
              <th scope="col">By</th>
              <th scope="col">Run</th>
            </tr>
          </thead>
          <tbody>
            {data.map((entry) => (
              <tr key={entry.id}>
                <td className="nowrap" data-title="Created">
                  <Ago timeMs={entry.atMs} />
                </td>
                <td data-title="Key">{toVisibleText(entry.key)}</td>
                <td className="nowrap" data-title="Score">
                  {toVisibleText(entry.scoreText)}
                </td>
                <td className="feedback-comment" data-title="Comment">
                  {toVisibleText(entry.comment.slice(0, 400))}
                </td>
                <td className="nowrap" data-title="By">
                  {toVisibleText(entry.source)}
                </td>
                <td className="nowrap" data-title="Run">
                  <RunLink entry={entry} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </section>
  );
};

const RunLink = ({ entry: { runId, traceId, projectId } }: { readonly entry: FeedbackEntry }) => {
  const tenantId = useTenantId();
  if (runId === undefined) {
    return <span className="absent">None (feedback on the project)</span>;
  }
  return traceId === undefined || projectId === undefined || tenantId === undefined ? (
    <span className="absent">Run not received</span>
  ) : (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ tenantId, projectId }}
      search={{ trace: traceId, run: runId }}
    >
      Open run
    </Link>
  );
};
