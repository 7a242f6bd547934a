/**
 * Every verb of the store that writes, each with what must be there before it: `ask` is called
 * around the one call whose COMMIT is lost. A name may have a case behind its comma.
 */
import { allRights } from '../../src/channels/github-channels.ts'
import type { Once, Store } from '../../src/store.ts'
import { unannounced, type Run } from '../../src/domain/run.ts'
import { completion, holderOf, leaseRequest, policy, pullRequestClaim } from './claims.ts'
import { announced, OutboxHand, sentEnd } from './outbox-hand.ts'
import type { Scenario } from './verb-outcome.ts'
import { claiming, decided, newWebhook, received } from './webhooks.ts'

type Scenarios = Readonly<Record<string, Scenario>>

let pulls = 0
/** A pull request nobody else uses. */
const nextPull = (): number => ++pulls

const claimAt = (pr: number, head = 'a', shown = false) =>
  pullRequestClaim(
    // Two pull requests with one head would share its status.
    { repo: 'acme/widgets', pr, head: `${head} of ${pr}` },
    { policy: { ...policy, announcement: shown ? announced : unannounced } },
  )

const pending = async (store: Store, type = 'review') => {
  const claim = { ...claimAt(nextPull()), type, lease: null }
  return await store.claimRun(claim, null)
}

/** Two heads of one second: which one is the head has to be asked. */
async function undecidedRun(store: Store): Promise<Run> {
  const pr = nextPull()
  await store.claimRun({ ...claimAt(pr, 'a'), eventAt: 5000 }, null)
  const { run, unclear } = await store.claimRun({ ...claimAt(pr, 'b'), eventAt: 5000 }, null)
  if (run === null || !unclear) throw new Error('GitHub does not have to be asked about this head')
  return run
}

/** Its number on GitHub. Nobody has looked at it, and it is before all others of this moment. */
async function usedRepository(store: Store): Promise<number> {
  const repoId = 2_000_000 - nextPull()
  const names = { repo: `acme/used-${repoId}`, pr: nextPull(), head: 'a' }
  await store.learnRepository(names.repo, repoId, 'now', 'test')
  await store.claimRun(pullRequestClaim(names, { repoId }), null)
  return repoId
}

const once = (key: string): Once => ({
  keyHash: `${key} ${nextPull()}`,
  bodyHash: 'body',
  seal: (text) => text,
  open: (sealed) => sealed,
})

const catchUpVerbs: Scenarios = {
  noteLooked: async (store, ask) => {
    await usedRepository(store)
    const used = await usedRepository(store)
    const isLast = async () =>
      (await store.catchUp.repositoriesInUse(0, 1000)).items.at(-1)?.githubId === used
    const before = await isLast()
    await ask(() => store.catchUp.noteLooked(used))
    return [before, await isLast()]
  },
  noteQuietLooked: async (store, ask) => {
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
  noteDeliveriesRead: async (store, ask) => {
    const before = await store.catchUp.deliveriesRead()
    await ask(() => store.catchUp.noteDeliveriesRead({ to: 5, gap: null }))
    return [before, await store.catchUp.deliveriesRead()]
  },
  takeHeadCheck: async (store, ask, query) => {
    const { id, fence } = await undecidedRun(store)
    await query('UPDATE head_check SET due_at = 0')
    const taken = await ask(() => store.catchUp.takeHeadCheck())
    const next = await store.catchUp.takeHeadCheck()
    await store.catchUp.forgetHeadCheck(id, fence)
    return [taken?.run?.id === id, taken?.givenUp, next]
  },
  forgetHeadCheck: async (store, ask) => {
    const { id, fence } = await undecidedRun(store)
    const waiting = async () => (await store.catchUp.backlog()).headChecks.count
    const before = await waiting()
    await ask(() => store.catchUp.forgetHeadCheck(id, fence))
    return [before, await waiting()]
  },
}

const runVerbs: Scenarios = {
  claimRun: (store, ask) => ask(() => store.claimRun(claimAt(nextPull()), null)),
  'claimRun, superseding': async (store, ask) => {
    const pr = nextPull()
    await store.claimRun(claimAt(pr, 'a'), null)
    const answer = await ask(() => store.claimRun(claimAt(pr, 'b'), null))
    return [answer.reason, answer.supersededKeys.length, answer.lease !== null]
  },
  'claimRun, once': (store, ask) => ask(() => store.claimRun(claimAt(nextPull()), once('claim'))),
  settleHead: async (store, ask) => {
    const { run } = await store.claimRun(claimAt(nextPull()), null)
    const seen = { headSha: run!.headSha!, baseSha: run!.baseSha!, at: 5 }
    const settled = { runId: run!.id, fence: run!.fence, ...seen }
    return await ask(() => store.settleHead({ ...settled, actor: 'test' }))
  },
  leaseRun: async (store, ask) => {
    await pending(store, 'leased')
    return await ask(() => store.leaseRun(leaseRequest({ types: ['leased'] }), null))
  },
  heartbeatRun: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    const until = async () => (await store.run(held.run!.id))?.leaseExpiresAt ?? 0
    const before = await until()
    const renewal = { ...holderOf(held), leaseMs: 10 * 60_000 }
    const answer = await ask(() => store.heartbeatRun(renewal, null))
    return [answer, (await until()) - before > 5 * 60_000]
  },
  releaseRun: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    return await ask(() => store.releaseRun(holderOf(held), null))
  },
  completeRun: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    return await ask(() => store.completeRun(completion(held), null))
  },
  reportStatus: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    const report = { ...holderOf(held), text: 'half way' }
    return await ask(() => store.reportStatus(report, null))
  },
  cancelRun: async (store, ask) => {
    const { run } = await pending(store)
    return await ask(() => store.cancelRun(run!.id, 'operator', null))
  },
  rerunRun: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    await store.completeRun(completion(held), null)
    return await ask(() => store.rerunRun(held.run!.id, 'operator', null))
  },
  receiveWebhook: async (store, ask) => {
    const webhook = newWebhook({ webhookId: `guid ${nextPull()}`, lane: `lane ${nextPull()}` })
    return (await ask(() => store.receiveWebhook(webhook))).arrived
  },
  settleWebhook: async (store, ask) => {
    const entry = await received(store)
    const acts = [claiming(claimAt(nextPull()))]
    const answer = await ask(() => store.settleWebhook(decided(entry, ...acts)))
    return { result: answer.result, reasons: answer.claims.map(({ reason }) => reason) }
  },
  postponeWebhook: async (store, ask) => {
    const entry = await received(store)
    await ask(() => store.postponeWebhook(entry.id, store.now() + 5, 'why'))
  },
  replayWebhook: async (store, ask) => {
    const entry = await received(store)
    await store.settleWebhook(decided(entry))
    return (await ask(() => store.replayWebhook(entry.id, 'operator', null))).state
  },
  sweepRun: async (store, ask) => {
    const claim = claimAt(nextPull())
    const quick = { ...claim, lease: null, policy: { ...policy, pendingTimeoutMs: 0 } }
    const { run } = await store.claimRun(quick, null)
    return await ask(() => store.sweepRun(run!.id))
  },
  beat: async (store, ask) => {
    const before = await store.servedAt()
    await ask(() => store.beat())
    return [before, typeof (await store.servedAt())]
  },
  purge: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    await store.completeRun(completion(held), null)
    const limits = { finishedMs: -1000, supersededMs: 1e9, auditMs: 1e9, eventMs: 1e9 }
    return (await ask(() => store.purge(limits, 'operator'))).more
  },
  placeAudits: async (store, ask, query) => {
    await pending(store)
    // Readers of the audit would place it themselves.
    const waiting = async () => (await query('SELECT id FROM audit WHERE seq IS NULL')).length > 0
    const before = await waiting()
    await ask(() => store.placeAudits())
    return [before, await waiting()]
  },
  createToken: (store, ask) => {
    const token = { scope: 'worker', name: 'a', userId: null, secret: 'secret', actor: 'admin' }
    return ask(() => store.createToken(token, null))
  },
  deleteToken: async (store, ask) => {
    const token = { scope: 'worker', name: 'b', userId: null, secret: 'secret', actor: 'admin' }
    const { id } = (await store.createToken(token, null)).token
    await ask(() => store.deleteToken(id, 'admin'))
    return await store.token(id)
  },
  touchToken: async (store, ask) => {
    const token = { scope: 'worker', name: 'c', userId: null, secret: 'secret', actor: 'admin' }
    const { id } = (await store.createToken(token, null)).token
    await ask(() => store.touchToken(id))
    return (await store.token(id))?.lastUsedAt !== null
  },
  noteRefusals: (store, ask) =>
    ask(() => store.noteRefusals([{ address: '192.0.2.1', what: 'token', count: 3 }])),
  learnRepository: (store, ask) =>
    ask(() =>
      store.learnRepository(`acme/repo-${nextPull()}`, 1_000_000 + nextPull(), 'now', 'test'),
    ),
  tellRepository: (store, ask) =>
    ask(() =>
      store.tellRepository(`acme/repo-${nextPull()}`, 1_000_000 + nextPull(), null, 'test'),
    ),
  recordMode: async (store, ask) => {
    const before = await store.firstStartedAt()
    const mode = await ask(() => store.recordMode('live'))
    return [before, mode, typeof (await store.firstStartedAt())]
  },
}

/** One delivery that is due and nobody's. */
async function oneDue(store: Store): Promise<{ hand: OutboxHand; runId: string }> {
  const hand = new OutboxHand({ store })
  await hand.publish()
  const { run } = await store.claimRun(claimAt(nextPull(), 'a', true), null)
  return { hand, runId: run!.id }
}

const outboxVerbs: Scenarios = {
  lease: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await ask(() => hand.lease())
    for (const one of leased) await hand.send(one)
    // Both are due at once, and which one comes first is nobody's promise.
    return leased.map(({ delivery }) => delivery.name).toSorted()
  },
  beginAttempt: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await hand.leaseNamed('status')
    const begun = await ask(() => hand.begin(leased))
    const attempts = await store.outbox.attemptsOf(leased.delivery.id)
    const [budget] = await store.outbox.budgets()
    return [begun.result, attempts.length, budget?.seconds.length !== 0]
  },
  endAttempt: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await hand.leaseNamed('status')
    const attempt = await hand.begun(leased)
    const answer = await ask(() => hand.end(leased, attempt, sentEnd()))
    const { status, protocol } = (await store.outbox.delivery(leased.delivery.id))!
    return [answer, status, protocol.unsettled]
  },
  record: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await hand.leaseNamed('status')
    const finding = { what: 'budget', until: store.now() + 1, queue: null } as const
    const answer = await ask(() => store.outbox.record(leased.hold, finding))
    return [answer, (await store.outbox.delivery(leased.delivery.id))?.wait]
  },
  notePreparation: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await hand.leaseNamed('status')
    const answer = await ask(() => store.outbox.notePreparation(leased.hold, 'begins'))
    const { protocol } = (await store.outbox.delivery(leased.delivery.id))!
    return [answer, protocol.preparations]
  },
  takeOverLeases: async (store, ask) => {
    const { hand } = await oneDue(store)
    const leased = await hand.lease()
    const taken = await ask(() => store.outbox.takeOverLeases())
    return [leased.length, taken, (await hand.lease()).length]
  },
  blockIdentity: async (store, ask) => {
    await ask(() => store.outbox.blockIdentity('somebody', store.now() + 5, 'limit', 'publisher'))
  },
  refuseIdentity: async (store, ask) =>
    (await ask(() => store.outbox.refuseIdentity('nobody', 'unauthorized'))) > store.now(),
  unblock: async (store, ask) => {
    await store.outbox.blockIdentity('somebody else', store.now() + 60_000, 'limit', 'publisher')
    const freed = await ask(() => store.outbox.unblock('somebody else', 'operator', null))
    return freed.blockedUntil
  },
  publish: async (store, ask) => {
    const held = await store.claimRun(claimAt(nextPull()), null)
    const { runId, leaseHash, actor } = holderOf(held)
    const said = { content: { body: 'hello' }, rightsOf: () => allRights }
    const output = { runId, leaseHash, actor, name: 'note', channel: 'github-comment' } as const
    const { already } = await ask(() => store.outbox.publish({ ...output, ...said }, null))
    const { items } = await store.outbox.list({ runId }, { limit: 10, cursor: null })
    return [already, items.map(({ name }) => name)]
  },
  retry: async (store, ask) => {
    const delivery = await failed(store)
    return (await ask(() => store.outbox.retry(delivery, 'operator', null))).status
  },
  retryMany: async (store, ask) => {
    const { hand, runId } = await oneDue(store)
    const { id } = await hand.named(runId, 'status')
    await store.outbox.skip(id, 'not wanted', 'operator', null)
    const filter = { status: 'SKIPPED', runId } as const
    return await ask(() => store.outbox.retryMany(filter, 'operator', null))
  },
  skip: async (store, ask) => {
    const { hand, runId } = await oneDue(store)
    const { id } = await hand.named(runId, 'status')
    return (await ask(() => store.outbox.skip(id, 'not wanted', 'operator', null))).status
  },
  confirm: async (store, ask) => {
    const { hand, runId } = await oneDue(store)
    const { id } = await hand.named(runId, 'status')
    return (await ask(() => store.outbox.confirm(id, '7', 'operator', null))).status
  },
  markerKeys: async (store, ask) => {
    const ids = (keys: readonly { readonly id: string }[]) => keys.map(({ id }) => id).join(' ')
    const answered = ids(await ask(() => store.outbox.markerKeys()))
    return answered === ids(await store.outbox.markerKeys())
  },
  rotateMarkerKey: async (store, ask) =>
    (await ask(() => store.outbox.rotateMarkerKey('operator'))).length,
  exportMarkerKeys: async (store, ask) =>
    (await ask(() => store.outbox.exportMarkerKeys('operator'))).length,
  importMarkerKeys: async (store, ask) => {
    const key = { id: `key${nextPull()}`, secret: 'imported', createdAt: 5 }
    return (await ask(() => store.outbox.importMarkerKeys([key], 'operator'))).added.length
  },
  learnAuthor: async (store, ask) => {
    const author = { kind: 'user', githubId: nextPull() } as const
    await ask(() => store.outbox.learnAuthor(author))
    return (await store.outbox.authors()).filter(({ githubId }) => githubId === author.githubId)
  },
  closeForgotten: async (store, ask, query) => {
    const { hand, runId } = await oneDue(store)
    await hand.publish()
    await query(`UPDATE run SET state = 'failed', outcome = 'failed', finished_at = 1
      WHERE id = '${runId}'`)
    const found = await ask(() => store.outbox.closeForgotten(100))
    return [found, (await hand.named(runId, 'status')).announces]
  },
  // The last one that publishes: what was shown is read again from now on, as time passes.
  noteRestore: async (store, ask) => {
    const { hand, runId } = await oneDue(store)
    await ask(() => store.outbox.noteRestore())
    return (await hand.named(runId, 'status')).wait
  },
  closeRest: async (store, ask, change) => {
    const held = await store.claimRun(claimAt(nextPull(), 'a', true), null)
    await store.completeRun(completion(held), null)
    const row = `VALUES ('${held.run?.id}', '')`
    await change(`INSERT INTO unclosed_run (run_id, closed_to) ${row}`)
    return [await ask(() => store.outbox.closeRest()), await store.outbox.closeRest()].join()
  },
}

async function failed(store: Store): Promise<string> {
  const { hand, runId } = await oneDue(store)
  const { id } = await hand.named(runId, 'status')
  await store.outbox.skip(id, 'not wanted', 'operator', null)
  return id
}

/**
 * By the part of the store that has them: the store itself has no name. The outbox comes first:
 * what a start makes, its first key, is still to be made then.
 */
export const scenarios: Readonly<Record<string, Scenarios>> = {
  outbox: outboxVerbs,
  catchUp: catchUpVerbs,
  '': runVerbs,
}

export const allScenarios: readonly [string, Scenario][] = Object.values(scenarios).flatMap(
  (verbs) => Object.entries(verbs),
)
