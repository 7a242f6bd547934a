// Goal: a webhook's facts are read, however much of it is missing, deleted or of another type.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newThread, person, shaOf } from '../../../test/intake/payloads.ts'
import { eventKeyOf, laneOf, readEvent } from './webhook-event.ts'

const thread = newThread()
const opened = thread.on('opened', 'a', 1).payload as Payload
interface Payload {
  readonly pull_request: Readonly<Record<string, object>>
  readonly repository: object
}
const read = (payload: unknown, name = 'pull_request') => readEvent('guid', name, payload)

describe('a pull request', () => {
  it('is read with its commits, its repository and its time', () => {
    expect(read(opened)).toMatchObject({
      name: 'pull_request',
      action: 'opened',
      repo: thread.repo,
      repoId: thread.repository.id,
      number: 7,
      isPullRequest: true,
      head: { baseSha: shaOf('main'), headSha: shaOf('a'), beforeSha: null },
      problem: null,
      draft: false,
      prState: 'open',
      baseChanged: false,
      eventAt: Date.UTC(2024, 0, 1, 0, 0, 1),
      sender: { login: 'mona', type: 'User' },
    })
  })

  it('of a deleted fork, without an author and with a deleted sender is still read', () => {
    const pull = { ...opened.pull_request, user: null }
    const head = { ...opened.pull_request['head'], repo: null }
    const payload = { ...opened, sender: person('ghost'), pull_request: { ...pull, head } }
    expect(read(payload)).toMatchObject({ head: { headSha: shaOf('a') }, sender: null })
  })

  it('names the head that the new one replaced', () => {
    const pushed = thread.on('synchronize', 'b', 2, { more: { before: shaOf('a') } }).payload
    expect(read(pushed).head?.beforeSha).toBe(shaOf('a'))
  })

  const pullWith = (more: object) => ({ pull_request: { ...opened.pull_request, ...more } })

  it.each([
    ['repository.full_name is missing', { repository: null }],
    ['repository.full_name has a value that cannot be used', { repository: { full_name: 'a' } }],
    ['pull_request.number has a value that cannot be used', pullWith({ number: 'x' })],
    ['pull_request.head.sha is missing', pullWith({ head: null })],
    ['pull_request.base.sha is missing', pullWith({ base: [] })],
  ])('that is incomplete says that %s', (problem, more) => {
    expect(read({ ...opened, ...more })).toMatchObject({ problem, head: null })
  })
})

describe('any payload', () => {
  it.each([null, undefined, 7, 'text', true, [], {}, [[1]], { pull_request: [] }, { issue: 3 }])(
    'such as %j is read without facts',
    (payload) => {
      const event = read(payload)
      expect(event).toMatchObject({ repo: null, number: null, head: null, sender: null })
      expect([laneOf(event), eventKeyOf(event)]).toEqual(['guid', null])
    },
  )

  it('never throws, and neither do its lane and its key', () => {
    const part = fc.jsonValue({ maxDepth: 4 })
    const names = ['action', 'pull_request', 'repository', 'sender', 'issue', 'check_run', 'label']
    const payload = fc.dictionary(fc.constantFrom(...names, 'changes', 'after', 'ref'), part)
    fc.assert(
      fc.property(fc.oneof(part, payload), fc.constantFrom('push', 'pull_request'), (any, name) => {
        const event = read(any, name)
        expect(laneOf(event)).toEqual(expect.any(String))
        eventKeyOf(event)
      }),
      { numRuns: 1000, seed: 4 },
    )
  })
})

describe('other events', () => {
  it('a comment on a pull request belongs to it, and one on an issue does not', () => {
    const comment = { repository: thread.repository, issue: { number: 7, pull_request: {} } }
    expect(read(comment, 'issue_comment')).toMatchObject({ number: 7, isPullRequest: true })
    const issue = { ...comment, issue: { number: 7 } }
    expect(read(issue, 'issue_comment')).toMatchObject({ number: 7, isPullRequest: false })
  })

  it('a push has its ref and commit, unless it deleted the branch', () => {
    const push = { repository: thread.repository, ref: 'refs/heads/main', after: shaOf('a') }
    expect(read(push, 'push').push).toEqual({ ref: 'refs/heads/main', sha: shaOf('a') })
    expect(read({ ...push, after: '0'.repeat(40) }, 'push').push).toBeNull()
    expect(read(push, 'create').push).toBeNull()
  })

  it('a check has its name and commit, and a suite has no name', () => {
    const ids = { id: 7, external_id: 'key' }
    const run = { check_run: { name: 'holdfast/review', head_sha: shaOf('a'), ...ids } }
    const check = { name: 'holdfast/review', headSha: shaOf('a'), id: 7, externalId: 'key' }
    expect(read(run, 'check_run').check).toEqual({ ...check, pr: null })
    const of = (...numbers: number[]) => {
      const pull_requests = numbers.map((number) => ({ number }))
      return read({ check_run: { ...run.check_run, pull_requests } }, 'check_run').check?.pr
    }
    expect([of(5), of(5, 6), of()]).toEqual([5, null, null])
    const suite = { check_suite: { head_sha: shaOf('a') } }
    const unnamed = { name: null, id: null, externalId: null }
    const found = read(suite, 'check_suite').check
    expect(found).toEqual({ ...unnamed, headSha: shaOf('a'), pr: null })
  })
})

describe('a lane', () => {
  const lane = (payload: unknown, name = 'pull_request') => laneOf(read(payload, name))

  it('is the same for all events of one pull request, also under another repository name', () => {
    const renamed = { ...thread.repository, full_name: 'acme/renamed' }
    const comment = { repository: renamed, issue: { number: 7, pull_request: {} } }
    expect(lane(comment, 'issue_comment')).toBe(lane(opened))
  })

  it('differs for another pull request, branch or commit', () => {
    const { repository } = thread
    const push = (ref: string) => lane({ repository, ref, after: shaOf('a') }, 'push')
    const check = (head: string) =>
      lane({ repository, check_run: { head_sha: shaOf(head) } }, 'check_run')
    const all = [
      lane(opened),
      lane({ ...opened, pull_request: { ...opened.pull_request, number: 8 } }),
      push('refs/heads/a'),
      push('refs/heads/b'),
      check('a'),
      check('b'),
      lane({ repository }, 'star'),
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})

describe('an event’s key', () => {
  const key = (payload: unknown, name?: string) => eventKeyOf(read(payload, name))

  it('is the same for the same event under another GUID', () => {
    expect(key(structuredClone(opened))).toBe(key(opened))
    expect(eventKeyOf(readEvent('another', 'pull_request', opened))).toBe(key(opened))
  })

  it('differs if any part that makes it another event differs', () => {
    const at = (second: number) => thread.on('opened', 'a', second).payload
    const labelled = (name: string) =>
      thread.on('labeled', 'a', 1, { more: { label: { name } } }).payload
    const asked = (login: string) =>
      thread.on('review_requested', 'a', 1, { more: { requested_reviewer: { login } } }).payload
    const all = [
      key(opened),
      key(opened, 'pull_request_target'),
      key(at(2)),
      key(thread.on('reopened', 'a', 1).payload),
      key(thread.on('opened', 'b', 1).payload),
      key(thread.on('opened', 'a', 1, { base: 'next' }).payload),
      key(newThread().on('opened', 'a', 1).payload),
      key(labelled('one')),
      key(labelled('two')),
      key(asked('one')),
      key(asked('two')),
      key(thread.on('edited', 'a', 1, { more: { changes: { title: {} } } }).payload),
      key(thread.on('edited', 'a', 1, { more: { changes: { base: {} } } }).payload),
    ]
    expect(all).not.toContain(null)
    expect(new Set(all).size).toBe(all.length)
  })

  it('is null for an event without a time', () => {
    expect(key({ repository: thread.repository, ref: 'x', after: shaOf('a') }, 'push')).toBeNull()
  })
})
