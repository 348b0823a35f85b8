import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { storeKey } from "../../api/access.ts";
import { verifyKey } from "../../api/http.ts";

/**
 * A form that is shown while the server requires an API key. It verifies the entered key and stores it in this browser.
 */
export const KeyEntry = ({ hasRejectedKey }: { readonly hasRejectedKey: boolean }) => {
  const [key, setKey] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const queryClient = useQueryClient();
  // The field is the only content of the view, so focusing it skips nothing for screen readers.
  useEffect(() => field.current?.focus(), []);
  const { mutate, error, isPending } = useMutation({
    mutationFn: verifyKey,
    onSuccess: async (_, verifiedKey) => {
      storeKey(verifiedKey);
      await queryClient.resetQueries();
    },
  });
  return (
    <form
      className="key-entry"
      onSubmit={(event) => {
        event.preventDefault();
        mutate(key.trim());
      }}
    >
      <title>Sign in · Millrace</title>
      <h1>API key required</h1>
      <p>
        {hasRejectedKey
          ? "The server rejected the stored key. It may have been deleted."
          : "Enter an API key of this server. The browser keeps it until you sign out."}
      </p>
      <PasswordInput
        label="API key"
        autoComplete="off"
        ref={field}
        required
        value={key}
        error={error?.message}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
      />
      <Button type="submit" loading={isPending} disabled={key.trim() === ""}>
        Sign in
      </Button>
    </form>
  );
};
