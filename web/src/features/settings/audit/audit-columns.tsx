import { Link } from "@tanstack/react-router";
import type { Column } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { outcomeLabels } from "./audit-entry.ts";
import type { AuditEntry } from "./audit-entry.ts";

/** The columns of the audit log. The name of an actor is a link that filters by the actor. */
export const createAuditColumns = (tenantId: string): readonly Column<AuditEntry>[] => [
  {
    id: "action",
    title: "Action",
    renderCell: ({ title }) => capitalize(toVisibleText(title)),
    width: 150,
    grow: 2,
    isFixed: true,
    isShownWhenNarrow: true,
  },
  {
    id: "target",
    title: "Target",
    renderCell: ({ target }) => <bdi title={toVisibleText(target)}>{toVisibleText(target)}</bdi>,
    width: 180,
    grow: 4,
  },
  {
    id: "actor",
    title: "Actor",
    renderCell: ({ actor, actorName }) => (
      <Link
        to="/o/$tenantId/settings/audit"
        params={{ tenantId }}
        search={(search) => ({ ...search, actor })}
      >
        <bdi>{toVisibleText(actorName)}</bdi>
      </Link>
    ),
    width: 130,
    grow: 2,
    isShownWhenNarrow: true,
  },
  {
    id: "address",
    title: "Address",
    renderCell: ({ address }) => toVisibleText(address ?? ""),
    width: 130,
  },
  {
    id: "outcome",
    title: "Outcome",
    renderCell: ({ outcome, status }) => (
      <span className={outcome === "succeeded" ? undefined : "bad"}>
        {outcomeLabels[outcome]}
        {status === undefined ? "" : ` (${status})`}
      </span>
    ),
    width: 120,
  },
  {
    id: "request",
    title: "Request ID",
    renderCell: ({ requestId }) => <code>{toVisibleText(requestId ?? "")}</code>,
    width: 120,
    grow: 1,
  },
  {
    id: "time",
    title: "Time",
    renderCell: ({ timeMs }) => <Ago timeMs={timeMs} />,
    width: 104,
    isShownWhenNarrow: true,
  },
];

const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
