import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Prompt } from "./prompt.ts";
import { deletePrompt } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

/** The menu in the heading of a prompt, which only the tenant that owns the prompt can use. */
export const PromptMenu = ({
  prompt,
  address,
}: {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
}) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [isDeleting, setIsDeleting] = useState(false);
  return (
    <>
      <ActionMenu
        label={`Actions of ${toVisibleText(prompt.repo)}`}
        actions={[
          { label: "Delete prompt", onClick: () => setIsDeleting(true), isDestructive: true },
        ]}
      />
      {isDeleting && (
        <Confirm
          title="Delete this prompt?"
          action="Delete prompt"
          confirmationText={prompt.repo}
          onClose={() => setIsDeleting(false)}
          onConfirm={async () => {
            await deletePrompt(address);
            await navigate({ to: "/prompts" });
            await client.invalidateQueries({ queryKey: ["prompts", "list"] });
          }}
        >
          <p>
            This deletes the prompt with its commits, tags and likes. Programs that pull it will
            fail.
          </p>
        </Confirm>
      )}
    </>
  );
};
