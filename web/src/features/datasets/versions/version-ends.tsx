import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { versionsQuery } from "../queries.ts";
import { formatTime } from "../../../components/time/time.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

/** The two versions that are compared. */
export const Ends = ({
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
