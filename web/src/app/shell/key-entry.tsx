import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { storeKey } from "../../api/access.ts";
import { verifyKey } from "../../api/http.ts";

/** Shown while the server asks for a key: takes one, tries it, and keeps it for this browser. */
export const KeyEntry = ({ hadKey }: { readonly hadKey: boolean }) => {
  const [key, setKey] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const queryClient = useQueryClient();
  // The only thing to do here, and nothing before it is passed over.
  useEffect(() => field.current?.focus(), []);
  const { mutate, error, isPending } = useMutation({
    mutationFn: verifyKey,
    onSuccess: async (_, tried) => {
      storeKey(tried);
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
      <title>Key needed · Millrace</title>
      <h1>This server asks for a key</h1>
      <p>
        {hadKey
          ? "The key that this browser keeps is not, or no longer, one of this server's."
          : "Enter an API key of this server. This browser keeps it until you forget it in the settings."}
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
        Use this key
      </Button>
    </form>
  );
};
