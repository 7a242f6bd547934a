/**
 * Goal: the run verbs over a real store: from a caller's request to a claim, the look at GitHub
 * when only the order of arrival decided, and the long-polls.
 * Method: the test moves the store's time. Waits are real, and a signal ends each of them.
 */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { HeadSource, PullRequestHead, RepositoryRef } from '../../../src/head-source.ts'
import { GitHubError } from '../../../src/github/errors.ts'
import { CatchUpNotes } from '../../../src/intake/catch-up/catch-up-report.ts'
import { GitHubNotAsked } from '../../../src/intake/asking/github-questions.ts'
import { PendingHeadChecks } from '../../../src/intake/catch-up/pending-head-checks.ts'
import { systemRandom } from '../../../src/random.ts'
import { createRuns, type RunsService } from '../../../src/runs/create-runs.ts'
import type { PullRequestClaim } from '../../../src/runs/runs.ts'
import { systemScheduler } from '../../../src/scheduler.ts'
import { hashLeaseToken, parseBearer } from '../../../src/secrets.ts'
import { leaseMs, policy, sha, unique } from '../claims.ts'
import { minute, useWorld, type OpenStore } from '../world.ts'

const say = (): void => undefined
const silent = { debug: say, info: say, warn: say, error: say }

const gatewayError = new GitHubError(
  { kind: 'unanswered', until: null, repositoryId: null, unclear: false, failure: null },
  { route: 'GET', status: 502, requestId: '', githubRequestId: null },
)

export function runVerbs(open: OpenStore): void {
  const world = useWorld(open)

  function service(headSource: HeadSource | null = null): RunsService {
    return createRuns({
      store: world().store,
      clock: systemClock,
      random: systemRandom,
      scheduler: systemScheduler,
      log: silent,
      leaseMs,
      policyOf: (_type, kind) => ({ ...policy, onNewer: kind === 'job' ? 'queue' : 'supersede' }),
      headSource,
    })
  }

  const repo = () => unique('Acme/Widgets')

  function request(head: string, over: Partial<PullRequestClaim> = {}): PullRequestClaim {
    const base = { kind: 'pull_request', type: 'review', pr: 5 } as const
    return { ...base, repo: 'set/me', baseSha: sha('main'), headSha: sha(head), ...over }
  }

  /** Times near the store's own time, like GitHub's. */
  const at = (seconds: number): number => world().store.now() - minute + seconds * 1000

  describe('the request of a caller', () => {
    it('names and shas that differ only in case are one key', async () => {
      const runs = service()
      const name = repo()
      const first = await runs.claim(request('a', { repo: name }), 'test')
      const loud = {
        repo: name.toUpperCase(),
        headSha: sha('a').toUpperCase(),
        baseSha: sha('main').toUpperCase(),
      }
      const again = await runs.claim(request('a', loud), 'test')
      expect(again).toMatchObject({ reason: 'duplicate', runKey: first.runKey })
      const pair = `base-${sha('main')}:head-${sha('a')}`
      expect(first.runKey).toBe(`${name.toLowerCase()}:pr-5:${pair}`)
      const found = await runs.list({ repo: name.toUpperCase() }, { limit: 10, cursor: null })
      expect(found.items).toHaveLength(1)
    })

    it('an event more than five minutes ahead of the store’s clock is refused', async () => {
      const runs = service()
      const claim = request('a', { repo: repo(), eventAt: world().store.now() + 5 * minute + 1 })
      const refusal = { code: 'event_in_future', field: 'event_at' }
      await expect(runs.claim(claim, 'test')).rejects.toMatchObject(refusal)
      const justAhead = { ...claim, eventAt: world().store.now() + 5 * minute }
      expect(await runs.claim(justAhead, 'test')).toMatchObject({ reason: 'new' })
    })

    it.each(['opened', 'reopened', 'synchronize', 'edited', 'ready_for_review', undefined])(
      'the action %s makes its head the head',
      async (action) => {
        const runs = service()
        const name = repo()
        await runs.claim(request('a', { repo: name, action, eventAt: at(3) }), 'test')
        const older = request('b', { repo: name, action: 'synchronize', eventAt: at(2) })
        expect(await runs.claim(older, 'test')).toMatchObject({ reason: 'stale-event' })
      },
    )

    it.each(['labeled', 'locked', 'review_requested'])(
      'the action %s does not raise the order of its head',
      async (action) => {
        const runs = service()
        const name = repo()
        await runs.claim(request('a', { repo: name, action: 'opened', eventAt: at(1) }), 'test')
        await runs.claim(request('a', { repo: name, action, eventAt: at(3) }), 'test')
        const next = request('b', { repo: name, action: 'synchronize', eventAt: at(2) })
        expect(await runs.claim(next, 'test')).toMatchObject({ reason: 'superseded-prior' })
      },
    )

    it('a job’s subject is its key when it names none', async () => {
      const key = unique('nightly')
      const { run } = await service().claim({ kind: 'job', type: 'docs', key }, 'test')
      expect(run).toMatchObject({ key, subject: key, pr: null, repo: null })
    })

    it('a claim answers with a lease and a run token of the same secret', async () => {
      const { run, lease, runToken } = await service().claim(request('a', { repo: repo() }), 'test')
      const parsed = parseBearer(runToken ?? '')
      expect(parsed).toMatchObject({ kind: 'run', id: run?.id })
      expect(lease?.token).toBe(`hfl_${parsed?.secret}`)
      expect(run?.leaseHash).toBe(hashLeaseToken(lease?.token ?? ''))
    })

    it('an event’s numeric id keeps a renamed repository one', async () => {
      const runs = service()
      const [before, after, repoId] = [repo(), repo(), world().store.now()]
      const first = await runs.claim(request('a', { repo: before, repoId }), 'test')
      const again = await runs.claim(request('a', { repo: after, repoId }), 'test')
      expect(again).toMatchObject({ reason: 'duplicate', runKey: first.runKey })
    })
  })

  describe('the look at GitHub', () => {
    /** Claims two heads of the same second. Returns the service and both claims. */
    async function undecided(look: HeadSource['headOf']) {
      const runs = service({ headOf: look })
      const name = repo()
      const eventAt = at(1)
      const first = await runs.claim(request('a', { repo: name, eventAt }), 'test')
      const second = await runs.claim(request('b', { repo: name, eventAt }), 'test')
      const stateOf = async (id: string | undefined) => (await runs.get(id ?? '')).state
      const states = async () => [await stateOf(first.run?.id), await stateOf(second.run?.id)]
      return { runs, name, first, second, states }
    }

    const says = (head: string) => (): Promise<PullRequestHead> =>
      Promise.resolve({
        headSha: sha(head).toUpperCase(),
        baseSha: sha('base'),
        state: 'open',
        updatedAt: at(2),
        pushedAt: null,
      })

    it('is asked for the pull request in question, once, and not when times decide', async () => {
      const asked: string[] = []
      const look = (of: RepositoryRef, pr: number) => {
        asked.push(`${of.repo}#${pr}`)
        return says('b')()
      }
      const { runs, name } = await undecided(look)
      await runs.claim(request('c', { repo: name, eventAt: at(3) }), 'test')
      await runs.idle()
      expect(asked).toEqual([`${name.toLowerCase()}#5`])
    })

    it('names the repository by GitHub’s id, whoever has its name now', async () => {
      const asked: (number | null)[] = []
      const look = (of: RepositoryRef) => {
        asked.push(of.repoGithubId)
        return says('b')()
      }
      const runs = service({ headOf: look })
      const [name, repoId] = [repo(), world().store.now()]
      const eventAt = at(1)
      await world().store.repositories.learn(name.toLowerCase(), repoId, eventAt, 'test')
      await runs.claim(request('a', { repo: name, repoId, eventAt }), 'test')
      await world().store.repositories.learn(name.toLowerCase(), repoId + 1, 'now', 'test')
      await runs.claim(request('b', { repo: name, repoId, eventAt }), 'test')
      await runs.idle()
      expect(asked).toEqual([repoId])
    })

    it('confirms the head that arrival chose', async () => {
      const { runs, second, states } = await undecided(says('b'))
      await runs.idle()
      expect(await states()).toEqual(['superseded', 'running'])
      const subject = await world().store.runs.subject(second.run!.subjectId)
      expect(subject?.headAt).toBe(at(2))
    })

    it('moves the head, and the holder of the other run learns of it at once', async () => {
      const answer = Promise.withResolvers<PullRequestHead>()
      const { runs, second, states } = await undecided(() => answer.promise)
      const leaseHash = hashLeaseToken(second.lease!.token)
      const waiting = runs.heartbeat({ runId: second.run!.id, leaseHash, waitMs: 15_000 }, 'holder')
      answer.resolve(await says('a')())
      await expect(waiting).rejects.toMatchObject({ code: 'superseded' })
      await runs.idle()
      expect(await states()).toEqual(['pending', 'superseded'])
    })

    it.each([
      ['names a head nobody has claimed', says('unheard of')],
      ['finds no pull request', () => Promise.resolve(null)],
      ['cannot be made', () => Promise.reject(new Error('no route'))],
    ])('that %s leaves the decision to the order of arrival', async (_what, look) => {
      const { runs, states } = await undecided(look)
      await runs.idle()
      expect(await states()).toEqual(['superseded', 'running'])
    })

    it('that fails is reported by catch-up, and repeated when GitHub answers', async () => {
      let isAway = true
      const { runs, name, states } = await undecided(() =>
        isAway ? Promise.reject(new GitHubNotAsked(gatewayError)) : says('a')(),
      )
      await runs.idle()
      const checks = new PendingHeadChecks({ store: world().store, runs })
      const pass = async () => {
        const notes = new CatchUpNotes(() => false)
        await checks.pass(notes)
        const what = `the head of ${name.toLowerCase()}#5`
        return notes.report().skipped.filter((skipped) => skipped.what === what).length
      }
      expect(await pass()).toBe(0)
      world().clock.move(minute)
      expect(await pass()).toBe(1)
      expect(await states()).toEqual(['superseded', 'running'])
      isAway = false
      world().clock.move(minute)
      expect(await pass()).toBe(0)
      expect(await states()).toEqual(['pending', 'superseded'])
    })

    it('that never ends delays neither a claim nor a completion', async () => {
      const { runs, second, states } = await undecided(() => new Promise(() => undefined))
      const leaseHash = hashLeaseToken(second.lease!.token)
      await runs.complete({ runId: second.run!.id, leaseHash, outcome: 'succeeded' }, 'holder')
      expect(await states()).toEqual(['superseded', 'succeeded'])
    })
  })

  describe('long-polls', () => {
    it('a worker that waits gets a run as soon as one is claimed', async () => {
      const runs = service()
      const type = unique('type')
      const waiting = runs.lease({ worker: 'w', types: [type], waitMs: 15_000 }, 'worker')
      const claimed = await runs.claim(request('a', { repo: repo(), type, lease: false }), 'test')
      expect((await waiting)?.run.id).toBe(claimed.run?.id)
    })

    it('a worker that waits gets a run that another process left pending', async () => {
      const type = unique('type')
      const waiting = service().lease({ worker: 'w', types: [type], waitMs: 15_000 }, 'worker')
      await service().claim(request('a', { repo: repo(), type, lease: false }), 'test')
      expect(await waiting).not.toBeNull()
    })

    it('a worker that waits gets the next run of a queue', async () => {
      const runs = service()
      const type = unique('type')
      const subject = unique('subject')
      const job = (key: string) => ({ kind: 'job', type, subject, key }) as const
      const first = await runs.claim(job(unique('key')), 'test')
      const second = await runs.claim(job(unique('key')), 'test')
      const waiting = runs.lease({ worker: 'w', types: [type], waitMs: 15_000 }, 'worker')
      const leaseHash = hashLeaseToken(first.lease!.token)
      await runs.complete({ runId: first.run!.id, leaseHash, outcome: 'failed' }, 'holder')
      expect((await waiting)?.run.id).toBe(second.run?.id)
    })

    it('a worker that does not wait, or waits too short, gets nothing', async () => {
      const runs = service()
      const types = [unique('type')]
      expect(await runs.lease({ worker: 'w', types }, 'worker')).toBeNull()
      expect(await runs.lease({ worker: 'w', types, waitMs: 20 }, 'worker')).toBeNull()
    })

    it('a caller that leased its own run keeps it for its next claim', async () => {
      const runs = service()
      const claim = request('a', { repo: repo(), lease: false })
      const runId = (await runs.claim(claim, 'test')).run!.id
      const one = { worker: 'a job', runId, isCaller: true }
      expect(await runs.lease(one, 'test')).toMatchObject({ run: { holder: 'caller' } })
      world().clock.move(leaseMs)
      expect(await world().store.runs.sweep(runId)).toBeNull()
      const again = await runs.claim({ ...claim, lease: true }, 'test')
      expect(again).toMatchObject({ reason: 'reclaimed', run: { attempt: 2 } })
    })

    it('a worker that left while it waited takes no run with it', async () => {
      const runs = service()
      const type = unique('type')
      const gone = new AbortController()
      const { signal } = gone
      const waiting = runs.lease({ worker: 'w', types: [type], waitMs: 15_000, signal }, 'worker')
      gone.abort()
      expect(await waiting).toBeNull()
      const claimed = await runs.claim(request('a', { repo: repo(), type, lease: false }), 'test')
      expect((await runs.get(claimed.run!.id)).state).toBe('pending')
    })

    it.each(['the same', 'another'])(
      'a waiting holder learns that %s process superseded its run',
      async (which) => {
        const runs = service()
        const name = repo()
        const held = await runs.claim(request('a', { repo: name, eventAt: at(1) }), 'test')
        const leaseHash = hashLeaseToken(held.lease!.token)
        const waiting = runs.heartbeat({ runId: held.run!.id, leaseHash, waitMs: 15_000 }, 'holder')
        const other = which === 'another' ? service() : runs
        await Promise.all([
          expect(waiting).rejects.toMatchObject({ code: 'superseded' }),
          other.claim(request('b', { repo: name, eventAt: at(2) }), 'test'),
        ])
      },
    )

    it('a waiting holder learns that its run was cancelled', async () => {
      const runs = service()
      const held = await runs.claim(request('a', { repo: repo() }), 'test')
      const leaseHash = hashLeaseToken(held.lease!.token)
      const waiting = runs.heartbeat({ runId: held.run!.id, leaseHash, waitMs: 15_000 }, 'holder')
      await Promise.all([
        expect(waiting).rejects.toMatchObject({ code: 'cancelled' }),
        runs.cancel(held.run!.id, 'person'),
      ])
    })

    it('a holder that left while it waited gets the answer for its unchanged run', async () => {
      const runs = service()
      const held = await runs.claim(request('a', { repo: repo() }), 'test')
      const gone = new AbortController()
      const leaseHash = hashLeaseToken(held.lease!.token)
      const waiting = runs.heartbeat(
        { runId: held.run!.id, leaseHash, waitMs: 15_000, signal: gone.signal },
        'holder',
      )
      gone.abort()
      expect((await waiting).fence).toBe(held.run?.fence)
    })
  })

  it('an unknown run is not found', async () => {
    await expect(service().get('run_unknown')).rejects.toMatchObject({ code: 'run_not_found' })
  })
}
