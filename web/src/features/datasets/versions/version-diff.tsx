import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { omitUndefined } from "../../../api/parse.ts";
import { Empty } from "../../../components/page/states.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { Column, RowLink } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { diffKinds } from "../dataset-search.ts";
import type { DiffKind } from "../dataset-search.ts";
import { PayloadText } from "../examples/example-columns.tsx";
import { diffQuery } from "../examples/queries.ts";
import type { ExampleDifference } from "../examples/queries.ts";
import { versionsQuery } from "../queries.ts";
import { DiffPanel } from "./diff-panel.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

const words = { added: "+ added", removed: "− removed", modified: "~ changed" } as const;

interface Props {
  readonly datasetId: string;
  readonly from: string;
  readonly to: string;
  readonly kind: DiffKind | undefined;
}

/** What differs from one version to another: counts, the examples, and one of them member by member. */
export const VersionDiff = ({ datasetId, from, to, kind }: Props) => {
  const params = route.useParams();
  const { example } = route.useSearch();
  const navigate = route.useNavigate();
  const diff = useInfiniteQuery(diffQuery(datasetId, { from, to, ...omitUndefined({ kind }) }));
  const counts = diff.data?.pages[0]?.counts;
  const rows = diff.data?.pages.flatMap(({ changes }) => changes);
  const open = rows?.find(({ id }) => id === example);
  return (
    <>
      <div className="dataset-list">
        <div className="example-filters">
          <Ends datasetId={datasetId} from={from} to={to} />
          <div className="tools">
            {[undefined, ...diffKinds].map((one) => (
              <button
                key={one ?? "all"}
                type="button"
                className="diff-kind"
                data-kind={one}
                aria-pressed={one === kind}
                onClick={() =>
                  void navigate({
                    search: { tab: "versions", from, to, ...omitUndefined({ kind: one }) },
                    replace: true,
                  })
                }
              >
                {one === undefined ? "all" : words[one]} {toCount(counts, one)}
              </button>
            ))}
          </div>
        </div>
        <DataTable
          what="changes"
          rows={rows}
          rowId={({ id }) => id}
          columns={columns}
          link={toLink(params)}
          openId={example}
          hasMore={diff.hasNextPage}
          onMore={() => void (diff.isFetching ? undefined : diff.fetchNextPage())}
          error={diff.error}
          onRetry={diff.refetch}
          empty={<Empty title="Nothing differs between these versions." />}
        />
      </div>
      {open !== undefined && (
        <DiffPanel
          key={open.id}
          datasetId={datasetId}
          change={open}
          from={from}
          to={to}
          onClose={() => void navigate({ search: ({ example: _gone, ...rest }) => rest })}
        />
      )}
    </>
  );
};

function toCount(
  counts: Readonly<Record<DiffKind, number>> | undefined,
  kind: DiffKind | undefined,
): string {
  if (counts === undefined) {
    return "";
  }
  const count =
    kind === undefined ? diffKinds.reduce((sum, one) => sum + counts[one], 0) : counts[kind];
  return count.toLocaleString("en");
}

const toLink =
  (params: { readonly tenantId: string; readonly datasetId: string }) =>
  ({ id }: ExampleDifference, part: RowLink) => (
    <Link
      from="/o/$tenantId/datasets/$datasetId"
      to="/o/$tenantId/datasets/$datasetId"
      params={params}
      search={(now) => ({ ...now, example: id })}
      {...part}
    />
  );

const columns: readonly Column<ExampleDifference>[] = [
  {
    id: "kind",
    title: "Change",
    width: 104,
    isFixed: true,
    isNarrow: true,
    cell: ({ kind }) => (
      <span className="diff-kind" data-kind={kind}>
        {words[kind]}
      </span>
    ),
  },
  {
    id: "before",
    title: "Inputs before",
    width: 160,
    grow: 1,
    cell: ({ before }) => <PayloadText of={before?.inputs} />,
  },
  {
    id: "after",
    title: "Inputs after",
    width: 160,
    grow: 1,
    isNarrow: true,
    cell: ({ after }) => <PayloadText of={after?.inputs} />,
  },
];

/** The two versions that are compared. */
const Ends = ({
  datasetId,
  from,
  to,
}: {
  readonly datasetId: string;
  readonly from: string;
  readonly to: string;
}) => {
  const navigate = route.useNavigate();
  const versions = useInfiniteQuery(versionsQuery(datasetId));
  const known = (versions.data?.pages.flat() ?? []).map((one) => ({
    value: one.asOf,
    label: [formatTime(one.atMs), ...one.tags.map(toVisibleText)].join(" · "),
  }));
  const choose = (label: string, value: string, onChange: (next: string) => void) => (
    <NativeSelect
      size="xs"
      aria-label={label}
      value={value}
      data={[
        ...(known.some((one) => one.value === value)
          ? []
          : [{ value, label: toVisibleText(value) }]),
        ...known,
      ]}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
  const set = (ends: { readonly from?: string; readonly to?: string }): void =>
    void navigate({ search: ({ example: _gone, ...now }) => ({ ...now, ...ends }), replace: true });
  return (
    <>
      {choose("From version", from, (next) => set({ from: next }))}
      <span aria-hidden="true">→</span>
      {choose("To version", to, (next) => set({ to: next }))}
    </>
  );
};
