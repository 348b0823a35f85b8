import { Button, NativeSelect, NumberInput, TagsInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { AbsentView } from "../../../components/page/absent-view.tsx";
import { FormError, FormSection } from "../../../components/dialog/form.tsx";
import { Empty, Failure, Loading } from "../../../components/page/states.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createDatasetQuery } from "../../datasets/queries.ts";
import { EstimatePanel } from "./estimate-panel.tsx";
import { JudgeFields } from "./judge-fields.tsx";
import { createDraft, listFaults, toLaunchBody } from "./launch-draft.ts";
import type { LaunchDraft, LaunchFaults } from "./launch-draft.ts";
import { modelEndpointsQuery } from "../../models/model-endpoints.ts";
import type { ModelEndpoints } from "../../models/model-endpoints.ts";
import { createModelDraft } from "../../models/model-draft.ts";
import { ExampleFields } from "./example-fields.tsx";
import { ModelFields } from "../../models/model-fields.tsx";
import { TokenForm } from "../../models/token-form.tsx";
import type { LaunchEstimate } from "./launch.ts";

import {
  createEstimateQuery,
  createPromptNamesQuery,
  scorersQuery,
  startExperiments,
} from "./queries.ts";
import { replaceAt } from "./replace-at.ts";
import { ScorerFields } from "./scorer-fields.tsx";
import "./launch.css";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId/new-experiment");

/** The page `/o/{tenantId}/datasets/{datasetId}/new-experiment`. */
export const NewExperiment = () => {
  const { tenantId, datasetId } = route.useParams();
  const dataset = useQuery(createDatasetQuery(datasetId));
  const models = useQuery(modelEndpointsQuery);
  if (dataset.data === undefined) {
    return (
      <AbsentView
        title="New experiment"
        resourceName="the dataset"
        error={dataset.error}
        onRetry={dataset.refetch}
      >
        <Link to="/o/$tenantId/datasets" params={{ tenantId }}>
          Datasets
        </Link>
      </AbsentView>
    );
  }
  return (
    <div>
      <title>New experiment · Millrace</title>
      <header className="heading">
        <div>
          <p className="crumbs">
            <Link
              to="/o/$tenantId/datasets/$datasetId"
              params={{ tenantId, datasetId }}
              search={{ tab: "experiments" }}
            >
              <bdi>{toVisibleText(dataset.data.name)}</bdi>
            </Link>
          </p>
          <h1>New experiment</h1>
        </div>
      </header>
      {models.data === undefined && models.error === null && (
        <Loading resourceName="the model endpoints" />
      )}
      {models.data === undefined && models.error !== null && (
        <Failure resourceName="the model endpoints" error={models.error} onRetry={models.refetch} />
      )}
      {models.data !== undefined && <LaunchContent models={models.data} />}
    </div>
  );
};

const LaunchContent = ({ models }: { readonly models: ModelEndpoints }) => {
  if (models.endpoints.length === 0) {
    return (
      <Empty title="No model endpoints">
        <p>
          Start the server with the endpoints that it may call, for example{" "}
          <code>millrace serve --model-endpoint openai=https://api.openai.com/v1</code>, with the
          key in <code>MILLRACE_MODEL_KEY_OPENAI</code>. Without an endpoint, evaluate a program
          with <code>evaluate</code> from <code>millrace/evaluation</code>.
        </p>
      </Empty>
    );
  }
  return models.needsToken ? (
    <>
      <p className="launch-setup quiet">
        Next, choose prompts, models and scorers, and see what the experiment may cost. No model is
        called before you start it.
      </p>
      <TokenForm className="launch-setup" />
    </>
  ) : (
    <LaunchForm models={models} />
  );
};

const noFaults: LaunchFaults = { models: [], scorers: [], judges: [] };

/** The time between the last change and the next estimate, in milliseconds. */
const debounceMs = 400;

const LaunchForm = ({ models }: { readonly models: ModelEndpoints }) => {
  const { tenantId, datasetId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const queryClient = useQueryClient();
  const endpointNames = models.endpoints.map(({ name }) => name);
  const [draft, setDraft] = useState<LaunchDraft>(() => createDraft(search, endpointNames));
  const [areFaultsShown, setAreFaultsShown] = useState(false);
  const change = (changes: Partial<LaunchDraft>): void =>
    setDraft((current) => ({ ...current, ...changes }));
  const { data: forms = [] } = useQuery(scorersQuery);
  const { data: promptNames = [] } = useQuery(createPromptNamesQuery(tenantId));
  const launch = toLaunchBody(datasetId, draft, forms);
  const body = "body" in launch ? launch.body : undefined;
  const [settledBody] = useDebouncedValue(body, debounceMs);
  const estimate = useQuery(createEstimateQuery(body === undefined ? undefined : settledBody));
  const start = useMutation({
    mutationFn: async () => (body === undefined ? [] : startExperiments(body)),
    onSuccess: async (ids) => {
      await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId] });
      await navigate({
        to: "/o/$tenantId/datasets/$datasetId/compare",
        params: { tenantId, datasetId },
        search: { experiments: ids.join(",") },
      });
    },
  });
  const endpointsWithoutKey = models.endpoints.filter(
    ({ name, hasKey, isPrivate }) =>
      !hasKey && !isPrivate && draft.models.some((model) => model.endpoint === name),
  );
  const faults = areFaultsShown && "faults" in launch ? launch.faults : noFaults;
  const submit = (): void => {
    setAreFaultsShown(true);
    if (body !== undefined) {
      start.mutate();
    }
  };
  const count = "targetCount" in launch ? launch.targetCount : 0;
  return (
    <div className="launch">
      <form
        className="form launch-form"
        aria-label="New experiment"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <FormSection title="Prompts and models" description="Each prompt is run with each model.">
          <TagsInput
            label="Prompts"
            description="The latest commit of each prompt is run, unless you enter a commit, for example support:3f2a or owner/support:3f2a."
            required
            placeholder={draft.prompts.length === 0 ? "support" : ""}
            data={[...promptNames]}
            error={faults.prompts}
            value={[...draft.prompts]}
            onChange={(prompts) => change({ prompts })}
          />
          {draft.models.map((model, index) => (
            <fieldset key={index} className="launch-item">
              <legend>Model {index + 1}</legend>
              <ModelFields
                draft={model}
                endpoints={models.endpoints}
                faults={faults.models[index] ?? {}}
                onChange={(changed) => change({ models: replaceAt(draft.models, index, changed) })}
              />
              {draft.models.length > 1 && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  color="gray"
                  onClick={() => change({ models: draft.models.toSpliced(index, 1) })}
                >
                  Remove model {index + 1}
                </Button>
              )}
            </fieldset>
          ))}
          <Button
            variant="default"
            size="xs"
            className="launch-add"
            onClick={() =>
              change({ models: [...draft.models, createModelDraft(endpointNames[0] ?? "")] })
            }
          >
            Add a model
          </Button>
          <div className="launch-fields">
            <NumberInput
              label="Repetitions"
              min={1}
              max={10}
              allowDecimal={false}
              clampBehavior="strict"
              value={draft.repetitions}
              onChange={(value) => change({ repetitions: Math.max(1, Number(value)) })}
            />
            <NumberInput
              label="Concurrent calls"
              min={1}
              max={16}
              allowDecimal={false}
              clampBehavior="strict"
              value={draft.concurrency}
              onChange={(value) => change({ concurrency: Math.max(1, Number(value)) })}
            />
          </div>
        </FormSection>
        <ExampleFields datasetId={datasetId} draft={draft} onChange={change} />
        {estimate.data !== undefined && (
          <MappingFields
            estimate={estimate.data}
            mapping={draft.mapping}
            onChange={(mapping) => change({ mapping })}
          />
        )}
        <ScorerFields
          scorers={draft.scorers}
          forms={forms}
          faults={faults.scorers}
          onChange={(scorers) => change({ scorers })}
        />
        <JudgeFields
          judges={draft.judges}
          endpoints={models.endpoints}
          faults={faults.judges}
          onChange={(judges) => change({ judges })}
        />
      </form>
      <aside className="launch-estimate" aria-label="Cost and preview">
        <h2>Cost and preview</h2>
        {"faults" in launch ? (
          <ul className="launch-faults" data-shown={areFaultsShown || undefined}>
            {listFaults(launch.faults).map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        ) : (
          <>
            {estimate.error !== null && <FormError error={estimate.error.message} />}
            {estimate.error === null && estimate.data === undefined && (
              <Loading resourceName="the estimate" />
            )}
            {estimate.error === null && estimate.data !== undefined && (
              <EstimatePanel estimate={estimate.data} judgeCount={draft.judges.length} />
            )}
          </>
        )}
        {endpointsWithoutKey.map(({ name, keyVariable }) => (
          <p key={name} className="form-about">
            The server has no key for the endpoint {name}. If the endpoint needs a key, the operator
            must set <code>{keyVariable}</code>. Keys that are entered in the playground are not
            used.
          </p>
        ))}
        <FormError error={start.error?.message} />
        <Button fullWidth loading={start.isPending} onClick={submit}>
          {count > 1 ? `Start ${count} experiments` : "Start experiment"}
        </Button>
      </aside>
    </div>
  );
};

/** A field for each variable of the prompts, to choose the member of an example that replaces the variable. */
const MappingFields = ({
  estimate: { targets },
  mapping,
  onChange,
}: {
  readonly estimate: LaunchEstimate;
  readonly mapping: LaunchDraft["mapping"];
  readonly onChange: (mapping: LaunchDraft["mapping"]) => void;
}) => {
  const variables = [...new Set(targets.flatMap((target) => target.variables))];
  const paths = [...new Set(targets.flatMap((target) => target.paths))];
  if (variables.length === 0) {
    return null;
  }
  return (
    <FormSection
      title="Variables"
      description="Choose the field of an example that fills each variable of the prompts."
    >
      <div className="launch-fields">
        {variables.map((name) => (
          <NativeSelect
            key={name}
            label={toVisibleText(name)}
            value={mapping[name] ?? ""}
            data={[
              { value: "", label: `inputs.${name}` },
              ...paths
                .filter((path) => path !== `inputs.${name}`)
                .map((path) => ({ value: path, label: toVisibleText(path) })),
            ]}
            onChange={({ currentTarget }) => onChange({ ...mapping, [name]: currentTarget.value })}
          />
        ))}
      </div>
    </FormSection>
  );
};
