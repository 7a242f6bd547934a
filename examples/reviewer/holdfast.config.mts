/**
 * A reviewer of pull requests. It reads the change, asks a model twice, and publishes one review
 * with comments on lines. If the process dies, an answer that was stored is not asked for again.
 * To try it without GitHub, start model.mts and github.mts as docs/guides/executing.md says. The
 * sandbox is not enough: its GitHub does not know the commits of a webhook that you send yourself.
 */
import { defineConfig, type RunContext } from 'holdfast'

const modelUrl = process.env['MODEL_URL'] ?? 'http://127.0.0.1:8790'

export default defineConfig({
  runs: { review: { run: review, status: { context: 'acme/review' }, timeoutMs: 600_000 } },
})

interface Finding {
  readonly path: string
  /** In the new text. */
  readonly line: number
  readonly body: string
  readonly blocking: boolean
}

async function review(run: RunContext) {
  const change = await readChange(run)
  if (change.headSha !== run.headSha) {
    // A push came in between. Its own event starts the run of the newer commits.
    return { outcome: 'skipped' as const, description: 'The pull request has newer commits' }
  }
  await run.status(`Reading ${change.files.length} changed files`)
  // Two steps: if the process dies during the second, only the second is asked for again.
  const found = await run.step('findings', ({ key, signal }) =>
    ask<{ readonly findings: readonly Finding[] }>('findings', change, key, signal),
  )
  const { findings } = found
  const { text } = await run.step('summary', ({ key, signal }) =>
    ask<{ readonly text: string }>('summary', { title: change.title, findings }, key, signal),
  )
  if (findings.length > 0) {
    const comments = findings.map(({ path, line, body }) => ({ path, line, body }))
    await run.publish('findings', { channel: 'github-review', body: text, comments })
  }
  const isBlocked = findings.some(({ blocking }) => blocking)
  return { verdict: isBlocked ? ('failure' as const) : ('success' as const), summary: text }
}

/** GitHub lists the files of the newest head only, so the head is read after them. */
async function readChange({ github, repo, pr }: RunContext) {
  const [owner = '', name = ''] = (repo ?? '').split('/')
  const place = { owner, repo: name, pull_number: pr ?? 0 }
  const files = await github.paginate(github.rest.pulls.listFiles, { ...place, per_page: 100 })
  const { data: pull } = await github.rest.pulls.get(place)
  return {
    title: pull.title,
    headSha: pull.head.sha,
    // A binary or very large file has no patch.
    files: files.map(({ filename, patch = '' }) => ({ path: filename, patch })),
  }
}

/** With the key of the step, the model recognises a question that it has answered before. */
async function ask<T>(what: string, question: object, key: string, signal: AbortSignal) {
  const answer = await fetch(`${modelUrl}/${what}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(question),
    signal,
  })
  if (!answer.ok) throw new Error(`The model answered ${answer.status}`)
  return (await answer.json()) as T
}
