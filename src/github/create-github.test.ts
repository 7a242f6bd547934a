// Goal: head, role and own account are read with a token as the interface promises, also after a
// repository was renamed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startFakeApi, type FakeApi, type FakeAnswer } from '../../test/github/fake-api.ts'
import { clientOf, named, rejectionOf } from '../../test/github/github-under-test.ts'
import type { GitHub, RoleAnswer } from '../github.ts'

let api: FakeApi
let github: GitHub
beforeEach(async () => {
  api = await startFakeApi()
  github = clientOf(api.url).github
})
afterEach(() => api.close())

const pull = {
  body: {
    head: { sha: 'b'.repeat(40), repo: { pushed_at: '2026-11-15T10:59:00Z' } },
    base: { sha: 'a'.repeat(40) },
    state: 'open',
    updated_at: '2026-11-15T11:00:00Z',
  },
}
const head = {
  headSha: 'b'.repeat(40),
  baseSha: 'a'.repeat(40),
  state: 'open',
  updatedAt: Date.parse('2026-11-15T11:00:00Z'),
  pushedAt: Date.parse('2026-11-15T10:59:00Z'),
}
const toId = (path: string): FakeAnswer => ({
  status: 301,
  headers: { location: `https://api.github.com/repositories/77/${path}` },
})

describe('headOf', () => {
  const call = 'GET /repos/acme/widgets/pulls/5'

  it('returns head, base, state and times', async () => {
    api.on(call, pull)
    expect(await github.headOf(named('acme/widgets'), 5)).toEqual(head)
  })

  it('returns null for a pull request that does not exist', async () => {
    api.on(call, { status: 404 })
    api.on('GET /repos/acme/widgets', { body: { id: 77, full_name: 'acme/widgets' } })
    expect(await github.headOf(named('acme/widgets'), 5)).toBeNull()
  })

  it('rejects if the repository is not visible, because the pull request may exist', async () => {
    api.on('GET /repositories/77/pulls/5', { status: 404 })
    api.on('GET /repositories/77', { status: 404 })
    const asked = github.headOf({ repo: 'acme/widgets', repoGithubId: 77 }, 5)
    expect(await rejectionOf(asked)).toMatchObject({ kind: 'not_found', status: 404 })
  })

  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [410, 'gone'],
    [422, 'invalid'],
    [429, 'rate_limited'],
    [502, 'unanswered'],
  ])('rejects a %i as %s, after one call', async (status, kind) => {
    api.on(call, { status })
    expect(await rejectionOf(github.headOf(named('acme/widgets'), 5))).toMatchObject({
      kind,
      status,
    })
    expect(api.calls()).toEqual([call])
  })

  it('asks only by a known id, because the name may belong to another repository', async () => {
    api.on('GET /repositories/77/pulls/5', pull)
    expect(await github.headOf({ repo: 'acme/widgets', repoGithubId: 77 }, 5)).toEqual(head)
    expect(api.calls()).toEqual(['GET /repositories/77/pulls/5'])
  })

  it('finds a renamed repository by its id', async () => {
    api.on(call, toId('pulls/5'))
    api.on('GET /repositories/77', { body: { id: 77, full_name: 'acme/gadgets' } })
    api.on('GET /repositories/77/pulls/5', pull)
    expect(await github.headOf(named('acme/widgets'), 5)).toEqual(head)
    expect(api.calls()).toEqual([call, 'GET /repositories/77', 'GET /repositories/77/pulls/5'])
  })

  it('follows a new name once, not in circles', async () => {
    api.on(call, toId('pulls/5'))
    api.on('GET /repositories/77', { body: { id: 77, full_name: 'acme/gadgets' } })
    const again = 'GET /repositories/77/pulls/5'
    api.on(again, toId('pulls/5'))
    const error = await rejectionOf(github.headOf(named('acme/widgets'), 5))
    expect(error).toMatchObject({ kind: 'redirected' })
    expect(api.calls()).toEqual([call, 'GET /repositories/77', again])
  })

  it('rejects a redirect without an id', async () => {
    api.on(call, { status: 301, headers: { location: `${api.url}/repos/acme/gadgets/pulls/5` } })
    expect(await rejectionOf(github.headOf(named('acme/widgets'), 5))).toMatchObject({
      kind: 'redirected',
    })
    expect(api.calls()).toEqual([call])
  })

  it('rejects if the repository is not found by its id either', async () => {
    api.on(call, toId('pulls/5'))
    api.on('GET /repositories/77', { status: 404 })
    expect(await rejectionOf(github.headOf(named('acme/widgets'), 5))).toMatchObject({
      kind: 'not_found',
    })
  })

  it('rejects if the new name is not a valid name', async () => {
    api.on(call, toId('pulls/5'))
    api.on('GET /repositories/77', { body: { full_name: '../user' } })
    expect(await rejectionOf(github.headOf(named('acme/widgets'), 5))).toMatchObject({
      kind: 'unanswered',
    })
  })

  it.each(['widgets', '', 'acme/widgets/pulls', '../widgets', 'acme/..', 'a b/c', 'acme/wid?x'])(
    'refuses the name %j before it sends anything',
    async (repo) => {
      const error = await rejectionOf(github.headOf(named(repo), 5))
      expect(error).toMatchObject({ code: 'invalid_repo', field: 'repo' })
      expect(api.calls()).toEqual([])
    },
  )
})

describe('roleOf', () => {
  const call = 'GET /repos/acme/widgets/collaborators/mona/permission'

  it.each<[string, object, RoleAnswer]>([
    ['admin', { permission: 'admin', role_name: 'admin' }, 'admin'],
    ['maintain', { permission: 'write', role_name: 'maintain' }, 'maintain'],
    ['write', { permission: 'write', role_name: 'write' }, 'write'],
    ['triage', { permission: 'read', role_name: 'triage' }, 'triage'],
    ['read', { permission: 'read', role_name: 'read' }, 'read'],
    ['a custom role', { permission: 'write', role_name: 'release crew' }, 'write'],
    ['an Enterprise without role names', { permission: 'read' }, 'read'],
    ['no role', { permission: 'none', role_name: 'none' }, 'none'],
  ])('reads the answer for %s', async (_name, body, role) => {
    api.on(call, { body })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe(role)
  })

  it.each<[number, RoleAnswer]>([
    [404, 'no-such-user'],
    [401, 'cannot-ask'],
    [403, 'cannot-ask'],
  ])('returns for a %i: %s', async (status, answer) => {
    api.on(call, { status })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe(answer)
  })

  it.each<[string, FakeAnswer, string]>([
    ['a limit', { status: 403, headers: { 'x-ratelimit-remaining': '0' } }, 'rate_limited'],
    ['a limit', { status: 403, body: { message: 'secondary rate limit' } }, 'rate_limited'],
    ['a limit', { status: 429 }, 'rate_limited'],
    ['a 5xx', { status: 503 }, 'unanswered'],
    ['a role we do not know', { body: { permission: 'owner' } }, 'unanswered'],
  ])('rejects %s', async (_name, reply, kind) => {
    api.on(call, reply)
    expect(await rejectionOf(github.roleOf(named('acme/widgets'), 'mona'))).toMatchObject({ kind })
  })

  it('asks about a bot by its full name', async () => {
    const bot = 'GET /repos/acme/widgets/collaborators/dependabot%5Bbot%5D/permission'
    api.on(bot, { body: { permission: 'write', role_name: 'write' } })
    expect(await github.roleOf(named('acme/widgets'), 'dependabot[bot]')).toBe('write')
  })

  it.each(['', '..', 'a/b', 'mona?x', 'mona lisa', 'mona[bot]x'])(
    'returns no-such-user for %j without a question',
    async (login) => {
      expect(await github.roleOf(named('acme/widgets'), login)).toBe('no-such-user')
      expect(api.calls()).toEqual([])
    },
  )

  it('finds a renamed repository by its id', async () => {
    api.on(call, toId('collaborators/mona/permission'))
    api.on('GET /repositories/77', { body: { id: 77, full_name: 'acme/gadgets' } })
    const moved = 'GET /repositories/77/collaborators/mona/permission'
    api.on(moved, { body: { permission: 'admin', role_name: 'admin' } })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe('admin')
  })

  it('returns cannot-ask if the renamed repository is not visible', async () => {
    api.on(call, toId('collaborators/mona/permission'))
    api.on('GET /repositories/77', { status: 404 })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe('cannot-ask')
  })
})

describe('ownAccount with a token', () => {
  it('is the user', async () => {
    api.on('GET /user', { body: { login: 'acme-bot', id: 42 } })
    expect(await github.ownAccount()).toEqual({
      login: 'acme-bot',
      id: 42,
      appId: null,
      kind: 'user',
    })
  })

  it.each([401, 403])('is null on %i, after one call', async (status) => {
    api.on('GET /user', { status })
    expect(await github.ownAccount()).toBeNull()
    expect(api.calls()).toEqual(['GET /user'])
  })

  it('rejects if GitHub could not be asked', async () => {
    api.on('GET /user', { status: 500 })
    expect(await rejectionOf(github.ownAccount())).toMatchObject({ kind: 'unanswered' })
  })
})
