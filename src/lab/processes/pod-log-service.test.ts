// Logs of pods on their way from the lab's process to an API server in another.
import { expect, it } from "vitest";
import type { PodLogRequest } from "../../components/pod-logs.ts";
import type { BodyWriter } from "../../environment/network.ts";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import { remotePodLogs, servePodLogs } from "./pod-log-service.ts";

const asked: PodLogRequest = {
  namespace: "default",
  name: "web",
  uid: "1",
  container: "main",
  follow: true,
  previous: false,
  timestamps: true,
  tailLines: 10,
  sinceSeconds: undefined,
};

const environment = nodeEnvironment();

it("brings the request over and the lines back, until the reader has had enough", async () => {
  const requests: PodLogRequest[] = [];
  const over = new AbortController();
  const service = await servePodLogs({
    ...environment,
    logs: {
      async write(request, writer, closed) {
        requests.push(request);
        writer.write(Buffer.from("one\n"));
        // Followed: it ends only with the reader.
        await new Promise((resolve) => closed.addEventListener("abort", resolve));
      },
    },
  });
  const read = reader((text) => {
    if (text.includes("\n")) over.abort();
  });
  await remotePodLogs(environment.network, service.address).write(asked, read, over.signal);
  await service.stop();
  expect({ requests, text: read.text }).toEqual({ requests: [asked], text: "one\n" });
});

it("gives nothing to who does not know the lab's word", async () => {
  const service = await servePodLogs({
    ...environment,
    logs: { write: () => Promise.reject(new Error("was asked")) },
  });
  const response = await environment.network.request({ method: "POST", url: service.address.url });
  await service.stop();
  expect(response.status).toBe(401);
});

function reader(onText: (text: string) => void): BodyWriter & { text: string } {
  return {
    text: "",
    pendingBytes: 0,
    write(bytes) {
      this.text += Buffer.from(bytes).toString("utf8");
      onText(this.text);
    },
    drained: () => Promise.resolve(),
    end: () => undefined,
    abort: () => undefined,
  };
}
