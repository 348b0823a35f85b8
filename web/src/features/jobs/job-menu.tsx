import { Button, Notification, Popover } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { describeActive, describeState, isActive } from "./job.ts";
import type { Job } from "./job.ts";
import { JobRow } from "./job-row.tsx";
import { isStartedInThisTab, jobsKey, latestJobsQuery } from "./queries.ts";
import "./jobs.css";

/** The maximum number of jobs in the menu. The Jobs page lists all jobs. */
const maxShownJobs = 5;
/** How long the notice about the end of a job is shown, in milliseconds. */
const noticeMs = 8_000;

/**
 * The menu of jobs in the bar at the top of the page. It shows how many jobs are running or, if none is, how many are
 * queued, and the progress of the latest ones. When a job that was started in this tab ends, it shows a notice.
 */
export const JobMenu = ({ tenantId }: { readonly tenantId: string }) => {
  const { data: jobs = [] } = useQuery(latestJobsQuery);
  const [isOpen, setIsOpen] = useState(false);
  const { notices, dismiss } = useNotices(jobs);
  if (jobs.length === 0) {
    return null;
  }
  return (
    <>
      <Popover
        opened={isOpen}
        onChange={setIsOpen}
        position="bottom-end"
        width={360}
        withinPortal={false}
        trapFocus
        returnFocus
        transitionProps={{ duration: 0 }}
      >
        <Popover.Target>
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            className="job-button"
            onClick={() => setIsOpen(!isOpen)}
          >
            {describeActive(jobs) ?? "Jobs"}
          </Button>
        </Popover.Target>
        <Popover.Dropdown className="job-menu">
          <ul className="jobs">
            {jobs.slice(0, maxShownJobs).map((job) => (
              <JobRow key={job.id} job={job} tenantId={tenantId} />
            ))}
          </ul>
          <Link to="/o/$tenantId/jobs" params={{ tenantId }} onClick={() => setIsOpen(false)}>
            All jobs
          </Link>
        </Popover.Dropdown>
      </Popover>
      <output className="job-notices">
        {notices.map((job) => (
          <Notification
            key={job.id}
            title={toVisibleText(job.title)}
            color={job.state === "failed" ? "red" : "teal"}
            withBorder
            closeButtonProps={{ "aria-label": "Dismiss" }}
            onClose={() => dismiss(job.id)}
          >
            {toVisibleText(job.error ?? job.summary ?? describeState(job))}
          </Notification>
        ))}
      </output>
    </>
  );
};

/** Returns the jobs that were started in this tab and have just ended. */
function useNotices(jobs: readonly Job[]): {
  readonly notices: readonly Job[];
  readonly dismiss: (id: string) => void;
} {
  const queryClient = useQueryClient();
  const announcedIds = useRef(new Set<string>());
  const [notices, setNotices] = useState<readonly Job[]>([]);
  const dismiss = useCallback(
    (id: string): void => setNotices((current) => current.filter((job) => job.id !== id)),
    [],
  );
  useEffect(() => {
    for (const job of jobs.filter(({ id }) => isStartedInThisTab(id))) {
      if (isActive(job)) {
        // The job was started or continued, so show a notice when it ends.
        announcedIds.current.delete(job.id);
      } else if (!announcedIds.current.has(job.id)) {
        announcedIds.current.add(job.id);
        setNotices((current) => [...current.filter(({ id }) => id !== job.id), job]);
        setTimeout(() => dismiss(job.id), noticeMs);
        // The job may have changed the data that the page shows.
        void queryClient.invalidateQueries({
          predicate: ({ queryKey }) => queryKey[0] !== jobsKey,
        });
      }
    }
  }, [jobs, dismiss, queryClient]);
  return { notices, dismiss };
}
