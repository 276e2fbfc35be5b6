// An OCI image archive, written without a container tool: layers as gzipped tars, the configuration, the
// manifest and the index, each named by its digest. skopeo, podman and containerd read it.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { archive, sha256, sourceDate } from "./stage.mjs";

const mediaType = (name) => `application/vnd.oci.image.${name}`;

/** `layers` are paths of .tar.gz files, the lowest first; `config` is the part for the runtime. */
export function writeOciArchive({ layers, config, reference, architecture, path, scratch }) {
  const folder = join(scratch, "oci");
  rmSync(folder, { recursive: true, force: true });
  const blobs = join(folder, "blobs", "sha256");
  mkdirSync(blobs, { recursive: true });
  const described = layers.map((layer) => {
    const digest = sha256(layer);
    copyFileSync(layer, join(blobs, digest));
    return descriptor("layer.v1.tar+gzip", digest, statSync(layer).size);
  });
  const put = (name, value) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const digest = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, digest), bytes);
    return descriptor(name, digest, bytes.length);
  };
  const created = new Date(Number(sourceDate()) * 1_000).toISOString();
  const diffIds = layers.map((layer) => {
    const plain = gunzipSync(readFileSync(layer));
    return `sha256:${createHash("sha256").update(plain).digest("hex")}`;
  });
  const imageConfig = put("config.v1+json", {
    created,
    architecture,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: diffIds },
    history: layers.map(() => ({ created, created_by: "scripts/build-image.mjs" })),
  });
  const manifest = put("manifest.v1+json", {
    schemaVersion: 2,
    mediaType: mediaType("manifest.v1+json"),
    config: imageConfig,
    layers: described,
  });
  const annotations = { "org.opencontainers.image.ref.name": reference };
  const index = {
    schemaVersion: 2,
    mediaType: mediaType("index.v1+json"),
    manifests: [{ ...manifest, annotations, platform: { architecture, os: "linux" } }],
  };
  writeFileSync(join(folder, "index.json"), JSON.stringify(index));
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  archive(folder, path, ["oci-layout", "index.json", "blobs"]);
  return manifest.digest;
}

function descriptor(name, digest, size) {
  return { mediaType: mediaType(name), digest: `sha256:${digest}`, size };
}
