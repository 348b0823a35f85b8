import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { UseQueryOptions } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import {
  addRunsToDataset,
  createNamedDataset,
  createDatasetDestinationsQuery,
  addRunsToQueue,
  createNamedQueue,
  createQueueDestinationsQuery,
} from "./add-runs-queries.ts";
import type { Destination, ExampleMapping } from "./add-runs-queries.ts";
import { TargetNote } from "./all-matches/action-dialogs.tsx";
import { describeTarget } from "./all-matches/run-target.ts";
import type { RunTarget } from "./all-matches/run-target.ts";
import type { ProjectAddress } from "./run-list-search.ts";

/**
 * The runs that match a filter, and a function that starts the job that adds them to a dataset or a queue. The dialog
 * uses this job instead of requests that add single runs.
 */
interface AllMatches<Options extends readonly unknown[]> {
  readonly target: RunTarget;
  readonly start: (destinationId: string, ...options: Options) => Promise<unknown>;
}

interface AddRunsDialogProps {
  readonly title: string;
  /** The kind of destination in labels: "dataset" or "queue". */
  readonly resource: string;
  readonly count: number;
  /**
   * The runs that a job adds, if all runs that match a filter are added. The job continues after the dialog is closed.
   */
  readonly target?: RunTarget | undefined;
  readonly createDestinationsQuery: (
    namePart: string,
  ) => UseQueryOptions<readonly Destination[], Error, readonly Destination[], string[]>;
  readonly onCreate: (name: string) => Promise<Destination>;
  readonly onAdd: (destination: Destination) => Promise<void>;
  /** Renders the name of the dataset or queue, which may be a link to its page. */
  readonly renderDestination: (destination: Destination) => ReactNode;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** A dialog that selects or creates a dataset or queue and adds runs to it. */
const AddRunsDialog = (props: AddRunsDialogProps) => {
  const {
    title,
    resource,
    count,
    target,
    createDestinationsQuery,
    onCreate,
    onAdd,
    renderDestination,
    onClose,
    children,
  } = props;
  const [searchText, setSearchText] = useState("");
  const [selectedId, setSelectedId] = useState<string>();
  const [state, setState] = useState<{
    readonly isBusy: boolean;
    readonly error?: string;
    /** Set when the runs have been added, or the job that adds them was started. */
    readonly finishedDestination?: Destination;
  }>({ isBusy: false });
  const { data: matches = [], error } = useQuery(createDestinationsQuery(searchText.trim()));
  const name = searchText.trim();
  const isNew = selectedId === undefined || !matches.some(({ id }) => id === selectedId);
  const add = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      const destination = matches.find(({ id }) => id === selectedId) ?? (await onCreate(name));
      await onAdd(destination);
      setState({ isBusy: false, finishedDestination: destination });
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  if (state.finishedDestination !== undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          {target === undefined ? pluralize(count, "run") : describeTarget(target)}{" "}
          {target === undefined ? "added to" : "are being added to"}{" "}
          {renderDestination(state.finishedDestination)}.
        </p>
        <div className="dialog-end">
          <Button onClick={onClose}>Close</Button>
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
          label={`Search for a ${resource} or enter a new name`}
          value={searchText}
          autoComplete="off"
          onChange={({ currentTarget }) => {
            setSearchText(currentTarget.value);
            setSelectedId(undefined);
          }}
        />
        <fieldset className="targets" aria-label={`Matching ${resource}s`}>
          {matches.map(({ id, name: listedName }) => (
            <label key={id}>
              <input
                type="radio"
                name="target"
                checked={selectedId === id}
                onChange={() => setSelectedId(id)}
              />
              {toVisibleText(listedName)}
            </label>
          ))}
        </fieldset>
        {children}
        {target !== undefined && <TargetNote target={target} />}
        <FormError error={state.error ?? error?.message} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={state.isBusy} disabled={isNew && name === ""}>
            {`${isNew ? "Create and add" : "Add"} ${target === undefined ? count : describeTarget(target)}`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

/**
 * The dialog that creates examples from runs. The inputs become inputs of the example and, if selected, the outputs
 * become its reference outputs.
 */
export const AddToDataset = ({
  address,
  runIds,
  all,
  onClose,
}: {
  readonly address: ProjectAddress;
  readonly runIds: readonly string[];
  readonly all?: AllMatches<readonly [ExampleMapping]>;
  readonly onClose: () => void;
}) => {
  const [includesOutputs, setIncludesOutputs] = useState(true);
  const [split, setSplit] = useState("");
  return (
    <AddRunsDialog
      title="Add to dataset"
      resource="dataset"
      count={runIds.length}
      target={all?.target}
      createDestinationsQuery={createDatasetDestinationsQuery}
      onCreate={createNamedDataset}
      onAdd={async ({ id }) => {
        const mapping = { includesOutputs, split: split.trim() };
        await (all === undefined ? addRunsToDataset(id, runIds, mapping) : all.start(id, mapping));
      }}
      renderDestination={({ id, name }) => (
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
          checked={includesOutputs}
          onChange={({ target }) => setIncludesOutputs(target.checked)}
        />
        Use outputs as reference outputs
      </label>
      <TextInput
        label="Split"
        description="The split of the new examples. The default is “base”."
        value={split}
        onChange={({ currentTarget }) => setSplit(currentTarget.value)}
      />
    </AddRunsDialog>
  );
};

/** The dialog that adds runs to the end of an annotation queue. */
export const AddToQueue = ({
  runIds,
  all,
  onClose,
}: {
  readonly runIds: readonly string[];
  readonly all?: AllMatches<readonly []>;
  readonly onClose: () => void;
}) => (
  <AddRunsDialog
    title="Add to annotation queue"
    resource="queue"
    count={runIds.length}
    target={all?.target}
    createDestinationsQuery={createQueueDestinationsQuery}
    onCreate={createNamedQueue}
    onAdd={async ({ id }) => {
      await (all === undefined ? addRunsToQueue(id, runIds) : all.start(id));
    }}
    renderDestination={({ name }) => <b>{toVisibleText(name)}</b>}
    onClose={onClose}
  />
);
