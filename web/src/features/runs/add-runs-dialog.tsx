import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { UseQueryOptions } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import {
  addRunsToDataset,
  createTargetDataset,
  targetDatasetsQuery,
  addRunsToQueue,
  createTargetQueue,
  targetQueuesQuery,
} from "./add-runs-queries.ts";
import type { Target } from "./add-runs-queries.ts";
import type { ProjectAddress } from "./run-list-search.ts";

interface Props {
  readonly title: string;
  /** "dataset" or "queue". */
  readonly noun: string;
  readonly count: number;
  readonly targets: (
    part: string,
  ) => UseQueryOptions<readonly Target[], Error, readonly Target[], string[]>;
  readonly onCreate: (name: string) => Promise<Target>;
  readonly onAdd: (target: Target) => Promise<void>;
  /** Where the target can be seen. */
  readonly renderTarget: (target: Target) => ReactNode;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Chooses where runs go to, or makes it, and puts them there. */
const AddRunsDialog = (props: Props) => {
  const { title, noun, count, targets, onCreate, onAdd, renderTarget, onClose, children } = props;
  const [part, setPart] = useState("");
  const [chosen, setChosen] = useState<string>();
  const [state, setState] = useState<{
    readonly isBusy: boolean;
    readonly error?: string;
    readonly done?: Target;
  }>({ isBusy: false });
  const { data: found = [], error } = useQuery(targets(part.trim()));
  const name = part.trim();
  const isNew = chosen === undefined || !found.some(({ id }) => id === chosen);
  const add = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      const target = found.find(({ id }) => id === chosen) ?? (await onCreate(name));
      await onAdd(target);
      setState({ isBusy: false, done: target });
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  if (state.done !== undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          {count.toLocaleString()} {count === 1 ? "run" : "runs"} added to{" "}
          {renderTarget(state.done)}.
        </p>
        <div className="dialog-end">
          <Button onClick={onClose}>Done</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextInput
          label={`Find a ${noun}, or name a new one`}
          value={part}
          autoComplete="off"
          onChange={({ currentTarget }) => {
            setPart(currentTarget.value);
            setChosen(undefined);
          }}
        />
        <fieldset className="targets" aria-label={`The ${noun}`}>
          {found.map(({ id, name: known }) => (
            <label key={id}>
              <input
                type="radio"
                name="target"
                checked={chosen === id}
                onChange={() => setChosen(id)}
              />
              {toVisibleText(known)}
            </label>
          ))}
        </fieldset>
        {children}
        <FormError error={state.error ?? error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={state.isBusy} disabled={isNew && name === ""}>
            {isNew ? `Make it and add ${count}` : `Add ${count}`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

/** Makes examples of runs: their inputs, and their outputs as what is expected. */
export const AddToDataset = ({
  address,
  ids,
  onClose,
}: {
  readonly address: ProjectAddress;
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) => {
  const [hasOutputs, setHasOutputs] = useState(true);
  const [split, setSplit] = useState("");
  return (
    <AddRunsDialog
      title="Add to a dataset"
      noun="dataset"
      count={ids.length}
      targets={targetDatasetsQuery}
      onCreate={createTargetDataset}
      onAdd={async ({ id }) => addRunsToDataset(id, ids, { hasOutputs, split: split.trim() })}
      renderTarget={({ id, name }) => (
        <Link
          to="/o/$tenantId/datasets/$datasetId"
          params={{ tenantId: address.tenantId, datasetId: id }}
        >
          {toVisibleText(name)}
        </Link>
      )}
      onClose={onClose}
    >
      <label className="check-line">
        <input
          type="checkbox"
          checked={hasOutputs}
          onChange={({ target }) => setHasOutputs(target.checked)}
        />
        Take the outputs over as what is expected
      </label>
      <TextInput
        label="Split"
        description="Left empty: base"
        value={split}
        onChange={({ currentTarget }) => setSplit(currentTarget.value)}
      />
    </AddRunsDialog>
  );
};

/** Puts runs at the end of an annotation queue. */
export const AddToQueue = ({
  ids,
  onClose,
}: {
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) => (
  <AddRunsDialog
    title="Add to an annotation queue"
    noun="queue"
    count={ids.length}
    targets={targetQueuesQuery}
    onCreate={createTargetQueue}
    onAdd={async ({ id }) => addRunsToQueue(id, ids)}
    renderTarget={({ name }) => <b>{toVisibleText(name)}</b>}
    onClose={onClose}
  />
);
