import { Link } from "@tanstack/react-router";
import { omitUndefined } from "../../api/parse.ts";

/** What a new alert watches: the runs that it counts, and the metric, unless the user chooses it in the form. */
interface AlertSelection {
  readonly scope: string;
  readonly figure?: string;
  /** The property that the runs must have, and its value. */
  readonly group?: string;
  readonly value?: string;
  /** The filter that the runs must match. */
  readonly filter?: string | undefined;
}

/** A link to the form of a new alert. */
export const AlertLink = ({
  address: { tenantId, projectId },
  selection,
  subject,
}: {
  readonly address: { readonly tenantId: string; readonly projectId: string };
  readonly selection: AlertSelection;
  /** The metric or the group that the alert is on, for screen readers. */
  readonly subject: string;
}) => (
  <Link
    to="/o/$tenantId/rules"
    params={{ tenantId }}
    search={{ project: projectId, tab: "alerts", ...omitUndefined(selection) }}
    className="metric-alert"
    aria-label={`Create alert on ${subject}`}
  >
    Create alert
  </Link>
);
