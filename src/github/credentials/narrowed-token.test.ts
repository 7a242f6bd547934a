/**
 * Goal: a narrowed token is asked for exactly, reaches one repository, and is never kept here.
 * Method: the real client over a real connection, with answers of GitHub that the test writes.
 */
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startFakeApi, type FakeApi } from '../../../test/github/fake-api.ts'
import {
  appCredentials as credentials,
  clientOf,
  longToken,
  rejectionOf,
} from '../../../test/github/github-under-test.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
  api.on(lookUp, { body: { id: 9 } })
})
afterEach(() => api.close())

const lookUp = 'GET /repositories/77/installation'
const mint = 'POST /app/installations/9/access_tokens'
const permissions = { contents: 'read', issues: 'write' } as const
const expires = '2026-11-15T13:00:00Z'
const repositories = [{ id: 77, full_name: 'acme/widgets', private: true }]
const narrowed = (mark: string) => ({
  token: longToken(mark),
  expires_at: expires,
  permissions: { ...permissions, metadata: 'read' },
  repository_selection: 'selected',
  repositories,
})

const open = () => {
  const { github, lines } = clientOf(api.url, { credentials })
  return { lines, ask: () => github.narrowedToken!(77, permissions) }
}

it('names one repository and the permissions, and returns what GitHub granted', async () => {
  api.on(mint, { status: 201, body: narrowed('a') })
  const { ask, lines } = open()
  expect(await ask()).toEqual({
    token: longToken('a'),
    expiresAt: Date.parse(expires),
    permissions: { ...permissions, metadata: 'read' },
    repository: { githubId: 77, name: 'acme/widgets' },
  })
  expect(api.seen.at(-1)!.body).toEqual({ repository_ids: [77], permissions })
  expect(inspect(lines, { depth: 9, maxStringLength: null })).not.toContain('ghs_12')
})

it('is a new one each time, for an installation that is known', async () => {
  api.on(mint, { body: narrowed('a') }, { body: narrowed('b') })
  const { ask } = open()
  expect((await ask()).token).toBe(longToken('a'))
  expect((await ask()).token).toBe(longToken('b'))
  expect(api.calls()).toEqual([lookUp, mint, mint])
})

it.each([
  ['all repositories', { repository_selection: 'all' }],
  ['unnamed repositories', { repositories: undefined }],
  ['another repository', { repositories: [{ id: 78, full_name: 'acme/other' }] }],
  ['two repositories', { repositories: [...repositories, { id: 78, full_name: 'acme/other' }] }],
])('is not accepted if it reaches %s', async (_what, wider) => {
  api.on(mint, { body: { ...narrowed('a'), ...wider } })
  expect(await rejectionOf(open().ask())).toMatchObject({ kind: 'unanswered' })
})

it('is refused as GitHub refuses it', async () => {
  api.on(mint, { status: 422 })
  const { ask } = open()
  expect(await rejectionOf(ask())).toMatchObject({ kind: 'invalid', status: 422 })
  api.on(mint, { status: 403 })
  expect(await rejectionOf(ask())).toMatchObject({ kind: 'not_installed' })
})

it('is asked of the new installation after the App was installed again', async () => {
  api.on(mint, { body: narrowed('a') }, { status: 404 })
  const { ask } = open()
  await ask()
  api.on(lookUp, { body: { id: 10 } })
  api.on('POST /app/installations/10/access_tokens', { body: narrowed('b') })
  expect((await ask()).token).toBe(longToken('b'))
})

it('cannot be made of the token of an account', () => {
  expect(clientOf(api.url).github.narrowedToken).toBeNull()
})
