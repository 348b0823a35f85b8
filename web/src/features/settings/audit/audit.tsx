import { Button, Checkbox, NativeSelect } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { saveFile } from "../../../api/save-file.ts";
import { FormError } from "../../../components/dialog/form.tsx";
import { Empty } from "../../../components/page/states.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { serverFactsQuery } from "../queries.ts";
import { createAuditColumns } from "./audit-columns.tsx";
import { outcomeLabels } from "./audit-entry.ts";
import { auditOutcomes, auditRanges } from "./audit-search.ts";
import type { AuditRange, AuditSearch } from "./audit-search.ts";
import { createAuditQuery, downloadAudit } from "./queries.ts";
import "./audit.css";

const route = getRouteApi("/o/$tenantId/settings/audit");

/** The page `/o/{tenantId}/settings/audit`, which shows who changed what. */
export const Audit = () => {
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  const pages = useInfiniteQuery(createAuditQuery(search));
  const entries = useMemo(() => pages.data?.pages.flatMap((page) => page.entries), [pages.data]);
  const columns = useMemo(() => createAuditColumns(tenantId), [tenantId]);
  const [firstPage] = pages.data?.pages ?? [];
  const download = useMutation({
    mutationFn: async () => saveFile(await downloadAudit(search), "audit.jsonl"),
  });
  return (
    <div className="fill">
      <title>Audit log · Millrace</title>
      <div className="heading">
        <div>
          <p className="crumbs">
            <Link to="/o/$tenantId/settings" params={{ tenantId }}>
              Settings
            </Link>
          </p>
          <h1>Audit log</h1>
        </div>
        <Button
          variant="default"
          size="xs"
          loading={download.isPending}
          onClick={() => download.mutate()}
        >
          Export JSONL
        </Button>
      </div>
      <AuditFilters search={search} actions={firstPage?.actions ?? []} />
      <FormError error={download.error?.message} />
      <DataTable
        resourceName="audit entries"
        rows={entries}
        getRowId={({ id }) => id}
        columns={columns}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        emptyState={<NoEntries isFiltered={Object.keys(search).length > 0} />}
      />
      {firstPage !== undefined && (
        <p className="audit-note">
          Entries are kept for {firstPage.keptDays.toLocaleString("en")} days. Recorded runs and
          feedback are not part of the log.
        </p>
      )}
    </div>
  );
};

const rangeLabels: { readonly [Range in AuditRange]: string } = {
  "1d": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

const AuditFilters = ({
  search,
  actions,
}: {
  readonly search: AuditSearch;
  readonly actions: readonly { readonly name: string; readonly title: string }[];
}) => {
  const navigate = route.useNavigate();
  const { data: facts } = useQuery(serverFactsQuery);
  const changeFilter = (name: keyof AuditSearch, value: unknown): void => {
    const { [name]: _previous, ...otherFilters } = search;
    const isSet = value !== "" && value !== false;
    void navigate({
      search: isSet ? { ...otherFilters, [name]: value } : otherFilters,
      replace: true,
    });
  };
  // A link may name an action that only another version of the server has. List this action by its name.
  const listedActions = actions.some(({ name }) => name === search.action)
    ? actions
    : [...actions, ...(search.action === undefined ? [] : [toAction(search.action)])];
  return (
    <div className="audit-filters">
      <NativeSelect
        size="xs"
        aria-label="Action"
        data={[
          { value: "", label: "All actions" },
          ...listedActions.map(({ name, title }) => ({ value: name, label: toVisibleText(title) })),
        ]}
        value={search.action ?? ""}
        onChange={({ currentTarget }) => changeFilter("action", currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        aria-label="Outcome"
        data={[
          { value: "", label: "All outcomes" },
          ...auditOutcomes.map((value) => ({ value, label: outcomeLabels[value] })),
        ]}
        value={search.outcome ?? ""}
        onChange={({ currentTarget }) => changeFilter("outcome", currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        aria-label="Time range"
        data={[
          { value: "", label: "All time" },
          ...auditRanges.map((value) => ({ value, label: rangeLabels[value] })),
        ]}
        value={search.range ?? ""}
        onChange={({ currentTarget }) => changeFilter("range", currentTarget.value)}
      />
      {facts?.isOperator === true && (
        <Checkbox
          size="xs"
          label="All tenants"
          checked={search.all === true}
          onChange={({ currentTarget }) => changeFilter("all", currentTarget.checked)}
        />
      )}
      {search.actor !== undefined && (
        <Button variant="default" size="compact-xs" onClick={() => changeFilter("actor", "")}>
          Actor: {toVisibleText(search.actor)} ×
        </Button>
      )}
    </div>
  );
};

const toAction = (name: string) => ({ name, title: name });

const NoEntries = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No matching entries" />
  ) : (
    <Empty title="No entries">
      <p>Changes to keys, projects, datasets, prompts, rules and settings appear here.</p>
    </Empty>
  );
