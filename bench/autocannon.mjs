import autocannon from "autocannon";

export async function sendRequests({ url, connections, seconds, requestsPerSecond }) {
  // autocannon's own percentiles are whole milliseconds.
  const latenciesMs = [];
  const options = { url, connections, duration: seconds };
  if (requestsPerSecond !== undefined) {
    options.overallRate = requestsPerSecond;
  }
  const running = autocannon(options);
  running.on("response", (...details) => {
    const [, status, , latencyMs] = details;
    if (status === 200) {
      latenciesMs.push(latencyMs);
    }
  });
  const { errors, timeouts, non2xx } = await running;
  return { latenciesMs, failed: errors + timeouts + non2xx };
}
