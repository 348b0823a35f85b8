import { NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { ReactNode, RefObject } from "react";
import { useFindKey } from "../../../components/keyboard/list-keys.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { isMetadata } from "../dataset-search.ts";
import { splitsQuery, versionsQuery } from "../queries.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");
/** A pause in the typing; each letter would be a search through all examples. */
const pauseMs = 250;

/** Which examples are shown: of which version, in which split, with which text and metadata. */
export const ExampleFilters = ({
  datasetId,
  children,
}: {
  readonly datasetId: string;
  readonly children: ReactNode;
}) => {
  const { q = "", split = "", metadata = "", asOf = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const splits = useQuery(splitsQuery(datasetId, asOf === "" ? undefined : asOf));
  const versions = useInfiniteQuery(versionsQuery(datasetId));
  const set = (name: "q" | "split" | "metadata" | "asOf", value: string): void =>
    void navigate({
      search: ({ [name]: _before, example: _open, ...rest }) =>
        value === "" ? rest : { ...rest, [name]: value },
      replace: true,
    });
  const field = useFindKey("Find examples by a text in them");
  const known = versions.data?.pages.flat() ?? [];
  const isKnown = asOf === "" || known.some((one) => one.asOf === asOf);
  return (
    <search className="example-filters">
      <TypedFilter
        field={field}
        label="Text in inputs or outputs"
        value={q}
        onChange={(text) => set("q", text)}
      />
      <TypedFilter
        label='Metadata, {"source":"web"}'
        value={metadata}
        isValid={isMetadata}
        onChange={(text) => set("metadata", text)}
      />
      <NativeSelect
        size="xs"
        aria-label="Split"
        value={split}
        data={[
          { value: "", label: "All splits" },
          ...(splits.data ?? []).map((name) => ({ value: name, label: toVisibleText(name) })),
        ]}
        onChange={({ currentTarget }) => set("split", currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        aria-label="Version"
        value={asOf}
        data={[
          { value: "", label: "Newest version" },
          ...(isKnown ? [] : [{ value: asOf, label: toVisibleText(asOf) }]),
          ...known.map((one) => ({
            value: one.asOf,
            label: [formatTime(one.atMs), ...one.tags.map(toVisibleText)].join(" · "),
          })),
        ]}
        onChange={({ currentTarget }) => set("asOf", currentTarget.value)}
      />
      {children}
    </search>
  );
};

/** A text that takes effect when whoever types it pauses, if it is one that means something. */
const TypedFilter = ({
  field,
  label,
  value,
  isValid = always,
  onChange,
}: {
  readonly field?: RefObject<HTMLInputElement | null>;
  readonly label: string;
  readonly value: string;
  readonly isValid?: (text: string) => boolean;
  readonly onChange: (text: string) => void;
}) => {
  const [typed, setTyped] = useState(value);
  const [seen, setSeen] = useState(value);
  if (seen !== value) {
    // The address changed: by this field, or by a link.
    setSeen(value);
    setTyped(value);
  }
  const isFit = typed === "" || isValid(typed);
  useEffect(() => {
    if (typed === value || !isFit) {
      return undefined;
    }
    const timer = setTimeout(() => onChange(typed), pauseMs);
    return () => clearTimeout(timer);
  });
  return (
    <TextInput
      {...(field === undefined ? {} : { ref: field })}
      size="xs"
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed}
      error={!isFit}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
};

const always = (): boolean => true;
