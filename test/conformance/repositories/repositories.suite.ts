/**
 * Goal: a repository is one repository through renames and reused names, whether events bring its
 * numeric id before or after claims by name alone.
 */
import { expect, it } from 'vitest'
import { completion, jobClaim, leaseRequest, policy, pullRequestClaim, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

let ids = 1000

export function repositories(open: OpenStore): void {
  const world = useWorld(open)
  const newId = () => ++ids

  function claim(repo: string, head: string, eventAt: number | null = null) {
    const made = pullRequestClaim({ repo, pr: 5, head }, { eventAt })
    return world().store.runs.claim(made, null)
  }

  const learn = (name: string, id: number) =>
    world().store.repositories.learn(name, id, 'now', 'test')

  it('a rename keeps the subject and does not run the same pair again', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const first = await claim(before, 'a', 1)
    await learn(after, id)
    const again = await claim(after, 'a', 1)
    expect(again).toMatchObject({ reason: 'duplicate', run: { id: first.run?.id } })
    expect(again.runKey).toBe(first.runKey)
    const next = await claim(after, 'b', 2)
    expect(next).toMatchObject({ reason: 'superseded-prior', supersededKeys: [first.runKey] })
    expect(next.run?.subjectId).toBe(first.run?.subjectId)
    expect(next.runKey).toContain(after)
  })

  it('the audit names the source of an id, a new name and a merge', async () => {
    const { store } = world()
    const [before, after, alone, id] = [
      unique('acme/a'),
      unique('acme/b'),
      unique('acme/c'),
      newId(),
    ]
    await store.repositories.learn(before, id, 'now', 'token:tok_1')
    await store.repositories.learn(after, id, 'now', 'github')
    await claim(alone, 'a')
    await store.repositories.learn(alone, id, 'now', 'publisher')
    const { items } = await store.audit.list({}, { limit: 1000, cursor: null })
    const names = [before, after, alone].map((name) => JSON.stringify(name))
    const rows = items.filter(({ type, data }) => {
      return (
        type.startsWith('repository.') && names.some((name) => JSON.stringify(data).includes(name))
      )
    })
    expect(rows.map(({ type, actor }) => [type, actor])).toEqual([
      ['repository.merged', 'publisher'],
      ['repository.renamed', 'publisher'],
      ['repository.renamed', 'github'],
      ['repository.identified', 'token:tok_1'],
    ])
  })

  it('the old name still means the renamed repository', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const first = await claim(before, 'a', 1)
    await learn(after, id)
    expect(await claim(before, 'a', 1)).toMatchObject({ run: { id: first.run?.id } })
  })

  it('an id that is learnt after the first claim fits that claim’s repository', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    const first = await claim(before, 'a', 1)
    await learn(before, id)
    await learn(after, id)
    expect(await claim(after, 'a', 1)).toMatchObject({ run: { id: first.run?.id } })
  })

  it('a name that another repository took is another repository', async () => {
    const [name, renamed, id] = [unique('acme/name'), unique('acme/moved'), newId()]
    await learn(name, id)
    const first = await claim(name, 'a', 1)
    await learn(renamed, id)
    await learn(name, newId())
    const other = await claim(name, 'b', 1)
    expect(other).toMatchObject({ reason: 'new', supersededKeys: [] })
    expect(other.run?.subjectId).not.toBe(first.run?.subjectId)
    expect(await claim(renamed, 'a', 1)).toMatchObject({ run: { id: first.run?.id } })
  })

  it('a name whose old owner was never renamed is taken over too', async () => {
    const name = unique('acme/name')
    await learn(name, newId())
    const first = await claim(name, 'a', 5)
    await learn(name, newId())
    const other = await claim(name, 'b', 1)
    expect(other).toMatchObject({ reason: 'new' })
    expect((await world().store.runs.get(first.run!.id))?.state).toBe('running')
  })

  it('claims by the new name from before the rename was known are kept', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const early = await claim(after, 'a', 1)
    await learn(after, id)
    expect(await claim(after, 'a', 1)).toMatchObject({
      reason: 'duplicate',
      run: { id: early.run?.id },
    })
    const next = await claim(before, 'b', 2)
    expect(next).toMatchObject({ supersededKeys: [early.runKey] })
  })

  it('two names that turn out to be one leave one active run', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const old = await claim(before, 'a', 1)
    const early = await claim(after, 'b', 2)
    await learn(after, id)
    const runs = await Promise.all([old, early].map(({ run }) => world().store.runs.get(run!.id)))
    const active = runs.filter((run) => run?.state === 'running')
    expect(active).toHaveLength(1)
    for (const run of runs.filter((each) => each?.state === 'superseded')) {
      const { items } = await world().store.audit.list(
        { runId: run!.id },
        { limit: 1, cursor: null },
      )
      expect(items[0]?.type).toBe('run.superseded')
    }
  })

  it('the head claimed last stays, although a worker leased the other one later', async () => {
    const { store } = world()
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const made = pullRequestClaim({ repo: after, pr: 5, head: 'a' }, { eventAt: null })
    const early = await store.runs.claim({ ...made, lease: null }, null)
    const last = await claim(before, 'b', 2)
    await store.runs.lease({ ...leaseRequest(), runId: early.run!.id }, null)
    await learn(after, id)
    const [subject] = await store.runs.subjectsOf(after, 5, id)
    expect(subject).toMatchObject({ currentRunId: last.run!.id, headSha: last.run!.headSha })
  })

  it('a head that was finished under the new name is not repeated after the merge', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    await claim(before, 'a', 1)
    const early = await claim(after, 'b', 2)
    await world().store.runs.complete(completion(early), null)
    await learn(after, id)
    const again = await claim(after, 'b', 2)
    expect(again.process).toBe(false)
  })

  it('the newest head can be claimed after the merge', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    await claim(before, 'a', 1)
    const early = await claim(after, 'b', 2)
    await learn(after, id)
    const again = await claim(after, 'b', 2)
    const run = await world().store.runs.get(early.run!.id)
    expect(again.process || run?.state === 'running').toBe(true)
  })

  it('a head that is active under both names continues once', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const first = await claim(before, 'a', 1)
    const second = await claim(after, 'a', 1)
    await learn(after, id)
    expect(await claim(after, 'a', 1)).toMatchObject({ process: false, reason: 'duplicate' })
    const states = await Promise.all(
      [first, second].map(async ({ run }) => (await world().store.runs.get(run!.id))?.state),
    )
    expect(states.toSorted()).toEqual(['running', 'superseded'])
  })

  it('a head active under one name stays with its holder, whichever was first', async () => {
    const { store } = world()
    for (const isFirst of [true, false]) {
      const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
      const waiting = () => {
        const made = pullRequestClaim({ repo: after, pr: 5, head: 'a' }, { eventAt: 1 })
        return store.runs.claim({ ...made, lease: null }, null)
      }
      await learn(before, id)
      const early = isFirst ? await claim(before, 'a', 1) : await waiting()
      const late = isFirst ? await waiting() : await claim(before, 'a', 1)
      const [held, queued] = isFirst ? [early, late] : [late, early]
      await learn(after, id)
      expect((await store.runs.get(queued.run!.id))?.state).toBe('superseded')
      expect(await claim(after, 'a', 1)).toMatchObject({ process: false, reason: 'duplicate' })
      expect(await store.runs.complete(completion(held), null)).toMatchObject({
        state: 'succeeded',
      })
    }
  })

  it('a head finished under one name and active under the other is finished', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    const working = await claim(before, 'a', 1)
    await world().store.runs.complete(completion(await claim(after, 'a', 1)), null)
    await learn(after, id)
    expect(await claim(before, 'a', 1)).toMatchObject({ process: false, reason: 'duplicate' })
    expect(await world().store.runs.get(working.run!.id)).toMatchObject({ state: 'superseded' })
  })

  it('a head finished under the new name, then started under the old, is finished', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    await world().store.runs.complete(completion(await claim(after, 'a', 1)), null)
    const working = await claim(before, 'a', 1)
    await learn(after, id)
    expect(await claim(after, 'a', 1)).toMatchObject({ process: false, reason: 'duplicate' })
    expect(await world().store.runs.get(working.run!.id)).toMatchObject({ state: 'superseded' })
  })

  it('heads that queue under both names become one queue with one first run', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    const queue = (repo: string, head: string, eventAt: number) =>
      world().store.runs.claim(
        pullRequestClaim(
          { repo, pr: 5, head },
          { eventAt, type: before, policy: { ...policy, onNewer: 'queue' } },
        ),
        null,
      )
    await learn(before, id)
    await queue(before, 'a', 1)
    await queue(after, 'b', 2)
    await learn(after, id)
    const { items } = await world().store.runs.list({ type: before }, { limit: 10, cursor: null })
    expect(items.map(({ state }) => state).toSorted()).toEqual(['pending', 'running'])
  })

  it('a queue that only the new name has continues with its holder after the merge', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    const type = unique('type')
    const job = (repo: string, key: string) =>
      world().store.runs.claim(jobClaim(`${before} ${key}`, 'docs', { type, repo }), null)
    await learn(before, id)
    await world().store.runs.complete(completion(await job(before, 'one')), null)
    const held = await job(after, 'two')
    await job(after, 'three')
    await learn(after, id)
    await world().store.runs.complete(completion(held), null)
    const next = await world().store.runs.lease(leaseRequest({ types: [type] }), null)
    expect(next?.run.key).toBe(`${before} three`)
  })

  it('a webhook decided on under the new name is still known after the merge', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    const claimWebhook = (repo: string) =>
      world().store.runs.claim(
        pullRequestClaim({ repo, pr: 5, head: 'a' }, { webhookId: before }),
        null,
      )
    await learn(before, id)
    await claim(before, 'z')
    await world().store.runs.complete(completion(await claimWebhook(after), 'failed'), null)
    await learn(after, id)
    expect(await claimWebhook(after)).toMatchObject({ process: false, reason: 'duplicate' })
  })

  it('jobs queued under both names are one queue after the merge', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    const type = unique('type')
    const job = (repo: string, key: string) =>
      world().store.runs.claim(jobClaim(`${before} ${key}`, 'docs', { type, repo }), null)
    await learn(before, id)
    await job(before, 'one')
    await job(before, 'two')
    await job(after, 'three')
    await job(after, 'four')
    await learn(after, id)
    expect(await job(after, 'three')).toMatchObject({ reason: 'duplicate' })
    const { items } = await world().store.runs.list({ type }, { limit: 10, cursor: null })
    expect(items.filter((run) => run.state === 'running')).toHaveLength(1)
    expect(new Set(items.map(({ subjectId }) => subjectId)).size).toBe(1)
    const [running] = items.filter((run) => run.state === 'running')
    expect(running?.key).toBe(`${before} one`)
  })

  it('a merge has its audit row', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    await claim(before, 'a', 1)
    await claim(after, 'b', 2)
    await learn(after, id)
    const filter = { type: 'repository.merged' }
    const { items } = await world().store.audit.list(filter, { limit: 1, cursor: null })
    expect(items[0]).toMatchObject({ actor: 'test', runId: null })
  })

  it('a name that was given away causes no conflict with earlier work under it', async () => {
    const { store } = world()
    const name = unique('acme/given')
    const [first, second] = [newId(), newId()]
    const [pullRequest, push] = [
      new TestSubject(world()),
      new TestSubject(world(), { kind: 'job' }),
    ]
    const ofBoth = async (repoId: number) => {
      await store.repositories.learn(name, repoId, 'now', 'test')
      const key = `${name}:pr-5:${pullRequest.claimOf('a').pair}`
      const pr = await pullRequest.claim('a', { repo: name, repoId, key })
      const job = await push.claim('b', { repo: name, repoId, key: `${name}:push:b` })
      return [pr, job]
    }
    const done = await ofBoth(first)
    for (const held of done) await pullRequest.complete(held)
    const others = await ofBoth(second)
    expect(others.map(({ reason }) => reason)).toEqual(['new', 'new'])
    expect(others.map(({ runKey }) => runKey)).toEqual(done.map(({ runKey }) => runKey))
    const { items } = await store.runs.list({ repo: name }, { limit: 10, cursor: null })
    const ids = [...others].map(({ run }) => run?.id).toSorted()
    expect(items.map(({ id }) => id).toSorted()).toEqual(ids)
  })

  it('a job’s key still belongs to one subject of its repository', async () => {
    const subject = new TestSubject(world(), { kind: 'job' })
    const key = unique('key')
    await subject.claim('a', { key, repo: subject.repo })
    const elsewhere = subject.claim('a', { key, repo: subject.repo, subjectName: unique('other') })
    await expect(elsewhere).rejects.toMatchObject({ code: 'key_conflict' })
    const other = subject.claim('a', { key, repo: unique('acme/other'), subjectName: unique('s') })
    await expect(other).rejects.toMatchObject({ code: 'key_conflict' })
  })

  it('runs of a head are listed by every name that its repository still has', async () => {
    const { store } = world()
    const subject = new TestSubject(world())
    const id = newId()
    await store.repositories.learn(subject.repo, id, 'now', 'test')
    const { run } = await subject.claim('a', { repoId: id })
    const renamed = unique('acme/renamed')
    await store.repositories.learn(renamed, id, 'now', 'test')
    const byHead = async (repo: string) => {
      const of = { repo, headSha: run!.headSha! }
      return (await store.runs.list(of, { limit: 10, cursor: null })).items.map((found) => found.id)
    }
    const byName = async (repo: string) =>
      (await store.runs.list({ repo }, { limit: 10, cursor: null })).items.map((found) => found.id)
    for (const repo of [subject.repo, renamed]) {
      expect([await byHead(repo), await byName(repo)]).toEqual([[run!.id], [run!.id]])
    }
    await store.repositories.learn(subject.repo, newId(), 'now', 'test')
    expect([await byHead(subject.repo), await byName(subject.repo)]).toEqual([[], []])
    expect(await byHead(renamed)).toEqual([run!.id])
  })

  it('runs that were moved with their subject are listed under its repository', async () => {
    const { store } = world()
    const subject = new TestSubject(world())
    const [id, renamed] = [newId(), unique('acme/renamed')]
    await store.repositories.learn(subject.repo, id, 'now', 'test')
    const { run } = await subject.claim('a', { repo: renamed })
    await store.repositories.learn(renamed, id, 'now', 'test')
    const { items } = await store.runs.list({ repo: subject.repo }, { limit: 10, cursor: null })
    expect(items.map((found) => found.id)).toEqual([run!.id])
  })

  it('a run that is moved with its subject counts as changed', async () => {
    const { store } = world()
    const subject = new TestSubject(world())
    const [id, renamed] = [newId(), unique('acme/renamed')]
    await store.repositories.learn(subject.repo, id, 'now', 'test')
    const { run } = await subject.claim('a', { repo: renamed })
    await store.repositories.learn(renamed, id, 'now', 'test')
    // A heartbeat reads the run without a lock and must not write back the old row.
    expect((await store.runs.get(run!.id))!.rev).toBeGreaterThan(run!.rev)
  })

  it('runs of a pull request are listed by any of its repository’s names', async () => {
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), newId()]
    await learn(before, id)
    await claim(before, 'a', 1)
    await learn(after, id)
    world().clock.move(1)
    await claim(after, 'b', 2)
    for (const repo of [before, after]) {
      const { items } = await world().store.runs.list({ repo, pr: 5 }, { limit: 10, cursor: null })
      expect(items).toHaveLength(2)
    }
  })
}
