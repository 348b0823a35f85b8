import { currentRun, traceable } from "millrace";
import type { Client } from "millrace";
import type { RunType } from "millrace/model";
import type { Ledger } from "./ledger.ts";

/**
 * Makes recorded steps. `traceable(work, { name, runType })` is all that recording takes; the note
 * in the ledger is there so that the example can prove afterwards that nothing is missing.
 */
export const createStep =
  (client: Client, ledger: Ledger | undefined) =>
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
      { client, name, runType },
    );
