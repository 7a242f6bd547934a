// Goal: what an event means for each type, by its configuration: the table of triggers.
import { describe, expect, it } from 'vitest'
import {
  bot,
  newThread,
  person,
  shaOf,
  type PullRequestOptions,
} from '../../test/intake/payloads.ts'
import type { RunTypeConfig, When } from '../config.ts'
import type { OwnAccount } from '../github.ts'
import { withTypeDefaults } from '../settings/type-defaults.ts'
import { decideAtDoor } from './door-decision.ts'
import { routeEvent } from './route-event.ts'
import { readEvent, reconcileEvent } from './webhook-event.ts'

const thread = newThread()
const ours: OwnAccount = { login: 'our-app', id: null, appId: 12, kind: 'app' }

function route(
  name: string,
  payload: object,
  types?: Readonly<Record<string, RunTypeConfig>>,
  own: OwnAccount | null = ours,
) {
  const { runs } = withTypeDefaults(types === undefined ? {} : { runs: types })
  return routeEvent(readEvent('guid', name, payload), runs, own)
}

const pull = (action: string, over: Partial<PullRequestOptions> = {}) =>
  thread.on(action, 'a', 1, over).payload

const bare = (more: object) => ({ repository: thread.repository, sender: person('mona'), ...more })

describe('without a configuration', () => {
  it.each(['opened', 'reopened', 'ready_for_review', 'synchronize'])('%s starts', (action) => {
    expect(route('pull_request', pull(action))).toEqual([{ to: 'start', type: 'review', by: null }])
  })

  it.each(['labeled', 'assigned', 'locked', 'unknown_action'])('%s means nothing', (action) => {
    expect(route('pull_request', pull(action))).toEqual([])
  })

  it('asking for a review runs again, closing cancels', () => {
    expect(route('pull_request', pull('review_requested'))).toMatchObject([{ to: 'rerun' }])
    expect(route('pull_request', pull('closed', { state: 'closed' }))).toEqual([
      { to: 'cancel', type: 'review', repo: thread.repo, pr: 7 },
    ])
  })

  it('an edit starts only with another base', () => {
    expect(route('pull_request', pull('edited'))).toMatchObject([
      { to: 'nothing', reason: 'base-unchanged' },
    ])
    const changed = pull('edited', { more: { changes: { base: { ref: { from: 'main' } } } } })
    expect(route('pull_request', changed)).toMatchObject([{ to: 'start' }])
  })

  it('a draft waits until it is ready, but may be asked for', () => {
    for (const action of ['opened', 'synchronize', 'reopened']) {
      expect(route('pull_request', pull(action, { draft: true }))).toMatchObject([
        { to: 'nothing', reason: 'draft' },
      ])
    }
    const asked = route('pull_request', pull('review_requested', { draft: true }))
    expect(asked).toMatchObject([{ to: 'rerun' }])
  })

  it('a pull request of a bot is skipped', () => {
    const user = bot('renovate[bot]')
    expect(route('pull_request', pull('opened', { user }))).toMatchObject([
      { to: 'skip', reason: 'bot author' },
    ])
  })

  it('a closed pull request starts nothing', () => {
    const pushed = pull('synchronize', { state: 'closed' })
    expect(route('pull_request', pushed)).toMatchObject([{ reason: 'pull-request-closed' }])
  })
})

describe('closing', () => {
  it('closing cancels what comments started, and leaves pushes alone', () => {
    const closed = pull('closed', { state: 'closed' })
    const types = {
      chat: { on: { issue_comment: ['created'] } },
      deploy: { on: { push: [] } },
    }
    expect(route('pull_request', closed, types)).toMatchObject([{ to: 'cancel', type: 'chat' }])
  })

  it('cancels also when the commits are missing, and not when the number is', () => {
    const gone = bare({ action: 'closed', pull_request: { number: 7, state: 'closed' } })
    expect(route('pull_request', gone)).toMatchObject([{ to: 'cancel', pr: 7 }])
    const nameless = bare({ action: 'closed', pull_request: { state: 'closed' } })
    expect(route('pull_request', nameless)).toMatchObject([
      { to: 'nothing', reason: 'incomplete-payload', detail: 'pull_request.number is missing' },
    ])
    expect(route('pull_request', bare({ action: 'closed' }))).toMatchObject([
      { to: 'nothing', reason: 'no-pull-request' },
    ])
  })

  it('is a start for a type that says so, and nothing to one that follows no pull request', () => {
    const closed = pull('closed', { state: 'closed' })
    const types = {
      after: { on: { pull_request: ['closed'] } },
      all: { on: { pull_request: [] } },
      pushes: { on: { push: [] } },
    }
    expect(route('pull_request', closed, types)).toMatchObject([
      { to: 'start', type: 'after' },
      { to: 'start', type: 'all' },
    ])
  })

  it('by ourselves cancels too', () => {
    const sender = bot('our-app[bot]')
    const closed = pull('closed', { state: 'closed', sender })
    expect(route('pull_request', closed)).toMatchObject([{ to: 'cancel' }])
  })
})

describe('a filter', () => {
  it('of no actions counts every action, one with actions needs one of them', () => {
    const types = { any: { on: { push: [] } }, some: { on: { push: ['x'] } } }
    const push = bare({ ref: 'refs/heads/main', after: shaOf('a') })
    expect(route('push', push, types)).toMatchObject([{ to: 'start', type: 'any' }])
  })

  it('has only events of its own', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(route(name, bare({ action: 'name' }), { any: { on: {} } })).toEqual([])
    }
  })

  it('starts each type that listens, with the role it asks for', () => {
    const types: Record<string, RunTypeConfig> = {
      one: { on: { pull_request: ['opened'] }, by: 'write' },
      two: { rerunOn: { pull_request: ['opened'] } },
      three: { on: { issues: ['opened'] } },
    }
    expect(route('pull_request', pull('opened'), types)).toEqual([
      { to: 'start', type: 'one', by: 'write' },
      { to: 'rerun', type: 'two', by: null },
    ])
  })

  it('in both `on` and `rerunOn` runs again, and a draft still waits until it is ready', () => {
    const both = (on: string[], rerunOn: string[]): Record<string, RunTypeConfig> => ({
      both: { on: { pull_request: on }, rerunOn: { pull_request: rerunOn } },
    })
    const label = both(['opened', 'labeled'], ['labeled'])
    expect(route('pull_request', pull('labeled'), label)).toMatchObject([{ to: 'rerun' }])
    expect(route('pull_request', pull('opened'), label)).toMatchObject([{ to: 'start' }])
    expect(route('pull_request', pull('labeled'), both([], ['labeled']))).toMatchObject([
      { to: 'rerun' },
    ])
    const draft = pull('labeled', { draft: true })
    const waiting = both(['ready_for_review', 'labeled'], ['labeled'])
    expect(route('pull_request', draft, waiting)).toMatchObject([{ reason: 'draft' }])
  })

  it('in both starts what catching up has seen, which nobody asked to run again', () => {
    const types = { both: { on: { pull_request: [] }, rerunOn: { pull_request: [] } } }
    expect(route(reconcileEvent, pull('opened'), types)).toMatchObject([{ to: 'start' }])
  })
})

describe('when', () => {
  const said = (when: unknown) => {
    const types = { one: { on: { pull_request: ['opened'] }, when: when as When } }
    const [only] = route('pull_request', pull('opened'), types)
    return only
  }

  it('true starts; a text is the reason not to, in one line; anything else is a no', () => {
    expect(said(() => true)).toMatchObject({ to: 'start' })
    expect(said(() => 'not today')).toMatchObject({ to: 'skip', reason: 'not today' })
    expect(said(() => ' a\nb\u001b[31m ')).toMatchObject({ reason: 'a b [31m' })
    expect(said(() => 'x'.repeat(1000))).toMatchObject({ reason: 'x'.repeat(200) })
    for (const no of [false, '', ' \n', undefined, null, 0, 1, {}, []]) {
      expect(said(() => no)).toEqual({ to: 'skip', type: 'one', reason: 'filtered' })
    }
  })

  it('that throws, or answers later, fails its own type', async () => {
    const thrown = { to: 'failure', reason: 'when-failed' }
    expect(
      said(() => {
        throw new Error('no\nway')
      }),
    ).toMatchObject({ ...thrown, detail: 'no way' })
    expect(
      said(() => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- a user's rule may
        throw null
      }),
    ).toMatchObject({ ...thrown, detail: 'null' })
    expect(said(() => Promise.reject(new Error('later')))).toMatchObject({
      ...thrown,
      detail: expect.stringContaining('promise') as string,
    })
    await Promise.resolve()
  })

  it('is given the event, and who is gone is called ghost', () => {
    let seen: unknown
    const when: When = (event) => {
      seen = event
      return true
    }
    const payload = pull('opened', { sender: person('ghost') })
    route('pull_request', payload, { one: { on: { pull_request: ['opened'] }, when } })
    expect(seen).toEqual({
      name: 'pull_request',
      action: 'opened',
      repo: thread.repo,
      sender: 'ghost',
      payload,
    })
  })
})

describe('our own account', () => {
  const types = {
    one: { on: { pull_request: ['opened'], issue_comment: ['created'] } },
    own: { on: { pull_request: ['opened'], issue_comment: ['created'] }, own: true },
  }

  it.each(['our-app[bot]', 'Our-App[BOT]', 'OUR-APP[bot]'])('as %s starts nothing', (login) => {
    const routes = route('pull_request', pull('opened', { sender: bot(login) }), types)
    expect(routes).toMatchObject([{ reason: 'own-account' }, { to: 'start', type: 'own' }])
    const issue = { number: 7, pull_request: {} }
    const comment = bare({ action: 'created', issue, sender: bot(login) })
    expect(route('issue_comment', comment, types)).toMatchObject([
      { reason: 'own-account' },
      { reason: 'own-account' },
    ])
  })

  it.each([
    ['a person of the App’s name', person('our-app')],
    ['another App', bot('our-app-2[bot]')],
    ['nobody', person('ghost')],
  ])('is not %s', (_name, sender) => {
    expect(route('pull_request', pull('opened', { sender }), types)).toMatchObject([
      { to: 'start' },
      { to: 'start' },
    ])
  })

  it('is known by its id, whatever its name is now', () => {
    const own: OwnAccount = { login: 'old-name', id: 77, appId: null, kind: 'user' }
    const sent = (sender: object) => route('pull_request', pull('opened', { sender }), types, own)
    expect(sent(person('new-name', 77))).toMatchObject([{ reason: 'own-account' }, {}])
    expect(sent(person('old-name', 78))).toMatchObject([{ to: 'start' }, {}])
  })

  it('is nobody while it is not known', () => {
    const routes = route('pull_request', pull('opened', { sender: bot('x[bot]') }), types, null)
    expect(routes).toMatchObject([{ to: 'start' }, { to: 'start' }])
  })
})

describe('a check', () => {
  const again = (name: string | null) =>
    bare({ action: 'rerequested', check_run: { name, head_sha: shaOf('a') } })
  const rerunOn = { check_run: ['rerequested'], check_suite: ['rerequested'] }
  const types = {
    one: { rerunOn, status: { context: 'acme/one' }, when: () => 'never' },
    two: { rerunOn, status: { context: 'acme/two' } },
  }

  it('asked for again by its name is for the type of that name, and no rule is asked', () => {
    expect(route('check_run', again('acme/one'), types)).toMatchObject([
      { to: 'rerun', type: 'one' },
    ])
  })

  it('of no type’s name, or a whole suite, is for all', () => {
    for (const name of ['someone/else', null]) {
      expect(route('check_run', again(name), types)).toHaveLength(2)
    }
    const suite = bare({ action: 'rerequested', check_suite: { head_sha: shaOf('a') } })
    expect(route('check_suite', suite, types)).toHaveLength(2)
  })
})

describe('what has nothing to work on', () => {
  const types = { one: { on: { push: [], issues: [], issue_comment: [] } } }

  it.each([
    ['push', { ref: 'refs/heads/x', after: '0'.repeat(40) }, 'branch-deleted'],
    ['push', { ref: `refs/heads/${'x'.repeat(300)}`, after: shaOf('a') }, 'incomplete-payload'],
    ['push', { ref: 'refs/heads/x' }, 'incomplete-payload'],
    ['issues', { action: 'opened', issue: { number: 7 } }, 'no-pull-request'],
    ['issue_comment', { action: 'created' }, 'no-pull-request'],
    ['push', { ref: 'x', after: shaOf('a'), repository: null }, 'incomplete-payload'],
  ])('%s %j is nothing: %s', (name, more, reason) => {
    expect(route(name, bare(more), types)).toMatchObject([{ to: 'nothing', reason }])
  })

  it('a comment on a pull request has', () => {
    const issue = { number: 7, pull_request: {} }
    const written = { id: 1, created_at: '2024-01-01T00:00:00Z' }
    const comment = bare({ action: 'created', issue, comment: written })
    expect(route('issue_comment', comment, types)).toMatchObject([{ to: 'start' }])
    const timeless = bare({ action: 'created', issue, comment: { id: 1 } })
    expect(route('issue_comment', timeless, types)).toMatchObject([
      { reason: 'incomplete-payload', detail: 'comment.created_at is missing' },
    ])
  })
})

describe('at the door', () => {
  const decide = (name: string, payload: object, types?: Record<string, RunTypeConfig>) =>
    decideAtDoor(readEvent('guid', name, payload), route(name, payload, types))

  it('what leads to something waits; what does not is decided', () => {
    expect(decide('pull_request', pull('opened'))).toMatchObject({
      decision: 'accepted',
      reason: null,
      waits: true,
    })
    expect(decide('pull_request', pull('opened', { draft: true }))).toMatchObject({
      decision: 'ignored',
      reason: 'draft',
      waits: false,
      outcomes: [{ type: 'review', result: 'ignored', reason: 'draft' }],
    })
    expect(decide('ping', { zen: '' })).toMatchObject({ reason: 'ping', waits: false })
    expect(decide('star', bare({}))).toMatchObject({ reason: 'no-trigger', waits: false })
  })

  it('a skipped head waits to be made the head, a skipped question does not', () => {
    const user = bot('renovate[bot]')
    expect(decide('pull_request', pull('opened', { user }))).toMatchObject({
      decision: 'ignored',
      reason: 'bot author',
      waits: true,
      outcomes: [],
    })
    expect(decide('pull_request', pull('review_requested', { user }))).toMatchObject({
      waits: false,
      outcomes: [{ result: 'skipped', reason: 'bot author' }],
    })
  })

  it('a new name of a repository waits to be learnt', () => {
    expect(decide('repository', bare({ action: 'renamed' }))).toMatchObject({
      decision: 'ignored',
      reason: 'repository-renamed',
      waits: true,
    })
    expect(decide('repository', bare({ action: 'edited' }))).toMatchObject({ waits: false })
    expect(decide('repository', { action: 'renamed' })).toMatchObject({ waits: false })
  })
})
