import { NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { ReactNode, RefObject } from "react";
import { useSearchShortcut } from "../../../components/keyboard/list-keys.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { isMetadataFilter } from "../dataset-search.ts";
import { createSplitsQuery, createVersionsQuery } from "../queries.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");
/** The milliseconds without a keystroke after which a search starts. Each search reads all examples. */
const debounceMs = 250;

/** Fields to filter the example list by text, metadata, split and version. */
export const ExampleFilters = ({
  datasetId,
  children,
}: {
  readonly datasetId: string;
  readonly children: ReactNode;
}) => {
  const { q = "", split = "", metadata = "", asOf = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const splits = useQuery(createSplitsQuery(datasetId, asOf === "" ? undefined : asOf));
  const versions = useInfiniteQuery(createVersionsQuery(datasetId));
  const setFilter = (name: "q" | "split" | "metadata" | "asOf", value: string): void =>
    void navigate({
      search: ({ [name]: _previous, example: _open, ...others }) =>
        value === "" ? others : { ...others, [name]: value },
      replace: true,
    });
  const searchField = useSearchShortcut("Search examples");
  const loadedVersions = versions.data?.pages.flat() ?? [];
  const isSelectedVersionListed =
    asOf === "" || loadedVersions.some((version) => version.asOf === asOf);
  return (
    <search className="example-filters">
      <DebouncedFilter
        inputRef={searchField}
        label="Search inputs and outputs"
        value={q}
        onChange={(text) => setFilter("q", text)}
      />
      <DebouncedFilter
        label='Metadata, e.g. {"source":"web"}'
        value={metadata}
        isValid={isMetadataFilter}
        onChange={(text) => setFilter("metadata", text)}
      />
      <NativeSelect
        size="xs"
        aria-label="Filter by split"
        value={split}
        data={[
          { value: "", label: "All splits" },
          ...(splits.data ?? []).map((name) => ({ value: name, label: toVisibleText(name) })),
        ]}
        onChange={({ currentTarget }) => setFilter("split", currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        aria-label="Dataset version"
        value={asOf}
        data={[
          { value: "", label: "Newest version" },
          ...(isSelectedVersionListed ? [] : [{ value: asOf, label: toVisibleText(asOf) }]),
          ...loadedVersions.map((version) => ({
            value: version.asOf,
            label: [formatTime(version.atMs), ...version.tags.map(toVisibleText)].join(" · "),
          })),
        ]}
        onChange={({ currentTarget }) => setFilter("asOf", currentTarget.value)}
      />
      {children}
    </search>
  );
};

/** A text field that applies its filter when the user pauses typing, if the text is valid. */
const DebouncedFilter = ({
  inputRef,
  label,
  value,
  isValid = acceptAny,
  onChange,
}: {
  readonly inputRef?: RefObject<HTMLInputElement | null>;
  readonly label: string;
  readonly value: string;
  readonly isValid?: (text: string) => boolean;
  readonly onChange: (text: string) => void;
}) => {
  const [draft, setDraft] = useState(value);
  const [appliedValue, setAppliedValue] = useState(value);
  if (appliedValue !== value) {
    // The filter in the URL changed, so replace the draft with the new filter.
    setAppliedValue(value);
    setDraft(value);
  }
  const isDraftValid = draft === "" || isValid(draft);
  useEffect(() => {
    if (draft === value || !isDraftValid) {
      return undefined;
    }
    const timer = setTimeout(() => onChange(draft), debounceMs);
    return () => clearTimeout(timer);
  });
  return (
    <TextInput
      {...(inputRef === undefined ? {} : { ref: inputRef })}
      size="xs"
      type="search"
      aria-label={label}
      placeholder={label}
      value={draft}
      error={!isDraftValid}
      onChange={({ currentTarget }) => setDraft(currentTarget.value)}
    />
  );
};

const acceptAny = (): boolean => true;
