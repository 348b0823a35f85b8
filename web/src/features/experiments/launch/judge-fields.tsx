import { Button } from "@mantine/core";
import { FormSection } from "../../../components/dialog/form.tsx";
import { createJudgeDraft } from "../../models/judge-draft.ts";
import type { JudgeDraft, JudgeFaults } from "../../models/judge-draft.ts";
import { JudgeEntry } from "../../models/judge-entry.tsx";
import { replaceAt } from "./replace-at.ts";

/** Fields for the LLM judges of an experiment. An LLM judge is a model that a prompt instructs to score each output. */
export const JudgeFields = ({
  judges,
  endpoints,
  faults,
  onChange,
}: {
  readonly judges: readonly JudgeDraft[];
  readonly endpoints: readonly { readonly name: string; readonly host: string }[];
  /** The error messages to show at the fields, in the order of the judges. */
  readonly faults: readonly JudgeFaults[];
  readonly onChange: (judges: readonly JudgeDraft[]) => void;
}) => (
  <FormSection
    title="LLM judges"
    description="A model judges each output. Instructions on how to format the answer are added to your prompt."
  >
    {judges.map((judge, index) => (
      <fieldset key={index} className="launch-item">
        <legend>Judge {index + 1}</legend>
        <JudgeEntry
          draft={judge}
          endpoints={endpoints}
          variables="inputs, output, reference, and members of these, such as inputs.question"
          faults={faults[index] ?? {}}
          onChange={(changed) => onChange(replaceAt(judges, index, changed))}
        />
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => onChange(judges.toSpliced(index, 1))}
        >
          Remove judge {index + 1}
        </Button>
      </fieldset>
    ))}
    <Button
      variant="default"
      size="xs"
      className="launch-add"
      onClick={() => onChange([...judges, createJudgeDraft(endpoints[0]?.name ?? "")])}
    >
      Add a judge
    </Button>
  </FormSection>
);
