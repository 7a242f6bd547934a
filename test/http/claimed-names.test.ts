/**
 * Goal: a claim over HTTP with the `repo_id` of another repository is refused, with a hint that
 * leads to no wrong repository. A right id is accepted, also in a sandbox, where every id is right.
 * Method: a whole server over real sockets, against the simulated GitHub over HTTP.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  createGitHubSimulator,
  serveSimulator,
  type GitHubSimulator,
  type ServedSimulator,
} from '../../src/simulator/index.ts'
import { adminToken, openLiveServer, type LiveServer } from '../intake/live-server.ts'
import { aClaim } from './server-under-test.ts'

const name = aClaim.repo.toLowerCase()
let github: GitHubSimulator
let served: ServedSimulator
let folder: string
let server: LiveServer | undefined

beforeEach(async () => {
  github = createGitHubSimulator({ tokens: [{ token: 'ghp_bot', login: 'holdfast-bot' }] })
  github.addRepository(aClaim.repo)
  served = await serveSimulator(github)
  folder = mkdtempSync(join(tmpdir(), 'holdfast-names-'))
})
afterEach(async () => {
  await server?.app.close()
  await served.close()
  rmSync(folder, { recursive: true })
})

const live = () => ({ GITHUB_API_URL: served.url, GITHUB_TOKEN: 'ghp_bot' })
const sandbox = () => ({ GITHUB_WEBHOOK_SECRET: '' })

interface Answered {
  readonly code?: string
  readonly hint?: string
  readonly reason?: string
  readonly run?: { readonly id: string }
  readonly token?: string
}

async function post(path: string, body: object, token = adminToken) {
  const answer = await fetch(new URL(path, server?.hookUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Answered }
}

const claim = (more: object, token?: string) => post('/v1/runs', { ...aClaim, ...more }, token)

it('with another id than GitHub’s is a 409, and the name keeps its meaning', async () => {
  server = await openLiveServer({ folder, env: live() })
  const { id } = github.repository(aClaim.repo)
  const { status, body } = await claim({ repo_id: id + 1 })
  expect([status, body.code]).toEqual([409, 'repo_id_mismatch'])
  expect(body.hint).toMatch(/repository\.full_name and repository\.id/)
  expect(body.hint).not.toContain('leave')
  expect((await claim({ repo_id: id })).status).toBe(201)
  const repository = await server.app.store.repositories.getByName(name)
  expect(repository).toMatchObject({ githubId: id })
})

it('is accepted in a sandbox', async () => {
  server = await openLiveServer({ folder, env: sandbox() })
  expect((await claim({ repo_id: 77 })).status).toBe(201)
  const repository = await server.app.store.repositories.getByName(name)
  expect(repository).toMatchObject({ githubId: 77 })
  expect(await server.app.store.repositories.nameKnowledge(name, 77)).toBe('known')
})

it('is no other repository in a sandbox that had made up an id', async () => {
  server = await openLiveServer({ folder, env: sandbox() })
  const { store } = server.app
  const limits = { repos: [aClaim.repo], types: ['review'] }
  const { token: limited } = (await post('/v1/tokens', { scope: 'worker', ...limits })).body
  const first = await claim({ repo_id: 77, lease: false }, limited)
  expect([first.status, first.body.reason]).toEqual([201, 'new'])
  // The publisher wants an id, and nobody has sent one that counts.
  await expect.poll(async () => (await store.repositories.getByName(name))?.githubId).not.toBe(null)
  for (const token of [limited, adminToken]) {
    const { status, body } = await claim({ repo_id: 77, lease: false }, token)
    expect([status, body.reason, body.run?.id]).toEqual([200, 'duplicate', first.body.run?.id])
  }
})
