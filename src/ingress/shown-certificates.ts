// Which certificates are shown, as it stands: has the secrets read that Ingresses name, and decides
// anew when one of them or an Ingress has changed. Computing is left to `decide/routing/`.
import {
  type CertificateTable,
  certificates,
  noCertificates,
  wantedSecrets,
} from "../decide/routing/certificates.ts";
import { ingressFilter } from "../decide/routing/ingress-class-filter.ts";
import type { Clock } from "../environment/clock.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { IngressClass } from "../kube/kinds/ingress-class.ts";
import type { SecretReference, SecretSource } from "../sources/secret-source.ts";

export interface ShownCertificatesOptions {
  readonly asked: { ingresses(): readonly Ingress[]; classes(): readonly IngressClass[] };
  readonly className: string;
  /** Who reads the secrets; without it no certificate is ever shown. */
  readonly secrets?: Pick<SecretSource, "want" | "get"> | undefined;
  /** Shown for every name that no Ingress has a certificate for. */
  readonly defaultCertificate?: SecretReference | undefined;
  readonly clock: Pick<Clock, "wallMs">;
}

export class ShownCertificates {
  readonly #options: ShownCertificatesOptions;
  #table: CertificateTable = noCertificates;

  constructor(options: ShownCertificatesOptions) {
    this.#options = options;
  }

  get table(): CertificateTable {
    return this.#table;
  }

  /** Has the secrets read that Ingresses name now. */
  wantSecrets(): void {
    const { secrets, defaultCertificate } = this.#options;
    secrets?.want(wantedSecrets(this.#ours(), defaultCertificate));
  }

  /** Decides anew; whether something else is shown than before. */
  decide(): boolean {
    const { secrets, defaultCertificate, clock } = this.#options;
    if (secrets === undefined) return false;
    this.wantSecrets();
    const before = this.#table;
    this.#table = certificates({
      ingresses: this.#ours(),
      secret: (reference) => secrets.get(reference),
      defaultCertificate,
      now: clock.wallMs(),
    });
    return (
      !haveSameValues(before.certificates, this.#table.certificates) ||
      !haveSameValues(before.serverNames, this.#table.serverNames)
    );
  }

  #ours(): readonly Ingress[] {
    const { asked, className } = this.#options;
    return asked.ingresses().filter(ingressFilter(asked.classes(), className));
  }
}

/** The same version of a secret gives the same certificate, so nothing is compared in depth. */
function haveSameValues<V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
