import { FormError } from "../../components/dialog/form.tsx";
import type { JudgeDraft, JudgeFaults } from "../models/judge-draft.ts";
import { JudgeEntry } from "../models/judge-entry.tsx";
import type { ModelEndpoints } from "../models/model-endpoints.ts";
import { TokenFields } from "../models/token-form.tsx";

/** The fields of a rule's LLM judge. If the server can't call models yet, explains what must be set up first. */
export const JudgeAction = ({
  models,
  error,
  judge,
  faults,
  onChange,
}: {
  readonly models: ModelEndpoints | undefined;
  readonly error: Error | null;
  readonly judge: JudgeDraft;
  /** The error messages to show at the fields. */
  readonly faults: JudgeFaults;
  readonly onChange: (judge: JudgeDraft) => void;
}) => {
  if (models === undefined) {
    return error === null ? (
      <output className="quiet">Loading the model endpoints …</output>
    ) : (
      <FormError error={`The model endpoints could not be loaded: ${error.message}`} />
    );
  }
  if (models.endpoints.length === 0) {
    return (
      <p>
        <strong>No model endpoints.</strong> Start the server with the endpoints that it may call,
        for example <code>millrace serve --model-endpoint openai=https://api.openai.com/v1</code>.
      </p>
    );
  }
  if (models.needsToken) {
    return <TokenFields />;
  }
  const endpoint = models.endpoints.find(({ name }) => name === judge.endpoint);
  return (
    <>
      <JudgeEntry
        draft={judge}
        endpoints={
          endpoint === undefined
            ? [...models.endpoints, { name: judge.endpoint, host: "no longer configured" }]
            : models.endpoints
        }
        variables="inputs, output, and members of these, such as inputs.question"
        faults={faults}
        onChange={onChange}
      />
      <p className="form-about">
        The judge calls the model once for each matching run, within the limits of the server, and
        stores its result as feedback on the run. The judge’s own calls are not judged.
        {endpoint?.hasKey === false && !endpoint.isPrivate && (
          <>
            {" "}
            The server has no key for this endpoint. If the endpoint needs a key, the operator must
            set <code>{endpoint.keyVariable}</code>.
          </>
        )}
      </p>
    </>
  );
};
