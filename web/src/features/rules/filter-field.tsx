import { Input } from "@mantine/core";
import { useRef, useState } from "react";
import type { ReactNode } from "react";
import { fieldHint } from "../../components/dialog/field-fault.ts";
import { FilterBar } from "../../components/filter/filter-bar.tsx";
import { readRunValues } from "../runs/queries.ts";

/**
 * Returns a form field for a filter over the runs of a project, and a function for the form to call first when it is
 * submitted.
 */
export function useFilterField({
  projectId,
  description,
  fault,
  value,
  onChange,
}: {
  readonly projectId: string;
  readonly description: string;
  /** The server's error message about the filter. */
  readonly fault: string | undefined;
  readonly value: string;
  readonly onChange: (filter: string) => void;
}): {
  readonly field: ReactNode;
  /** @throws Error the field contains text that the user has not applied yet; the field then shows an error, too. */
  readonly assertApplied: () => void;
} {
  const element = useRef<HTMLDivElement>(null);
  const [unappliedFault, setUnappliedFault] = useState<string>();
  return {
    assertApplied: () => {
      const hasUnapplied = hasUnappliedText(element.current);
      setUnappliedFault(
        hasUnapplied
          ? "The text in the filter has not been applied yet. Press Enter in the filter first."
          : undefined,
      );
      if (hasUnapplied) {
        throw new Error(fieldHint);
      }
    },
    field: (
      <Input.Wrapper label="Filter" description={description} error={unappliedFault ?? fault}>
        <div ref={element} className="rule-filter">
          <FilterBar
            resource="runs"
            value={value}
            onApply={onChange}
            valuesKey={projectId}
            readValues={async (request, signal) => readRunValues(projectId, request, signal)}
          />
        </div>
      </Input.Wrapper>
    ),
  };
}

/** Whether the field contains text that the user has not applied yet by pressing Enter. */
const hasUnappliedText = (element: HTMLElement | null): boolean => {
  const input = element?.querySelector("[data-filter-input]");
  return input instanceof HTMLInputElement && input.value.trim() !== "";
};
