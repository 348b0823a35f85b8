import { Autocomplete, NativeSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { FormSection } from "../../../components/dialog/form.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { createSplitsQuery, createVersionsQuery } from "../../datasets/queries.ts";
import type { LaunchDraft } from "./launch-draft.ts";

/** How long the fields wait for further characters of a version before its splits are read, in milliseconds. */
const debounceMs = 400;

/** Which examples are run: of which split, in which version of the dataset. */
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
  const tags = [...new Set(versions.flatMap((one) => one.tags))].filter((tag) => tag !== "latest");
  return (
    <FormSection
      title="Examples"
      description="Choose which examples to run. Enter a tag, or a time for the last version that existed then."
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
