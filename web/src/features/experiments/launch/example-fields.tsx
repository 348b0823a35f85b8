import { Button, NativeSelect } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { FormSection } from "../../../components/dialog/form.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import type { DatasetVersion } from "../../datasets/dataset.ts";
import { createSplitsQuery, createVersionsQuery } from "../../datasets/queries.ts";
import type { LaunchDraft } from "./launch-draft.ts";

/** The tag that the server gives to the latest version. */
const latestTag = "latest";

/** Fields to choose the examples to run: their split, and the version of the dataset. */
export const ExampleFields = ({
  datasetId,
  draft: { split, version },
  onChange,
}: {
  readonly datasetId: string;
  readonly draft: LaunchDraft;
  readonly onChange: (changes: Partial<LaunchDraft>) => void;
}) => {
  const {
    data: pages,
    hasNextPage,
    isFetching,
    fetchNextPage,
  } = useInfiniteQuery(createVersionsQuery(datasetId));
  const versions = pages?.pages.flat() ?? [];
  const { data: splits = [] } = useQuery({
    ...createSplitsQuery(datasetId, version === "" ? undefined : version),
    retry: false,
  });
  return (
    <FormSection title="Examples" description="Choose which examples to run.">
      <div className="launch-fields">
        <NativeSelect
          label="Split"
          value={split}
          data={[
            { value: "", label: "All splits" },
            ...[...new Set([...splits, ...(split === "" ? [] : [split])])].map((name) => ({
              value: name,
              label: toVisibleText(name),
            })),
          ]}
          onChange={({ currentTarget }) => onChange({ split: currentTarget.value })}
        />
        <NativeSelect
          label="Dataset version"
          value={version}
          data={toVersionChoices(versions, version)}
          onChange={({ currentTarget }) => onChange({ version: currentTarget.value })}
        />
      </div>
      {hasNextPage && (
        <Button
          size="compact-xs"
          variant="subtle"
          className="launch-add"
          loading={isFetching}
          onClick={() => void fetchNextPage()}
        >
          Show earlier versions
        </Button>
      )}
    </FormSection>
  );
};

/**
 * Returns the versions to choose from: the latest one, the tagged ones, and the listed ones. If `chosenVersion` is not
 * among them, it is added.
 */
export function toVersionChoices(versions: readonly DatasetVersion[], chosenVersion: string) {
  const tags = versions.flatMap(({ tags: names, atMs }) =>
    names
      .filter((name) => name !== latestTag)
      .map((name) => ({ value: name, label: `${toVisibleText(name)} · ${formatTime(atMs)}` })),
  );
  const times = versions.map(({ asOf, atMs, tags: names }) => ({
    value: asOf,
    label: [formatTime(atMs), ...names.map(toVisibleText)].join(" · "),
  }));
  const isListed =
    chosenVersion === "" || [...tags, ...times].some(({ value }) => value === chosenVersion);
  return [
    { value: "", label: "Latest version" },
    ...(isListed ? [] : [{ value: chosenVersion, label: toVisibleText(chosenVersion) }]),
    ...(tags.length === 0 ? [] : [{ group: "Tags", items: tags }]),
    ...(times.length === 0 ? [] : [{ group: "Versions", items: times }]),
  ];
}
