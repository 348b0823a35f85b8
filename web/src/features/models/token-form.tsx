import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { storeModelToken } from "../../api/model-session.ts";
import { FormError } from "../../components/dialog/form.tsx";
import { modelEndpointsQuery } from "./model-endpoints.ts";

/** Asks for the token that the server printed when it started. */
export const TokenForm = ({ className }: { readonly className: string }) => {
  const { refetch } = useQuery(modelEndpointsQuery);
  const [token, setToken] = useState("");
  const check = useMutation({
    mutationFn: async () => {
      storeModelToken(token.trim());
      const { data } = await refetch();
      if (data?.needsToken === true) {
        throw new Error("The server did not accept the token. It prints a new one at each start.");
      }
    },
  });
  return (
    <form
      className={`form ${className}`}
      aria-label="Token"
      onSubmit={(event) => {
        event.preventDefault();
        check.mutate();
      }}
    >
      <PasswordInput
        label="Token"
        description="Model calls can cost money. The server printed a token when it started."
        autoComplete="off"
        value={token}
        onChange={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <FormError error={check.error?.message} />
      <Button type="submit" disabled={token.trim() === ""} loading={check.isPending}>
        Unlock
      </Button>
    </form>
  );
};
