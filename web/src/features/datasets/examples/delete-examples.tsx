import { useQueryClient } from "@tanstack/react-query";
import { Confirm } from "../../../components/dialog/confirm.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { deleteExamples } from "./queries.ts";

/** Asks for confirmation, then deletes examples from the newest version. */
export const DeleteExamples = ({
  ids,
  datasetId,
  onClose,
  onDeleted,
}: {
  readonly ids: readonly string[];
  readonly datasetId: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) => {
  const queryClient = useQueryClient();
  const exampleCount = pluralize(ids.length, "example");
  return (
    <Confirm
      title={`Delete ${exampleCount}?`}
      action={`Delete ${exampleCount}`}
      onClose={onClose}
      onConfirm={async () => {
        await deleteExamples(ids);
        onDeleted();
        await queryClient.invalidateQueries({ queryKey: ["datasets", datasetId] });
      }}
    >
      <p>Earlier versions still contain {ids.length === 1 ? "the example" : "the examples"}.</p>
    </Confirm>
  );
};
