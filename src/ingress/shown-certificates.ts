// The current certificates: requests the secrets that Ingresses name, and decides again when one of
// them or an Ingress has changed. `decide/routing/` has the rules.
import type { IngressClaims } from "../decide/routing/certificate-claims.ts";
import {
  type CertificateChanges,
  Certificates,
  type CertificateTable,
  type ClaimantChanges,
  type HostOwners,
  wantedSecrets,
} from "../decide/routing/certificates.ts";
import { ingressFilter } from "../decide/routing/ingress-class-filter.ts";
import type { Clock } from "../environment/clock.ts";
import type { Steps } from "../environment/steps.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { IngressClass } from "../kube/kinds/ingress-class.ts";
import type { SecretReference, SecretSource } from "../sources/secret-source.ts";

export interface ShownCertificatesOptions {
  readonly asked: { ingresses(): readonly Ingress[]; classes(): readonly IngressClass[] };
  readonly className: string;
  /** Reads the secrets; without it no certificate is shown. */
  readonly secrets?: Pick<SecretSource, "want" | "get"> | undefined;
  /** Shown for every name that no Ingress has a certificate for. */
  readonly defaultCertificate?: SecretReference | undefined;
  readonly clock: Pick<Clock, "wallMs">;
}

export class ShownCertificates {
  readonly #options: ShownCertificatesOptions;
  readonly #certificates: Certificates;

  constructor(options: ShownCertificatesOptions) {
    this.#options = options;
    this.#certificates = new Certificates(options);
  }

  get table(): CertificateTable {
    return this.#certificates.table;
  }

  /** Has the secrets read that Ingresses and these others name now, before anything is decided. */
  wantSecrets(others: readonly IngressClaims[] = []): void {
    const { secrets, defaultCertificate, asked, className } = this.#options;
    const ours = asked.ingresses().filter(ingressFilter(asked.classes(), className));
    secrets?.want(wantedSecrets([...ours, ...others], defaultCertificate));
  }

  /** Decides again for these changes, and for secrets if some may have changed. */
  *changing(
    changes: ClaimantChanges,
    { areSecretsNew, owners }: { readonly areSecretsNew: boolean; readonly owners: HostOwners },
  ): Steps<CertificateChanges> {
    const { secrets, clock } = this.#options;
    if (secrets === undefined) return nothingShown;
    const known = {
      secret: (reference: SecretReference) => secrets.get(reference),
      now: clock.wallMs(),
      areNew: areSecretsNew,
    };
    const changed = yield* this.#certificates.changing(changes, known, owners);
    if (changed.secrets) secrets.want(yield* this.#certificates.wanted());
    return changed;
  }
}

const nothingShown: CertificateChanges = {
  certificates: new Set(),
  serverNames: new Set(),
  secrets: false,
};
