import { currentRun, traceable } from "millrace";
import type { RunType } from "millrace/model";
import type { Ledger } from "./ledger.ts";

/**
 * Makes recorded steps. `traceable(work, { name, runType })` is all that recording takes: the run
 * goes below the current one, to the same client. The note in the ledger is there so that the
 * example can prove afterwards that nothing is missing.
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
