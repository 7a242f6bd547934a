/**
 * Goal: a program names a repository by GitHub's id, with the same meaning as over HTTP; the id of
 * another repository is refused before anything is claimed or looked for.
 * Method: a real store in a file, and the simulated GitHub over real HTTP.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../open-store.ts'
import { createGitHubSimulator, serveSimulator } from '../simulator/index.ts'
import type { Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

const second = (n: number) => new Date(Date.UTC(2026, 0, 31, 12, 0, n))
const claim = {
  repo: 'acme/widgets',
  prNumber: 7,
  baseSha: 'b'.repeat(40),
  headSha: 'a'.repeat(40),
  eventAt: second(1),
}
const token = 'ghp_TheTokenOfTheBot0123456789012345678'

let folder: string
let path: string
const opened: { close(): Promise<void> }[] = []

async function open(...[config, options]: Parameters<typeof openHoldfast>): Promise<Holdfast> {
  const holdfast = await openHoldfast({ databaseUrl: `sqlite:${path}`, ...config }, options)
  opened.push(holdfast)
  return holdfast
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-repo-id-'))
  path = join(folder, 'holdfast.db')
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
  rmSync(folder, { recursive: true })
})

it('a repository is recognized by its id, whatever its name is now', async () => {
  const holdfast = await open()
  await holdfast.checkAndClaimRun({ ...claim, repoId: 900 })
  const renamed = { ...claim, repo: 'acme/gadgets', eventAt: second(2) }
  expect(await holdfast.checkAndClaimRun({ ...renamed, repoId: 900 })).toMatchObject({
    reason: 'duplicate',
  })
  const other = { ...renamed, repoId: 901, eventAt: second(3) }
  expect(await holdfast.checkAndClaimRun(other)).toMatchObject({ reason: 'new' })
})

it('a claim with the id of another repository is refused in the library’s names', async () => {
  const store = await openStore({ database: { kind: 'sqlite', path } })
  await store.repositories.learn(claim.repo, 900, second(2).getTime(), 'github')
  await store.close()
  const holdfast = await open()
  await expect(holdfast.checkAndClaimRun({ ...claim, repoId: 901 })).rejects.toMatchObject({
    name: 'ConflictError',
    code: 'repo_id_mismatch',
    message: "repoId 901 is not acme/widgets, which is GitHub's repository 900",
    hint: expect.stringMatching(/Send repo and repoId of one event.*when a server/) as string,
  })
  const wrong = holdfast.checkAndClaimRun({ ...claim, repoId: 0 })
  await expect(wrong).rejects.toMatchObject({ field: 'repoId' })
  expect(await holdfast.checkAndClaimRun({ ...claim, repoId: 900 })).toMatchObject({
    reason: 'new',
  })
})

it('a result is looked for only in the repository with the id', async () => {
  const github = createGitHubSimulator({ tokens: [{ token, login: 'the-bot' }] })
  github.addRepository(claim.repo)
  github.addPull(claim.repo, { number: 7, headSha: claim.headSha, baseSha: claim.baseSha })
  const served = await serveSimulator(github)
  opened.push(served)
  const holdfast = await open({ githubApiUrl: served.url }, { github: { token } })
  const { resultMark } = await holdfast.checkAndClaimRun(claim)
  github.commentAs('the-bot', claim.repo, 7, resultMark)
  const { id } = github.repository(claim.repo)
  const found = { published: true, where: 'comment' }
  expect(await holdfast.ensureNotPublished({ ...claim, repoId: id })).toMatchObject(found)
  const other = holdfast.ensureNotPublished({ ...claim, repoId: id + 1 })
  await expect(other).rejects.toMatchObject({
    name: 'ConflictError',
    code: 'repo_id_mismatch',
    message: `repoId ${id + 1} is not acme/widgets, which is GitHub's repository ${id}`,
  })
  github.rename(claim.repo, 'acme/gadgets')
  expect(await holdfast.ensureNotPublished({ ...claim, repoId: id })).toMatchObject(found)
})
