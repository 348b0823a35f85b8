import { currentRun, traceable } from "millrace";
import type { RunType } from "millrace/model";
import type { Ledger } from "./ledger.ts";

/**
 * Creates recorded steps. `traceable(work, { name, runType })` is all that recording needs: the run becomes a child of the
 * current run and is recorded by the same client. The entry in the ledger only serves to prove later that no run is missing.
 */
export const createStep =
  (ledger: Ledger | undefined) =>
  <Inputs extends object, Outputs extends object>(
    name: string,
    runType: RunType,
    work: (inputs: Inputs) => Outputs | Promise<Outputs>,
  ) =>
    traceable(
      async (inputs: Inputs): Promise<Outputs> => {
        const run = currentRun();
        try {
          const outputs = await work(inputs);
          ledger?.note(run, { name, runType, inputs, outputs });
          return outputs;
        } catch (error) {
          ledger?.note(run, { name, runType, inputs, error });
          throw error;
        }
      },
      { name, runType },
    );
