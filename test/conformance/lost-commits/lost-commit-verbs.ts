/**
 * Every verb of the store that writes, each with what must exist before it. `ask` wraps the one
 * call whose COMMIT is lost. After a comma, a name says which case of the verb it is.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import type { IdempotencyKey, Store } from '../../../src/store.ts'
import { unannounced, type Run } from '../../../src/domain/run.ts'
import { completion, holderOf, leaseRequest, policy, pullRequestClaim } from '../claims.ts'
import { announced, ManualPublisher, sentEnd } from '../outbox/manual-publisher.ts'
import { stepVerbs } from './lost-commit-steps.ts'
import type { Scenario } from './verb-outcome.ts'
import { claiming, decided, newWebhook, received } from '../inbox/webhooks.ts'

type Scenarios = Readonly<Record<string, Scenario>>

let pulls = 0
/** A pull request that no other case uses. */
const nextPull = (): number => ++pulls

const claimAt = (pr: number, head = 'a', shown = false) =>
  pullRequestClaim(
    // Two pull requests with one head would share its status.
    { repo: 'acme/widgets', pr, head: `${head} of ${pr}` },
    { policy: { ...policy, announcement: shown ? announced : unannounced } },
  )

const pending = async (store: Store, type = 'review') => {
  const claim = { ...claimAt(nextPull()), type, lease: null }
  return await store.runs.claim(claim, null)
}

/** Two heads of the same second, so that GitHub must be asked which one is the newest. */
async function undecidedRun(store: Store): Promise<Run> {
  const pr = nextPull()
  await store.runs.claim({ ...claimAt(pr, 'a'), eventAt: 5000 }, null)
  const { run, unclear } = await store.runs.claim({ ...claimAt(pr, 'b'), eventAt: 5000 }, null)
  if (run === null || !unclear) throw new Error('GitHub does not have to be asked about this head')
  return run
}

/**
 * Creates a repository that was never checked, and returns its id on GitHub. The ids decrease, so
 * that it comes before all others that were used at the same moment.
 */
async function usedRepository(store: Store): Promise<number> {
  const repoId = 2_000_000 - nextPull()
  const names = { repo: `acme/used-${repoId}`, pr: nextPull(), head: 'a' }
  await store.repositories.learn(names.repo, repoId, 'now', 'test')
  await store.runs.claim(pullRequestClaim(names, { repoId }), null)
  return repoId
}

const idempotencyKey = (key: string): IdempotencyKey => ({
  keyHash: `${key} ${nextPull()}`,
  bodyHash: 'body',
  seal: (text) => text,
  open: (sealed) => sealed,
})

const catchUpVerbs: Scenarios = {
  'catchUp.noteLooked': async (store, ask) => {
    await usedRepository(store)
    const used = await usedRepository(store)
    const isLast = async () =>
      (await store.catchUp.repositoriesInUse(0, 1000)).items.at(-1)?.githubId === used
    const before = await isLast()
    await ask(() => store.catchUp.noteLooked(used))
    return [before, await isLast()]
  },
  'catchUp.noteQuietLooked': async (store, ask) => {
    const githubId = await usedRepository(store)
    const since = store.now() + 1
    const isQuiet = async () => {
      const { items } = await store.catchUp.quietRepositories(since, 1000)
      return items.find((item) => item.githubId === githubId)
    }
    const quiet = (await isQuiet())!
    await ask(() => store.catchUp.noteQuietLooked(quiet))
    return (await isQuiet()) === undefined
  },
  'catchUp.noteDeliveriesRead': async (store, ask) => {
    const before = await store.catchUp.deliveriesRead()
    await ask(() => store.catchUp.noteDeliveriesRead({ to: 5, gap: null }))
    return [before, await store.catchUp.deliveriesRead()]
  },
  'catchUp.takeHeadCheck': async (store, ask, query) => {
    const { id, fence } = await undecidedRun(store)
    await query('UPDATE head_check SET due_at = 0')
    const taken = await ask(() => store.catchUp.takeHeadCheck())
    const next = await store.catchUp.takeHeadCheck()
    await store.catchUp.forgetHeadCheck(id, fence)
    return [taken?.run?.id === id, taken?.givenUp, next]
  },
  'catchUp.forgetHeadCheck': async (store, ask) => {
    const { id, fence } = await undecidedRun(store)
    const waiting = async () => (await store.catchUp.backlog()).headChecks.count
    const before = await waiting()
    await ask(() => store.catchUp.forgetHeadCheck(id, fence))
    return [before, await waiting()]
  },
}

const otherVerbs: Scenarios = {
  'runs.claim': (store, ask) => ask(() => store.runs.claim(claimAt(nextPull()), null)),
  'runs.claim, superseding': async (store, ask) => {
    const pr = nextPull()
    await store.runs.claim(claimAt(pr, 'a'), null)
    const answer = await ask(() => store.runs.claim(claimAt(pr, 'b'), null))
    return [answer.reason, answer.supersededKeys.length, answer.lease !== null]
  },
  'runs.claim, once': (store, ask) =>
    ask(() => store.runs.claim(claimAt(nextPull()), idempotencyKey('claim'))),
  'runs.confirmHead': async (store, ask) => {
    const { run } = await store.runs.claim(claimAt(nextPull()), null)
    const seen = { headSha: run!.headSha!, baseSha: run!.baseSha!, at: 5 }
    const settled = { runId: run!.id, fence: run!.fence, ...seen }
    return await ask(() => store.runs.confirmHead({ ...settled, actor: 'test' }))
  },
  'runs.lease': async (store, ask) => {
    await pending(store, 'leased')
    return await ask(() => store.runs.lease(leaseRequest({ types: ['leased'] }), null))
  },
  'runs.heartbeat': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    const until = async () => (await store.runs.get(held.run!.id))?.leaseExpiresAt ?? 0
    const before = await until()
    const renewal = { ...holderOf(held), leaseMs: 10 * 60_000 }
    const answer = await ask(() => store.runs.heartbeat(renewal, null))
    return [answer, (await until()) - before > 5 * 60_000]
  },
  'runs.release': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    return await ask(() => store.runs.release(holderOf(held), null))
  },
  'runs.complete': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    return await ask(() => store.runs.complete(completion(held), null))
  },
  'runs.reportStatus': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    const report = { ...holderOf(held), text: 'half way' }
    return await ask(() => store.runs.reportStatus(report, null))
  },
  'runs.cancel': async (store, ask) => {
    const { run } = await pending(store)
    return await ask(() => store.runs.cancel(run!.id, 'operator', null))
  },
  'runs.cancelPending': async (store, ask) => {
    const { run } = await pending(store)
    return await ask(() => store.runs.cancelPending(run!.id, 'exec'))
  },
  'runs.rerun': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    await store.runs.complete(completion(held), null)
    return await ask(() => store.runs.rerun(held.run!.id, 'operator', null))
  },
  'inbox.receive': async (store, ask) => {
    const webhook = newWebhook({ webhookId: `guid ${nextPull()}`, lane: `lane ${nextPull()}` })
    return (await ask(() => store.inbox.receive(webhook))).arrived
  },
  'inbox.finish': async (store, ask) => {
    const entry = await received(store)
    const acts = [claiming(claimAt(nextPull()))]
    const answer = await ask(() => store.inbox.finish(decided(entry, ...acts)))
    return { result: answer.result, reasons: answer.claims.map(({ reason }) => reason) }
  },
  'inbox.postpone': async (store, ask) => {
    const entry = await received(store)
    await ask(() => store.inbox.postpone(entry.id, store.now() + 5, 'why'))
  },
  'inbox.replay': async (store, ask) => {
    const entry = await received(store)
    await store.inbox.finish(decided(entry))
    return (await ask(() => store.inbox.replay(entry.id, 'operator', null))).state
  },
  'runs.sweep': async (store, ask) => {
    const claim = claimAt(nextPull())
    const quick = { ...claim, lease: null, policy: { ...policy, pendingTimeoutMs: 0 } }
    const { run } = await store.runs.claim(quick, null)
    return await ask(() => store.runs.sweep(run!.id))
  },
  'upkeep.beat': async (store, ask) => {
    const before = await store.upkeep.servedAt()
    await ask(() => store.upkeep.beat())
    return [before, typeof (await store.upkeep.servedAt())]
  },
  'upkeep.purge': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    await store.runs.complete(completion(held), null)
    const limits = { finishedMs: -1000, supersededMs: 1e9, auditMs: 1e9, eventMs: 1e9 }
    return (await ask(() => store.upkeep.purge(limits, 'operator'))).more
  },
  'audit.number': async (store, ask, query) => {
    await pending(store)
    // The test reads the table itself, because a read of the audit would number the row.
    const waiting = async () => (await query('SELECT id FROM audit WHERE seq IS NULL')).length > 0
    const before = await waiting()
    await ask(() => store.audit.number())
    return [before, await waiting()]
  },
  'tokens.create': (store, ask) => {
    const token = { scope: 'worker', name: 'a', userId: null, secret: 'secret', actor: 'admin' }
    return ask(() => store.tokens.create(token, null))
  },
  'tokens.revoke': async (store, ask) => {
    const token = { scope: 'worker', name: 'b', userId: null, secret: 'secret', actor: 'admin' }
    const { id } = (await store.tokens.create(token, null)).token
    await ask(() => store.tokens.revoke(id, 'admin'))
    return await store.tokens.get(id)
  },
  'tokens.touch': async (store, ask) => {
    const token = { scope: 'worker', name: 'c', userId: null, secret: 'secret', actor: 'admin' }
    const { id } = (await store.tokens.create(token, null)).token
    await ask(() => store.tokens.touch(id))
    return (await store.tokens.get(id))?.lastUsedAt !== null
  },
  'tokens.noteRefusals': (store, ask) =>
    ask(() => store.tokens.noteRefusals([{ address: '192.0.2.1', what: 'token', count: 3 }])),
  'repositories.learn': (store, ask) =>
    ask(() =>
      store.repositories.learn(`acme/repo-${nextPull()}`, 1_000_000 + nextPull(), 'now', 'test'),
    ),
  'repositories.learnUnverified': (store, ask) =>
    ask(() =>
      store.repositories.learnUnverified(
        `acme/repo-${nextPull()}`,
        1_000_000 + nextPull(),
        null,
        'test',
      ),
    ),
  'upkeep.storeId': async (store, ask) => {
    const id = await ask(() => store.upkeep.storeId())
    return [id.length, id === (await store.upkeep.storeId())]
  },
  'upkeep.recordMode': async (store, ask) => {
    const before = await store.upkeep.firstStartedAt()
    const mode = await ask(() => store.upkeep.recordMode('live'))
    return [before, mode, typeof (await store.upkeep.firstStartedAt())]
  },
}

/** One delivery that is due and not leased. */
async function oneDue(store: Store): Promise<{ publisher: ManualPublisher; runId: string }> {
  const publisher = new ManualPublisher({ store })
  await publisher.publish()
  const { run } = await store.runs.claim(claimAt(nextPull(), 'a', true), null)
  return { publisher, runId: run!.id }
}

const outboxVerbs: Scenarios = {
  'outbox.lease': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await ask(() => publisher.lease())
    for (const one of leased) await publisher.send(one)
    // Both are due at the same time, in no defined order.
    return leased.map(({ delivery }) => delivery.name).toSorted()
  },
  'outbox.beginAttempt': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await publisher.leaseNamed('status')
    const begun = await ask(() => publisher.begin(leased))
    const attempts = await store.outbox.attemptsOf(leased.delivery.id)
    const [budget] = await store.outbox.budgets()
    return [begun.result, attempts.length, budget?.seconds.length !== 0]
  },
  'outbox.endAttempt': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await publisher.leaseNamed('status')
    const attempt = await publisher.begun(leased)
    const answer = await ask(() => publisher.end(leased, attempt, sentEnd()))
    const { status, protocol } = (await store.outbox.delivery(leased.delivery.id))!
    return [answer, status, protocol.unsettled]
  },
  'outbox.record': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await publisher.leaseNamed('status')
    const finding = { what: 'budget', until: store.now() + 1, queue: null } as const
    const answer = await ask(() => store.outbox.record(leased.lease, finding))
    return [answer, (await store.outbox.delivery(leased.delivery.id))?.wait]
  },
  'outbox.notePreparation': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await publisher.leaseNamed('status')
    const answer = await ask(() => store.outbox.notePreparation(leased.lease, 'begins'))
    const { protocol } = (await store.outbox.delivery(leased.delivery.id))!
    return [answer, protocol.preparations]
  },
  'outbox.takeOverLeases': async (store, ask) => {
    const { publisher } = await oneDue(store)
    const leased = await publisher.lease()
    const taken = await ask(() => store.outbox.takeOverLeases())
    return [leased.length, taken, (await publisher.lease()).length]
  },
  'outbox.blockIdentity': async (store, ask) => {
    await ask(() => store.outbox.blockIdentity('somebody', store.now() + 5, 'limit', 'publisher'))
  },
  'outbox.refuseIdentity': async (store, ask) =>
    (await ask(() => store.outbox.refuseIdentity('nobody', 'unauthorized'))) > store.now(),
  'outbox.unblock': async (store, ask) => {
    await store.outbox.blockIdentity('somebody else', store.now() + 60_000, 'limit', 'publisher')
    const freed = await ask(() => store.outbox.unblock('somebody else', 'operator', null))
    return freed.blockedUntil
  },
  'outbox.publish': async (store, ask) => {
    const held = await store.runs.claim(claimAt(nextPull()), null)
    const { runId, leaseHash, actor } = holderOf(held)
    const content = { content: { body: 'hello' }, rightsOf: () => allRights }
    const output = { runId, leaseHash, actor, name: 'note', channel: 'github-comment' } as const
    const { already } = await ask(() => store.outbox.publish({ ...output, ...content }, null))
    const { items } = await store.outbox.list({ runId }, { limit: 10, cursor: null })
    return [already, items.map(({ name }) => name)]
  },
  'outbox.send': async (store, ask) => {
    const message = { channel: 'letters', address: 'ann', key: `note ${nextPull()}` }
    const { already } = await ask(() => store.outbox.send({ ...message, content: {} }))
    const { items } = await store.outbox.list({ channel: 'letters' }, { limit: 100, cursor: null })
    return [already, items.filter(({ name }) => name === message.key).length]
  },
  'outbox.retry': async (store, ask) => {
    const delivery = await failed(store)
    return (await ask(() => store.outbox.retry(delivery, 'operator', null))).status
  },
  'outbox.retryMany': async (store, ask) => {
    const { publisher, runId } = await oneDue(store)
    const { id } = await publisher.named(runId, 'status')
    await store.outbox.skip(id, 'not wanted', 'operator', null)
    const filter = { status: 'SKIPPED', runId } as const
    return await ask(() => store.outbox.retryMany(filter, 'operator', null))
  },
  'outbox.skip': async (store, ask) => {
    const { publisher, runId } = await oneDue(store)
    const { id } = await publisher.named(runId, 'status')
    return (await ask(() => store.outbox.skip(id, 'not wanted', 'operator', null))).status
  },
  'outbox.confirm': async (store, ask) => {
    const { publisher, runId } = await oneDue(store)
    const { id } = await publisher.named(runId, 'status')
    return (await ask(() => store.outbox.confirm(id, '7', 'operator', null))).status
  },
  'outbox.markerKeys': async (store, ask) => {
    const ids = (keys: readonly { readonly id: string }[]) => keys.map(({ id }) => id).join(' ')
    const answered = ids(await ask(() => store.outbox.markerKeys()))
    return answered === ids(await store.outbox.markerKeys())
  },
  'outbox.rotateMarkerKey': async (store, ask) =>
    (await ask(() => store.outbox.rotateMarkerKey('operator'))).length,
  'outbox.exportMarkerKeys': async (store, ask) =>
    (await ask(() => store.outbox.exportMarkerKeys('operator'))).length,
  'outbox.importMarkerKeys': async (store, ask) => {
    const key = { id: `key${nextPull()}`, secret: 'imported', createdAt: 5 }
    return (await ask(() => store.outbox.importMarkerKeys([key], 'operator'))).added.length
  },
  'outbox.learnAuthor': async (store, ask) => {
    const author = { kind: 'user', githubId: nextPull() } as const
    await ask(() => store.outbox.learnAuthor(author))
    return (await store.outbox.authors()).filter(({ githubId }) => githubId === author.githubId)
  },
  'outbox.closeForgotten': async (store, ask, query) => {
    const { publisher, runId } = await oneDue(store)
    await publisher.publish()
    await query(`UPDATE run SET state = 'failed', outcome = 'failed', finished_at = 1
      WHERE id = '${runId}'`)
    const found = await ask(() => store.outbox.closeForgotten(100))
    return [found, (await publisher.named(runId, 'status')).announces]
  },
  // The last case that publishes, because after it Holdfast reads again what it has shown.
  'outbox.noteRestore': async (store, ask) => {
    const { publisher, runId } = await oneDue(store)
    await ask(() => store.outbox.noteRestore())
    return (await publisher.named(runId, 'status')).wait
  },
  'outbox.closeRemaining': async (store, ask, change) => {
    const held = await store.runs.claim(claimAt(nextPull(), 'a', true), null)
    await store.runs.complete(completion(held), null)
    const row = `VALUES ('${held.run?.id}', '')`
    await change(`INSERT INTO unclosed_run (run_id, closed_to) ${row}`)
    return [
      await ask(() => store.outbox.closeRemaining()),
      await store.outbox.closeRemaining(),
    ].join()
  },
}

async function failed(store: Store): Promise<string> {
  const { publisher, runId } = await oneDue(store)
  const { id } = await publisher.named(runId, 'status')
  await store.outbox.skip(id, 'not wanted', 'operator', null)
  return id
}

/** The outbox comes first, because its first marker key must not exist yet. */
export const allScenarios: readonly [string, Scenario][] = Object.entries({
  ...outboxVerbs,
  ...catchUpVerbs,
  ...otherVerbs,
  ...stepVerbs,
})
