// Goal: what an event does for each type, by its configuration.
import { describe, expect, it } from 'vitest'
import {
  bot,
  newThread,
  person,
  shaOf,
  type PullRequestOptions,
} from '../../../test/intake/payloads.ts'
import type { RunTypeConfig, When } from '../../config.ts'
import type { OwnAccount } from '../../github.ts'
import { withTypeDefaults } from '../../settings/run-types/type-defaults.ts'
import { decideAtArrival } from '../decide-at-arrival.ts'
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
  it.each(['opened', 'reopened', 'ready_for_review', 'synchronize'])(
    '%s starts a run',
    (action) => {
      expect(route('pull_request', pull(action))).toEqual([
        { to: 'start', type: 'review', by: null },
      ])
    },
  )

  it.each(['labeled', 'assigned', 'locked', 'unknown_action'])('%s does nothing', (action) => {
    expect(route('pull_request', pull(action))).toEqual([])
  })

  it('a review request starts a rerun, and closing cancels', () => {
    expect(route('pull_request', pull('review_requested'))).toMatchObject([{ to: 'rerun' }])
    expect(route('pull_request', pull('closed', { state: 'closed' }))).toEqual([
      { to: 'cancel', type: 'review', repo: thread.repo, pr: 7 },
    ])
  })

  it('an edit starts a run only if the base changed', () => {
    expect(route('pull_request', pull('edited'))).toMatchObject([
      { to: 'nothing', reason: 'base-unchanged' },
    ])
    const changed = pull('edited', { more: { changes: { base: { ref: { from: 'main' } } } } })
    expect(route('pull_request', changed)).toMatchObject([{ to: 'start' }])
  })

  it('a draft waits until it is ready, but a review request starts a run', () => {
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
  it('cancels runs that comments start, but not runs that pushes start', () => {
    const closed = pull('closed', { state: 'closed' })
    const types = {
      chat: { on: { issue_comment: ['created'] } },
      deploy: { on: { push: [] } },
    }
    expect(route('pull_request', closed, types)).toMatchObject([{ to: 'cancel', type: 'chat' }])
  })

  it('cancels even if the commits are missing, but not if the number is missing', () => {
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

  it('starts a type that asks for it, and does nothing for a type without pull requests', () => {
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

  it('by our own account cancels, too', () => {
    const sender = bot('our-app[bot]')
    const closed = pull('closed', { state: 'closed', sender })
    expect(route('pull_request', closed)).toMatchObject([{ to: 'cancel' }])
  })
})

describe('a filter', () => {
  it('without actions matches every action, and one with actions matches only those', () => {
    const types = { any: { on: { push: [] } }, some: { on: { push: ['x'] } } }
    const push = bare({ ref: 'refs/heads/main', after: shaOf('a') })
    expect(route('push', push, types)).toMatchObject([{ to: 'start', type: 'any' }])
  })

  it('matches only the event names that it lists itself', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(route(name, bare({ action: 'name' }), { any: { on: {} } })).toEqual([])
    }
  })

  it('starts each type that matches, with the role that it requires', () => {
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

  it('in both `on` and `rerunOn` starts a rerun, and a draft still waits until it is ready', () => {
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

  it('in both starts a run for an event of catch-up, because no person asked for a rerun', () => {
    const types = { both: { on: { pull_request: [] }, rerunOn: { pull_request: [] } } }
    expect(route(reconcileEvent, pull('opened'), types)).toMatchObject([{ to: 'start' }])
  })
})

describe('a `when` rule', () => {
  const routeBy = (when: unknown) => {
    const types = { one: { on: { pull_request: ['opened'] }, when: when as When } }
    const [only] = route('pull_request', pull('opened'), types)
    return only
  }

  it('starts on true, skips with a text as the reason, and skips on any other value', () => {
    expect(routeBy(() => true)).toMatchObject({ to: 'start' })
    expect(routeBy(() => 'not today')).toMatchObject({ to: 'skip', reason: 'not today' })
    expect(routeBy(() => ' a\nb\u001b[31m ')).toMatchObject({ reason: 'a b [31m' })
    expect(routeBy(() => 'x'.repeat(1000))).toMatchObject({ reason: 'x'.repeat(200) })
    // Half a character would be refused by PostgreSQL, with the whole webhook.
    expect(routeBy(() => `${'x'.repeat(199)}😀`)).toMatchObject({ reason: 'x'.repeat(199) })
    for (const no of [false, '', ' \n', undefined, null, 0, 1, {}, []]) {
      expect(routeBy(() => no)).toEqual({ to: 'skip', type: 'one', reason: 'filtered' })
    }
  })

  it('that throws or returns a promise fails only its own type', async () => {
    const thrown = { to: 'failure', reason: 'when-failed' }
    expect(
      routeBy(() => {
        throw new Error('no\nway')
      }),
    ).toMatchObject({ ...thrown, detail: 'no way' })
    expect(
      routeBy(() => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- a user's rule may
        throw null
      }),
    ).toMatchObject({ ...thrown, detail: 'null' })
    expect(routeBy(() => Promise.reject(new Error('later')))).toMatchObject({
      ...thrown,
      detail: expect.stringContaining('promise') as string,
    })
    await Promise.resolve()
  })

  it('gets the event, with ghost as the name of a deleted sender', () => {
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
    ['a deleted account', person('ghost')],
  ])('is not %s', (_name, sender) => {
    expect(route('pull_request', pull('opened', { sender }), types)).toMatchObject([
      { to: 'start' },
      { to: 'start' },
    ])
  })

  it('is recognized by its id, whatever its name is now', () => {
    const own: OwnAccount = { login: 'old-name', id: 77, appId: null, kind: 'user' }
    const sent = (sender: object) => route('pull_request', pull('opened', { sender }), types, own)
    expect(sent(person('new-name', 77))).toMatchObject([{ reason: 'own-account' }, {}])
    expect(sent(person('old-name', 78))).toMatchObject([{ to: 'start' }, {}])
  })

  it('matches no sender while it is unknown', () => {
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

  it('that is rerun by its name reruns the type of that name without its `when` rule', () => {
    expect(route('check_run', again('acme/one'), types)).toMatchObject([
      { to: 'rerun', type: 'one' },
    ])
  })

  it('with no type’s name, or a whole suite, reruns all types', () => {
    for (const name of ['someone/else', null]) {
      expect(route('check_run', again(name), types)).toHaveLength(2)
    }
    const suite = bare({ action: 'rerequested', check_suite: { head_sha: shaOf('a') } })
    expect(route('check_suite', suite, types)).toHaveLength(2)
  })
})

describe('an event without anything to work on', () => {
  const types = { one: { on: { push: [], issues: [], issue_comment: [] } } }

  it.each([
    ['push', { ref: 'refs/heads/x', after: '0'.repeat(40) }, 'branch-deleted'],
    ['push', { ref: `refs/heads/${'x'.repeat(300)}`, after: shaOf('a') }, 'incomplete-payload'],
    ['push', { ref: 'refs/heads/x' }, 'incomplete-payload'],
    ['issues', { action: 'opened', issue: { number: 7 } }, 'no-pull-request'],
    ['issue_comment', { action: 'created' }, 'no-pull-request'],
    ['push', { ref: 'x', after: shaOf('a'), repository: null }, 'incomplete-payload'],
  ])('such as %s %j does nothing: %s', (name, more, reason) => {
    expect(route(name, bare(more), types)).toMatchObject([{ to: 'nothing', reason }])
  })

  it.each([
    [{ ref: `refs/heads/${'x'.repeat(589)}` }, 'ref has 600 characters; at most 255 are accepted'],
    [{ ref: 'a\nb' }, 'ref has a value that cannot be used'],
    [{ ref: 7 }, 'ref has a value that cannot be used'],
    [{ ref: 'x', after: 'main' }, 'after has a value that cannot be used'],
    [{ ref: 'x', after: '' }, 'after is missing'],
  ])('says why, for a push with %j', (more, detail) => {
    const push = bare({ after: shaOf('a'), ...more })
    expect(route('push', push, types)).toMatchObject([{ reason: 'incomplete-payload', detail }])
  })

  it('is not a comment on a pull request: that starts a run', () => {
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

describe('on arrival', () => {
  const decide = (name: string, payload: object, types?: Record<string, RunTypeConfig>) =>
    decideAtArrival(readEvent('guid', name, payload), route(name, payload, types))

  it('an event that may lead to something waits, and any other is decided at once', () => {
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

  it('a skipped event that makes a head waits, and a skipped review request does not', () => {
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

  it('a new name of a repository waits until it is stored', () => {
    expect(decide('repository', bare({ action: 'renamed' }))).toMatchObject({
      decision: 'ignored',
      reason: 'repository-renamed',
      waits: true,
    })
    expect(decide('repository', bare({ action: 'edited' }))).toMatchObject({ waits: false })
    expect(decide('repository', { action: 'renamed' })).toMatchObject({ waits: false })
  })
})
