import { onTestFinished } from "vitest";
import { NatsCluster } from "./nats-cluster.ts";

/** Starts NATS servers, which end with the test. */
export async function startNats(
  ...parameters: Parameters<typeof NatsCluster.start>
): Promise<NatsCluster> {
  const cluster = await NatsCluster.start(...parameters);
  onTestFinished(() => cluster.close());
  return cluster;
}
