/**
 * Goal: every audit row names what led to it, so that a reader need not guess it from neighbours.
 * Method: each case plays a story and names, for each row, the row that it expects as its cause;
 * all rows of the store are checked against the table in `causes.ts` as well.
 */
import { expect, it } from 'vitest'
import type { AuditRow, AuditType } from '../../../src/domain/audit.ts'
import { purgeLimits } from '../../../src/runs/purge.ts'
import { rowsWithCauses } from './causes.ts'
import { completion, grant, holderOf, leaseMs } from '../claims.ts'
import { noAnswer, sentEnd } from '../outbox/manual-publisher.ts'
import { onlyAnchor, onlyStatus, useOutbox } from '../outbox/outbox-world.ts'
import { claiming, decided, newWebhook, noting, received } from '../inbox/webhooks.ts'
import { day, minute, second, type OpenStore } from '../world.ts'

export function auditCauses(open: OpenStore): void {
  const { world, publisher, make, move } = useOutbox(open)

  const rows = () => rowsWithCauses(world.store)

  /** Lines `type of cause → type`, in the order of ids. */
  async function causeLines(
    isWanted: (row: AuditRow) => boolean = () => true,
  ): Promise<readonly string[]> {
    const all = await rows()
    const typeOf = (id: number | null): string =>
      all.find((row) => row.id === id)?.type ?? 'nothing'
    return all.filter(isWanted).map(({ type, causeId }) => `${typeOf(causeId)} → ${type}`)
  }

  async function newest(type: AuditType): Promise<AuditRow> {
    const found = (await rows()).findLast((row) => row.type === type)
    if (found === undefined) throw new Error(`there is no ${type}`)
    return found
  }

  it('a webhook leads to its claim, the claim to what it supersedes and shows', async () => {
    const subject = make({ announcement: onlyAnchor })
    const first = await received(world.store, { repo: subject.repo })
    await world.store.inbox.finish(decided(first, claiming(subject.claimOf('a'))))
    await publisher.publish()
    const leased = await subject.lease()
    const { runId, leaseHash } = holderOf(leased!)
    const report = { runId, leaseHash, text: 'reading', actor: 'holder' }
    await world.store.runs.reportStatus(report, null)
    move(minute)
    await publisher.publish()
    const next = await received(world.store, { repo: subject.repo, action: 'synchronize' })
    await world.store.inbox.finish(decided(next, claiming(subject.claimOf('b'))))
    move(minute)
    await publisher.publish()
    expect(await causeLines()).toEqual([
      'nothing → webhook.received',
      'webhook.received → run.claimed',
      'webhook.received → webhook.processed',
      'run.claimed → delivery.sent',
      'delivery.sent → run.anchor.created',
      'run.claimed → run.leased',
      'run.leased → run.agent.status_reported',
      'run.agent.status_reported → delivery.sent',
      'delivery.sent → delivery.coalesced',
      'delivery.sent → run.service_message.updated',
      'nothing → webhook.received',
      'webhook.received → run.claimed',
      'run.claimed → run.superseded',
      'run.claimed → run.anchor.taken_over',
      'webhook.received → webhook.processed',
      'run.claimed → delivery.sent',
      'delivery.sent → delivery.coalesced',
      'delivery.sent → run.service_message.updated',
    ])
  })

  it('webhooks that are decided at once have separate causes', async () => {
    const subjects = [make(), make(), make()]
    const entries = await Promise.all(subjects.map(({ repo }) => received(world.store, { repo })))
    await Promise.all(
      entries.map(async (entry, i) => {
        const claim = subjects[i]!.claimOf('a', { webhookId: entry.webhookId })
        const acts = [claiming(claim), noting('docs', 'ignored', 'filtered')]
        await world.store.inbox.finish(decided(entry, ...acts))
      }),
    )
    const all = await rows()
    for (const entry of entries) {
      const own = all.filter((row) => row.inboxId === entry.id)
      const arrival = own.find(({ type }) => type === 'webhook.received')
      const claim = all.find(({ type, data }) => {
        return type === 'run.claimed' && data['webhook_id'] === entry.webhookId
      })
      expect(claim?.causeId).toBe(arrival?.id)
      expect(own.at(-1)).toMatchObject({ type: 'webhook.processed', causeId: arrival?.id })
    }
  })

  it('claims of callers that share a transaction have no cause', async () => {
    const subjects = [make(), make(), make(), make()]
    for (const subject of subjects) await subject.claim('a')
    await Promise.all(subjects.map((subject) => subject.claim('b')))
    const all = await rows()
    for (const subject of subjects) {
      const [claim] = all.filter(({ runId, type }) => type === 'run.claimed' && runId !== null)
      const b = await subject.run('b')
      const gone = all.find(({ type, data }) => {
        return type === 'run.superseded' && data['by_run_id'] === b.id
      })
      expect(gone?.causeId).toBe(b.fence)
      expect(claim?.causeId).toBeNull()
    }
  })

  it('each run type that a webhook starts has the webhook as its cause', async () => {
    const [review, docs] = [make(), make()]
    const entry = await received(world.store, { repo: review.repo })
    const acts = [claiming(review.claimOf('a')), claiming(docs.claimOf('a'))]
    await world.store.inbox.finish(decided(entry, ...acts))
    expect(await causeLines(({ type }) => type === 'run.claimed')).toEqual([
      'webhook.received → run.claimed',
      'webhook.received → run.claimed',
    ])
  })

  it('a repeat and a postponement name the arrival, a replay names the request', async () => {
    const webhook = newWebhook()
    const { entry } = await world.store.inbox.receive(webhook)
    await world.store.inbox.receive(webhook)
    await world.store.inbox.postpone(entry.id, world.store.now() + second, 'GitHub is away')
    await world.store.inbox.finish(decided(entry))
    await world.store.inbox.replay(entry.id, 'admin', null)
    await world.store.inbox.finish(decided(entry))
    await world.store.inbox.receive(webhook)
    expect(await causeLines()).toEqual([
      'nothing → webhook.received',
      'webhook.received → webhook.duplicate',
      'webhook.received → webhook.postponed',
      'webhook.received → webhook.ignored',
      'nothing → operator.replay_requested',
      'operator.replay_requested → webhook.ignored',
      'webhook.received → webhook.duplicate',
    ])
  })

  it('a closed pull request causes the end of its runs, and that the new output', async () => {
    const subject = make({ announcement: onlyStatus })
    await subject.claim('a')
    await publisher.publish()
    const entry = await received(world.store, { repo: subject.repo, repoId: null })
    const act = { act: 'cancel', type: subject.type, repo: subject.repo, pr: 5 } as const
    await world.store.inbox.finish({ ...decided(entry, act), looked: true })
    await publisher.publish()
    expect(await causeLines()).toEqual([
      'nothing → run.claimed',
      'run.claimed → delivery.sent',
      'nothing → webhook.received',
      'webhook.received → run.cancelled',
      'webhook.received → webhook.processed',
      'run.cancelled → delivery.sent',
    ])
  })

  it('the next holder names the release, the sweeper names the lost holder’s row', async () => {
    const subject = make({ attempts: 2, announcement: onlyStatus })
    await subject.claim('a', { lease: null })
    const first = await subject.lease()
    await world.store.runs.release(holderOf(first!), null)
    await subject.lease()
    const sweep = async () => {
      move(leaseMs + second)
      for (const id of await world.store.runs.due(10)) await world.store.runs.sweep(id)
    }
    await sweep()
    await subject.lease()
    await sweep()
    expect(await causeLines()).toEqual([
      'nothing → run.claimed',
      'run.claimed → run.leased',
      'run.leased → run.released',
      'run.released → run.leased',
      'run.leased → run.heartbeat_lost',
      'run.heartbeat_lost → run.leased',
      'run.leased → run.failed',
    ])
  })

  it('a claim that replaces a lost holder names that holder', async () => {
    const subject = make()
    const lost = await subject.claim('a')
    move(leaseMs + second)
    const { run } = await subject.claim('a')
    const row = await newest('run.reclaimed')
    expect(row).toMatchObject({ id: run?.fence, causeId: lost.run?.fence })
  })

  it('the end of a run causes the next run of its queue and a requested rerun', async () => {
    const subject = make({ kind: 'job' })
    const held = await subject.claim('a')
    await subject.claim('b', { lease: null })
    await world.store.runs.rerun(held.run!.id, 'admin', null)
    await subject.complete(held)
    expect(await causeLines()).toEqual([
      'nothing → run.claimed',
      'nothing → run.claimed',
      'nothing → operator.rerun_requested',
      'run.claimed → run.succeeded',
      'run.succeeded → run.dequeued',
      'run.succeeded → run.claimed',
    ])
  })

  it('each row of a delivery names the row of the version that is to be shown', async () => {
    const subject = make({ announcement: onlyStatus })
    const held = await subject.claim('a')
    const unsure = await publisher.leaseNamed('status')
    await publisher.send(unsure, noAnswer)
    await world.store.runs.complete(completion(held), null)
    const { id } = await publisher.named(held.run!.id, 'status')
    await world.store.outbox.skip(id, 'not wanted', 'admin', null)
    await world.store.outbox.retry(id, 'admin', null)
    await publisher.send(await publisher.leaseNamed('status'))
    expect(await causeLines()).toEqual([
      'nothing → run.claimed',
      'run.claimed → delivery.in_doubt',
      'run.claimed → run.succeeded',
      'nothing → operator.delivery_skipped',
      'nothing → operator.delivery_retried',
      'operator.delivery_retried → delivery.sent',
      'delivery.sent → delivery.coalesced',
    ])
  })

  it('several deliveries that are retried together each name their own request', async () => {
    const subject = make()
    await subject.claim('a')
    const trouble = { code: 'forbidden', text: 'no' }
    for (const leased of await publisher.lease())
      await publisher.send(leased, { what: 'permanent', trouble })
    await world.store.outbox.retryMany({}, 'admin', null)
    await publisher.publish()
    const all = await rows()
    for (const sent of all.filter(({ type }) => type === 'delivery.sent')) {
      const request = all.find(({ type, deliveryId }) => {
        return type === 'operator.delivery_retried' && deliveryId === sent.deliveryId
      })
      const [first] = all.filter(({ causeId }) => causeId === request?.id)
      expect(first?.deliveryId).toBe(sent.deliveryId)
      expect([request?.id, first?.id]).toContain(sent.causeId)
    }
  })

  it('a limit is caused by the attempt that hit it, and causes the delay', async () => {
    const subject = make({ announcement: onlyStatus })
    await subject.claim('a')
    const trouble = { code: 'rate_limited', text: 'too many' }
    const until = world.store.now() + minute
    await publisher.send(await publisher.leaseNamed('status'), {
      what: 'rate_limited',
      until,
      trouble,
    })
    move(2 * minute)
    await publisher.publish()
    const [claimed, blocked, ...later] = await causeLines()
    expect([claimed, blocked]).toEqual(['nothing → run.claimed', 'run.claimed → budget.blocked'])
    expect(later.at(-1)).toBe('run.claimed → delivery.sent')
  })

  it('what a run published names its holder, and the end of the run closes it', async () => {
    const subject = make({ announcement: onlyStatus })
    const held = await subject.claim('a')
    const { runId, leaseHash } = holderOf(held)
    const rights = { channels: ['github-check'], contexts: ['lint'], labels: [] } as const
    await world.store.outbox.publish(
      {
        ...{ runId, leaseHash, name: 'lint', channel: 'github-check', actor: 'holder' },
        content: { name: 'lint', status: 'in_progress' },
        rightsOf: () => ({ ...rights, approve: false, reserved: [] }),
      },
      null,
    )
    const made = await publisher.named(runId, 'lint')
    expect(made.causeId).toBe(held.run?.fence)
    await world.store.runs.complete(completion(held, 'failed'), null)
    expect((await publisher.named(runId, 'lint')).causeId).toBe((await newest('run.failed')).id)
  })

  it('revoking a token causes the end of its leases', async () => {
    const wanted = { scope: 'worker', name: 'bot', userId: null, secret: 'x', actor: 'admin' }
    const { token } = await world.store.tokens.create(wanted, null)
    const subject = make()
    await subject.claim('a', { lease: grant({ token: { id: token.id, until: null } }) })
    await world.store.tokens.revoke(token.id, 'admin')
    expect(await causeLines()).toContain('operator.token_deleted → run.lease_revoked')
  })

  it('learning that two names are one repository causes all that follows from it', async () => {
    const [one, other] = [make(), make()]
    await world.store.repositories.learn(one.repo, 77, 'now', 'github')
    await one.claim('a')
    await world.store.runs.claim({ ...one.claimOf('b'), repo: other.repo }, null)
    await world.store.repositories.learn(other.repo, 77, 'now', 'github')
    const merged = await newest('repository.merged')
    expect(await causeLines((row) => row.id === merged.id)).toEqual([
      'repository.renamed → repository.merged',
    ])
    const after = (await rows()).filter(({ id }) => id > merged.id)
    expect(after.map(({ type }) => type)).toContain('run.superseded')
    for (const row of after) expect(row.causeId).toBe(merged.id)
  })

  it('a restore causes the doubt about deliveries and what is found later', async () => {
    await world.store.upkeep.recordMode('live')
    const subject = make({ announcement: onlyStatus })
    await subject.claim('a')
    await world.store.outbox.noteRestore()
    const restored = await newest('store.restored')
    expect(await newest('delivery.in_doubt')).toMatchObject({ causeId: restored.id })
    const leased = await publisher.leaseNamed('status')
    await publisher.send(leased, sentEnd())
    expect(await newest('delivery.sent')).toMatchObject({ causeId: restored.id })
  })

  it('an answer about the newest head names the decision that asked for it', async () => {
    const subject = make()
    const { run, decisionId } = await subject.claim('a')
    const { headSha, baseSha, id: runId } = run!
    const asked = { runId, fence: decisionId, headSha: headSha!, baseSha: baseSha! }
    await world.store.runs.confirmHead({ ...asked, at: world.store.now(), actor: 'head-check' })
    expect(await newest('run.head_verified')).toMatchObject({ causeId: decisionId })
  })

  it('claims at the same time never name each other’s causes', async () => {
    const subject = make()
    const claims = Array.from({ length: 8 }, (_, i) => subject.claim(i % 2 === 0 ? 'a' : 'b'))
    await Promise.all(claims)
    const superseded = (await rows()).filter(({ type }) => type === 'run.superseded')
    for (const { causeId, data } of superseded) {
      const cause = (await rows()).find(({ id }) => id === causeId)
      expect(cause?.runId).toBe(data['by_run_id'])
    }
  })

  it('a cause that is past its retention is still named', async () => {
    const subject = make()
    const held = await subject.claim('a')
    move(91 * day)
    const limits = { finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 }
    await world.store.upkeep.purge(purgeLimits(limits), 'purge')
    await world.store.runs.complete(completion(held), null)
    const { items } = await world.store.audit.list({}, { limit: 10, cursor: null })
    expect(items.map(({ type }) => type)).toEqual(['run.succeeded'])
    expect(items[0]?.causeId).toBe(held.run?.fence)
  })
}
