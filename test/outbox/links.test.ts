/**
 * Goal: published text links to nothing that does not exist: a server has no page for a run.
 * Method: a whole server with a public address, against the simulated GitHub over HTTP.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createGitHubSimulator, serveSimulator } from '../../src/simulator/index.ts'
import { openLiveServer } from '../intake/live-server.ts'
import { pullRequestClaim, sha } from '../conformance/claims.ts'
import { until } from '../scenarios/until.ts'

const repo = 'acme/widgets'
const publicUrl = 'https://holdfast.example'

it('a comment does not link to the server that wrote it', async () => {
  const github = createGitHubSimulator({ tokens: [{ token: 'ghp_bot', login: 'holdfast-bot' }] })
  github.addRepository(repo)
  github.addPull(repo, { number: 5, headSha: sha('one'), baseSha: sha('main') })
  const served = await serveSimulator(github)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-links-'))
  const env = {
    GITHUB_API_URL: served.url,
    GITHUB_TOKEN: 'ghp_bot',
    HOLDFAST_PUBLIC_URL: publicUrl,
  }
  const server = await openLiveServer({ folder, env })
  try {
    await server.app.store.runs.claim(announcedClaim(), null)
    const [comment] = await until(
      async () => github.comments(repo, 5),
      (comments) => comments.length > 0,
    )
    expect(comment?.body).not.toContain(publicUrl)
  } finally {
    await server.app.close()
    await served.close()
    rmSync(folder, { recursive: true })
  }
})

function announcedClaim() {
  const claim = pullRequestClaim({ repo, pr: 5, head: 'one' })
  const { policy } = claim
  const announcement = { ...policy.announcement, anchorPer: 'subject' as const }
  return { ...claim, policy: { ...policy, announcement } }
}
