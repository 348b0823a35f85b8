import { Autocomplete, NativeSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { FormSection } from "../../../components/dialog/form.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { createSplitsQuery, createVersionsQuery } from "../../datasets/queries.ts";
import type { LaunchDraft } from "./launch-draft.ts";

/**
 * The time between the last keystroke in the version field and the request for the splits of that version, in
 * milliseconds.
 */
const debounceMs = 400;

/** Fields to choose which examples are run: the split, and the version of the dataset. */
export const ExampleFields = ({
  datasetId,
  draft: { split, version },
  onChange,
}: {
  readonly datasetId: string;
  readonly draft: LaunchDraft;
  readonly onChange: (changes: Partial<LaunchDraft>) => void;
}) => {
  const { data: pages } = useInfiniteQuery(createVersionsQuery(datasetId));
  const versions = pages?.pages.flat() ?? [];
  const [settledVersion] = useDebouncedValue(version.trim(), debounceMs);
  const { data: splits = [] } = useQuery({
    ...createSplitsQuery(datasetId, settledVersion === "" ? undefined : settledVersion),
    retry: false,
  });
  const labels = new Map(
    versions.map(({ asOf, atMs, tags }) => [
      asOf,
      [formatTime(atMs), ...tags.map(toVisibleText)].join(" · "),
    ]),
  );
  const tags = [...new Set(versions.flatMap((listed) => listed.tags))].filter(
    (tag) => tag !== "latest",
  );
  return (
    <FormSection
      title="Examples"
      description="Choose which examples to run. The version is a tag, or a time, which selects the latest version at that time."
    >
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
        <Autocomplete
          label="Dataset version"
          placeholder="Latest version"
          value={version}
          data={[
            ...(tags.length === 0 ? [] : [{ group: "Tags", items: tags }]),
            { group: "Versions", items: versions.map(({ asOf }) => asOf) },
          ]}
          renderOption={({ option: { value } }) => labels.get(value) ?? toVisibleText(value)}
          onChange={(changed) => onChange({ version: changed })}
        />
      </div>
    </FormSection>
  );
};
