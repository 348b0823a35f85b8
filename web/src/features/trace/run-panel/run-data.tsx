import type { PayloadMode } from "../../../components/payload/payload-mode.ts";
import { Payload } from "../../../components/payload/payload.tsx";
import type { TraceRunDetails } from "../queries.ts";
import { ErrorChain } from "../../../components/payload/error-chain.tsx";

/** The error, inputs and outputs of a run. */
export const RunData = ({
  details: { error, inputs, outputs },
  payloadMode,
  onView,
}: {
  readonly details: Pick<TraceRunDetails, "error" | "inputs" | "outputs">;
  readonly payloadMode: PayloadMode | undefined;
  readonly onView: (mode: PayloadMode) => void;
}) => (
  <>
    {error !== undefined && <ErrorChain error={error} />}
    <Payload label="Inputs" value={inputs} mode={payloadMode} onMode={onView} />
    <Payload label="Outputs" value={outputs} mode={payloadMode} onMode={onView} />
  </>
);
