import { Button, PasswordInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { storeModelToken } from "../../../api/model-session.ts";
import { FormError } from "../../../components/dialog/form.tsx";
import { modelsQuery } from "./queries.ts";

/** Asks for the token that the server printed when it started. */
export const TokenForm = () => {
  const { refetch } = useQuery(modelsQuery);
  const [token, setToken] = useState("");
  const [error, setError] = useState<string>();
  const check = async (): Promise<void> => {
    storeModelToken(token.trim());
    const { data } = await refetch();
    setError(
      data?.needsToken === true
        ? "The server did not accept the token. It prints a new one at each start."
        : undefined,
    );
  };
  return (
    <form
      className="form launch-setup"
      aria-label="Token"
      onSubmit={(event) => {
        event.preventDefault();
        void check();
      }}
    >
      <PasswordInput
        label="Token"
        description="Experiments cost money. The server printed a token when it started."
        autoComplete="off"
        value={token}
        onChange={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <FormError error={error} />
      <Button type="submit" disabled={token.trim() === ""}>
        Unlock
      </Button>
    </form>
  );
};
