import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTenantId } from "../../api/tenant.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import type { FeedbackEntry } from "./feedback.ts";
import { createRecentFeedbackQuery } from "./queries.ts";

/** A table of the latest feedback, with links to its runs. */
export const RecentFeedback = ({
  projectId,
  keyName,
}: {
  readonly projectId: string;
  readonly keyName: string | undefined;
}) => {
  const { data, error, refetch } = useQuery(createRecentFeedbackQuery(projectId, keyName));
  if (data === undefined) {
    return error === null ? (
      <Loading resourceName="the latest feedback" />
    ) : (
      <Failure resourceName="the latest feedback" error={error} onRetry={refetch} />
    );
  }
  return data.length === 0 ? null : (
    <section className="feedback-recent">
      <h2>Latest feedback</h2>
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
