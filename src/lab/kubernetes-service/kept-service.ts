// The `kubernetes` service of one server of a cluster, put together: the client at the server's own
// address, the leases in the shared storage, and the flags or what the version has instead.

import type { User } from "../../apiserver/http/authentication.ts";
import type { Storage } from "../../apiserver/storage/storage.ts";
import type { Klog } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import { randomBetween } from "../../environment/random.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type ProfileName, profileNamed, userAgentOf } from "../controllers/profiles.ts";
import { KubernetesService, reconcileEveryMs } from "./kubernetes-service.ts";
import { MasterLeases } from "./master-leases.ts";
import { kubernetesServiceRules, type ReconcilerType } from "./versions.ts";

/** Flags of kube-apiserver; the version's own defaults unless given. */
export interface KubernetesServiceFlags {
  /** `--endpoint-reconciler-type`. */
  readonly reconcilerType?: ReconcilerType;
  /** `--apiserver-count`. */
  readonly apiserverCount?: number;
}

export interface KeptServiceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly storage: Storage;
  readonly klog: Klog;
  readonly profile: ProfileName;
  readonly flags: KubernetesServiceFlags;
  /** Of the server: `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Of `loopbackUser`. */
  readonly token: string;
  /** The first of a cluster begins at once. */
  readonly isFirst: boolean;
}

/** Who the server is to itself, as in the real one. */
export const loopbackUser: User = { name: "system:apiserver", groups: ["system:masters"] };

export function keepKubernetesService(options: KeptServiceOptions): KubernetesService {
  const { storage, clock, random, profile, flags, url, token } = options;
  const { hostname, port } = new URL(url);
  const rules = kubernetesServiceRules(profile);
  // The certificate need not be verified to talk to oneself.
  const tls = url.startsWith("https:") ? { insecureSkipVerify: true } : {};
  const cluster = fixedAccess({ name: url, server: url, token, tls });
  const userAgent = userAgentOf("kube-apiserver", profileNamed(profile));
  const service = new KubernetesService({
    ...options,
    client: new HttpKubeClient({ ...options, cluster, userAgent }),
    leases: new MasterLeases({ storage, clock }),
    rules,
    type: flags.reconcilerType ?? rules.defaultType,
    count: flags.apiserverCount ?? defaultApiserverCount,
    ip: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port),
    startDelayMs: options.isFirst ? 0 : randomBetween(random, 0, reconcileEveryMs),
    hasSlices: profileNamed(profile).endpointSlices !== undefined,
  });
  service.start();
  return service;
}

/** MasterCount in cmd/kube-apiserver/app/options/options.go. */
const defaultApiserverCount = 1;
