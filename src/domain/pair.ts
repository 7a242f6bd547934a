/**
 * The pair of commits (base and head) that identifies a run within its pull request. It does not
 * contain the repository's name. The run key is the name, the number and this pair.
 */

export interface ShaPair {
  readonly baseSha: string
  readonly headSha: string
}

/** Both in lower case. */
export function pairOf({ baseSha, headSha }: ShaPair): string {
  return `base-${baseSha}:head-${headSha}`
}

export function pullRequestKey(repo: string, pr: number, shas: ShaPair): string {
  return `${repo}:pr-${pr}:${pairOf(shas)}`
}

const keyForm = /^([^:]+):pr-(\d+):base-([0-9a-f]+):head-([0-9a-f]+)$/i

/** Null for a key of another form, such as a job's. */
export function readPullRequestKey(
  key: string,
): (ShaPair & { readonly repo: string; readonly prNumber: number }) | null {
  const [, repo, number, baseSha, headSha] = keyForm.exec(key) ?? []
  if (repo === undefined || baseSha === undefined || headSha === undefined) return null
  return { repo, prNumber: Number(number), baseSha, headSha }
}
