import { Button, NativeSelect, TextInput } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { PlaygroundState, Target } from "./playground-state.ts";
import type { ModelEndpoint, ModelEndpoints } from "../models/model-endpoints.ts";

/** The maximum number of models that are called at the same time. */
const maxTargets = 8;

/** Fields to choose the models to call. Each model has an endpoint and a name. */
export const ModelFields = ({
  state: { targets },
  models: { endpoints, needsToken },
  onChange,
  onKey,
}: {
  readonly state: PlaygroundState;
  readonly models: ModelEndpoints;
  readonly onChange: (changes: Partial<PlaygroundState>) => void;
  /** Called to enter a key for an endpoint. */
  readonly onKey: (endpoint: ModelEndpoint) => void;
}) => {
  const changeTarget = (id: string, changes: Partial<Target>): void =>
    onChange({
      targets: targets.map((target) => (target.id === id ? { ...target, ...changes } : target)),
    });
  return (
    <section className="playground-section" aria-label="Models">
      <h2>Models</h2>
      {targets.map((target, index) => {
        const endpoint = endpoints.find(({ name }) => name === target.endpoint);
        return (
          <fieldset key={target.id} className="playground-target" aria-label={`Model ${index + 1}`}>
            <NativeSelect
              aria-label="Endpoint"
              value={target.endpoint}
              data={endpoints.map(({ name, host }) => ({
                value: name,
                label: `${name} · ${host}`,
              }))}
              onChange={({ currentTarget }) =>
                changeTarget(target.id, { endpoint: currentTarget.value })
              }
            />
            <TextInput
              aria-label="Model"
              placeholder="Model, such as gpt-4o-mini"
              value={target.model}
              onChange={({ currentTarget }) =>
                changeTarget(target.id, { model: currentTarget.value })
              }
            />
            <Button
              type="button"
              variant="default"
              disabled={endpoint === undefined || needsToken}
              onClick={() => endpoint !== undefined && onKey(endpoint)}
            >
              {describeKey(endpoint)}
            </Button>
            <Button
              type="button"
              variant="subtle"
              color="gray"
              disabled={targets.length === 1}
              aria-label={`Remove model ${index + 1} (${toVisibleText(target.model)})`}
              onClick={() => onChange({ targets: targets.filter(({ id }) => id !== target.id) })}
            >
              Remove
            </Button>
          </fieldset>
        );
      })}
      <div>
        <Button
          type="button"
          size="xs"
          variant="default"
          disabled={targets.length >= maxTargets}
          onClick={() =>
            onChange({
              targets: [
                ...targets,
                { id: crypto.randomUUID(), endpoint: targets.at(-1)?.endpoint ?? "", model: "" },
              ],
            })
          }
        >
          Add model
        </Button>
      </div>
    </section>
  );
};

function describeKey(endpoint: ModelEndpoint | undefined): string {
  if (endpoint?.sessionKeyExpiresMs !== undefined) {
    return "Your key";
  }
  return endpoint?.hasKey === true ? "Server key" : "Set key";
}
