/**
 * Goal: `why` says what GitHub shows of a run and what it does not show yet, with the reason, what
 * happens next and when, and a command that would be accepted.
 * Method: the store's own verbs bring deliveries into their states; nothing is sent.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { explain, type Why } from '../../../src/audit/why.ts'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { AttemptEnd, Finding } from '../../../src/domain/outbox/outcome.ts'
import { queueName } from '../../../src/domain/outbox/queue.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, holderOf, policy, pullRequestClaim, sha, unique } from '../claims.ts'
import { day, minute, openWorld, second, type OpenStore, type World } from '../world.ts'

const status = `commit status acme/review on ${sha('one').slice(0, 7)}`
const limits = { spacingMs: 0, perMinute: 80, perHour: 500 }
const identity = 'installation:7'
const announced = {
  ...policy,
  announcement: {
    ...policy.announcement,
    anchorPer: 'subject' as const,
    statusContext: 'acme/review',
  },
}
/** Findings that need no write to GitHub. */
const findings = new Set<string>(['budget', 'looked', 'settled', 'scanned', 'look_failed'])
const trouble = { code: 'forbidden', text: 'GitHub answered 403' }

export function whyDeliveries(open: OpenStore): void {
  let world: World
  let claimed: ClaimAnswer
  let runId = ''
  beforeEach(async () => {
    world = await openWorld(open)
    await world.store.upkeep.beat()
    const names = { repo: unique('acme/shown'), pr: 5, head: 'one' }
    claimed = await world.store.runs.claim(pullRequestClaim(names, { policy: announced }), null)
    runId = claimed.run?.id ?? ''
  })
  afterEach(() => world.close())

  const ask = (query = runId): Promise<Why> => explain(world.store, query)
  const deliveryCalled = async (name: string): Promise<Delivery> => {
    const { items } = await world.store.outbox.list({ runId }, { limit: 10, cursor: null })
    const found = items.find((item) => item.name === name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }

  /** Makes one step with every delivery that is due. */
  async function step(
    end: (name: string, delivery: Delivery) => AttemptEnd | Finding,
  ): Promise<void> {
    const { outbox } = world.store
    for (const { delivery, lease } of await outbox.lease({ limit: 10, progressMax: 10 })) {
      const { versionFence, versionSeq, providerId } = delivery
      const came = end(delivery.name, delivery)
      if (findings.has(came.what)) {
        await outbox.record(lease, came as Finding)
        continue
      }
      // Each status of a commit is a new one; none is ever edited.
      const isNew = providerId === null || delivery.channel === 'github-status'
      const action = isNew ? 'create' : 'edit'
      const request = {
        lease,
        action,
        versionFence,
        versionSeq,
        providerId,
        identity,
        limits,
        isTurn: false,
      } as const
      const begun = await outbox.beginAttempt(request)
      if (begun.result !== 'begun') throw new Error(begun.result)
      const report = { identity, httpStatus: null, requestId: null, githubRequestId: null }
      await outbox.endAttempt(lease, { ...report, attempt: begun.attempt, end: came as AttemptEnd })
    }
  }

  const sent = (name: string): AttemptEnd => ({
    what: 'sent',
    providerId: name === 'anchor' ? '77' : '41',
    url: `https://github.test/${name}`,
    hash: name,
  })

  it('a delivery that was not sent yet is reported as being sent', async () => {
    const { headline, awaiting } = await ask()
    expect(headline).toContain(
      `The comment and the ${status} are not on GitHub yet: to be sent now.`,
    )
    expect(awaiting.map(({ what }) => what)).toContain(
      `the sending of the comment and the ${status}`,
    )
  })

  it('a shown delivery is reported once, with its address', async () => {
    await step(sent)
    const { headline, story, actions } = await ask()
    expect(headline).toContain('GitHub shows the comment (https://github.test/anchor) and ')
    expect(headline).toContain(`the ${status} (pending, https://github.test/status).`)
    const texts = story.map(({ text }) => text)
    expect(texts).toEqual([
      'test claimed review of fe05bcd.',
      `On GitHub: comment 77 created; ${status}: pending.`,
    ])
    expect(story.map(({ depth }) => depth)).toEqual([0, 1])
    expect(actions.filter(({ command }) => command?.includes('deliveries'))).toEqual([])
  })

  describe('a delivery that was sent and may have been changed since', () => {
    const lost = { code: 'unanswered', text: 'the answer never came' }
    const changed = { providerId: '77', url: null, current: false }

    /** After a lost answer the output is read again; `read` says what that read finds. */
    async function sendAndRead(waitMs: number, read: () => Finding): Promise<void> {
      await step(() => ({ what: 'in_doubt', trouble: lost, after: null, looks: 1 }))
      for (let again = 0; again < 20; again += 1) {
        await step((name, { status, wait, protocol }) => {
          const isDue = protocol.settle !== undefined && protocol.settle.at <= world.store.now()
          if (status === 'SENT') return isDue ? read() : { what: 'scanned', found: [] }
          if (wait !== 'in_doubt') return sent(name)
          return { what: 'looked', found: [], unverified: false, hash: '', looks: 1 }
        })
        world.clock.move(waitMs)
      }
    }

    const headlines = async (): Promise<readonly string[]> => {
      const { id } = await deliveryCalled('anchor')
      return [(await ask()).headline, (await ask(id)).headline]
    }

    it('is not reported as shown when it was found changed, until it is sent again', async () => {
      await sendAndRead(minute, () => ({ what: 'settled', found: [changed] }))
      for (const headline of await headlines()) {
        expect(headline).toContain('The comment (https://github.test/anchor) was sent, but GitHub')
        expect(headline).toContain('GitHub does not show it like that')
        expect(headline).not.toMatch(/GitHub shows|is shown on GitHub/)
      }
      expect((await ask()).text).toContain(
        'The comment was changed or removed on GitHub; Holdfast leaves it',
      )
      await world.store.runs.complete(completion(claimed), null)
      await step(sent)
      expect((await ask()).headline).toContain('GitHub shows the comment')
    })

    it('is not reported as shown when it could not be read in time', async () => {
      const failed = { what: 'look_failed', trouble, after: null, permanent: false } as const
      await sendAndRead(day, () => failed)
      for (const headline of await headlines()) {
        expect(headline).toContain('it is not known whether GitHub still shows it')
        expect(headline).not.toMatch(/GitHub shows|is shown on GitHub/)
      }
    })

    it('is reported as shown when it was found unchanged', async () => {
      const found = [{ ...changed, current: true }]
      await sendAndRead(minute, () => ({ what: 'settled', found }))
      const [ofRun, ofDelivery] = await headlines()
      expect(ofRun).toContain('GitHub shows the comment')
      expect(ofDelivery).toMatch(/^The comment \(.*\) is shown on GitHub\./)
    })
  })

  it('a status that is pending and then passed is reported as both, under its causes', async () => {
    await step(sent)
    world.clock.move(minute)
    await world.store.runs.complete(completion(claimed), null)
    await step(sent)
    const texts = (await ask()).story.map(({ text }) => text)
    expect(texts).toEqual([
      'test claimed review of fe05bcd.',
      `On GitHub: comment 77 created; ${status}: pending.`,
      'review of fe05bcd finished: passed.',
      `On GitHub: comment 77 updated; ${status}: success.`,
    ])
  })

  it('each report of a run is listed, with what was published of it', async () => {
    await step(sent)
    for (const text of ['reading', 'thinking', 'writing']) {
      const { leaseHash, actor } = holderOf(claimed)
      world.clock.move(minute)
      await world.store.runs.reportStatus({ runId, leaseHash, actor, text }, null)
    }
    world.clock.move(10 * minute)
    await step(sent)
    const texts = (await ask()).story.map(({ text }) => text)
    expect(texts.slice(2)).toEqual([
      'holder reported on fe05bcd: “reading”.',
      'holder reported on fe05bcd: “thinking”.',
      'holder reported on fe05bcd: “writing”.',
      'On GitHub: comment 77 updated.',
    ])
  })

  it('a failed delivery is reported with reason, remedy and retry command', async () => {
    await step((name) => (name === 'anchor' ? { what: 'permanent', trouble } : sent(name)))
    const { headline, actions } = await ask()
    expect(headline).toContain(
      'The comment failed: GitHub refuses it, perhaps because of a missing permission ' +
        '(forbidden); the last answer: GitHub answered 403.',
    )
    expect(actions.map(({ text }) => text).join()).toContain('permission to write')
    const { id } = await deliveryCalled('anchor')
    const command = `holdfast deliveries retry ${id}`
    expect(actions.map((action) => action.command)).toContain(command)
    await world.store.outbox.retry(id, 'test', null)
    expect((await ask()).headline).toContain('The comment is not on GitHub yet: to be sent now.')
  })

  it('a reason that ends in a punctuation mark gets no second one', async () => {
    const asked = { code: 'unavailable', text: 'GitHub answered 503: who are you?' }
    for (let day = 0; day < 8; day += 1) {
      await step(() => ({ what: 'retry', trouble: asked, after: null }))
      world.clock.move(24 * 60 * minute)
    }
    const { text } = await ask()
    expect(text).toContain('the last answer: GitHub answered 503: who are you?')
    expect(text).not.toMatch(/[?.!]\.(\s|$)/)
  })

  it('a delivery that waits for a budget names the identity and the time', async () => {
    const until = world.store.now() + 90 * second
    await world.store.outbox.blockIdentity(identity, until, 'rate_limited', 'publisher')
    await step(() => ({ what: 'budget', until, queue: null }))
    const { headline, awaiting, actions } = await ask()
    const both = `the comment and the ${status}`
    expect(headline).toMatch(
      / yet: GitHub asked installation:7 to wait until \d\d:\d\d:\d\d UTC \(rate_limited\)/,
    )
    const what = `the end of GitHub's limit of installation:7, to send ${both}`
    expect(awaiting).toContainEqual({ what, until })
    expect(actions).toContainEqual(expect.objectContaining({ command: 'holdfast budgets' }))
  })

  it('a delivery behind others of its identity says what is sent first', async () => {
    const until = world.store.now()
    await step((_name, { channel }) => ({
      what: 'budget',
      until,
      queue: queueName(identity, channel),
    }))
    const { headline } = await ask()
    expect(headline).toMatch(/ yet: other writes by [\w :]+ are sent before it/)
  })

  it('a delivery blocked past its deadline says when it fails, and the remedy', async () => {
    const { store, clock } = world
    const [at, until] = [store.now(), store.now() + 23 * day]
    await store.outbox.blockIdentity(identity, until, 'rate_limited', 'publisher')
    await step(() => ({ what: 'budget', until, queue: null }))
    const { headline, awaiting, actions } = await ask()
    const iso = (time: number): string =>
      new Date(time).toISOString().slice(0, 19).replace('T', ' ')
    expect(headline).toContain(
      `to wait until ${iso(until)} UTC (rate_limited). Fails at ${iso(at + 7 * day)} UTC unless`,
    )
    const both = `the comment and the ${status}`
    const limit = "the end of GitHub's limit of installation:7"
    const what = `${limit}, to send ${both}; after this time it fails`
    expect(awaiting).toContainEqual({ what, until: at + 7 * day })
    const command = `holdfast budgets unblock ${identity}`
    expect(actions).toContainEqual(expect.objectContaining({ command }))
    clock.move(7 * day + second)
    await step(() => ({ what: 'budget', until, queue: null }))
    expect((await ask()).headline).toMatch(/The comment and .* failed/)
  })

  it('a delivery that no server sends says so, and how to start a server', async () => {
    world.clock.move(11 * minute)
    const silent = await ask()
    expect(silent.headline).toMatch(/only a server publishes, and no server was active since/)
    expect(silent.actions).toContainEqual(expect.objectContaining({ command: 'holdfast serve' }))
    expect(silent.awaiting).toContainEqual({
      what: `a server that sends the comment and the ${status}`,
      until: null,
    })
    expect(silent.headline).not.toMatch(/to be sent now/)
  })

  it('a delivery in doubt says that GitHub is asked, and what happens next', async () => {
    const lost = { code: 'unanswered', text: 'the answer never came' }
    await step(() => ({ what: 'in_doubt', trouble: lost, after: null, looks: 2 }))
    const { headline, awaiting } = await ask()
    expect(headline).toContain(
      'are not on GitHub yet: it is not known whether it arrived (the answer never came). ' +
        'Holdfast checks GitHub now and sends it again only if it is not there.',
    )
    expect(awaiting.map(({ what }) => what).join()).toContain('a check on GitHub for the comment')
  })

  it('a held delivery names the commands for a person, and each is accepted', async () => {
    const lost = { code: 'unanswered', text: 'the answer never came' }
    await step(() => ({ what: 'in_doubt', trouble: lost, after: null, looks: 2 }))
    await step(() => ({ what: 'looked', found: [], unverified: true, hash: '', looks: 2 }))
    const { id } = await deliveryCalled('anchor')
    const { headline, awaiting, actions } = await ask()
    expect(headline).toContain('a person has to decide')
    const what = `a person's decision about the comment and the ${status}`
    expect(awaiting).toContainEqual({ what, until: null })
    const commands = actions.map(({ command }) => command)
    expect(commands).toContain('holdfast keys import FILE')
    expect(commands.join()).not.toContain('confirm')
    expect(commands).toContain(`holdfast deliveries skip ${id} --reason TEXT`)
    await world.store.outbox.skip(id, 'nobody wants it', 'test', null)
    expect((await ask()).headline).toContain('The comment was skipped: “nobody wants it”.')
  })

  async function publish(name: string): Promise<string> {
    const { leaseHash } = holderOf(claimed)
    const output = {
      name,
      channel: 'github-comment',
      content: { form: 'text', body: name },
    } as const
    const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
    return (await world.store.outbox.publish(request, null)).delivery.id
  }

  it('a delivery behind earlier messages of its run names the one it waits for', async () => {
    const first = await publish('part-1')
    const second = await publish('part-2')
    const third = await publish('part-3')
    const asked = await ask(third)
    expect(asked.headline).toContain(`: sent after the comment part-2 (${second}), an earlier`)
    const what = `the comment part-2 (${second}); the comment part-3 is sent after it`
    expect(asked.awaiting).toEqual([{ what, until: null }])
    const { headline } = await ask()
    expect(headline).toContain(
      `part-2 is not on GitHub yet: sent after the comment part-1 (${first})`,
    )
    expect(headline).toContain(
      `part-3 is not on GitHub yet: sent after the comment part-2 (${second})`,
    )
  })

  it.each(['superseded', 'cancelled'] as const)(
    'a message published before its run was %s is still sent, and why says so',
    async (state) => {
      const id = await publish('findings')
      if (state === 'cancelled') await world.store.runs.cancel(runId, 'test', null)
      else {
        const names = { repo: claimed.run?.repo ?? '', pr: 5, head: 'two' }
        await world.store.runs.claim(pullRequestClaim(names, { policy: announced }), null)
      }
      const { text } = await ask(id)
      expect(text).toContain(`Published before its run was ${state}, so still sent`)
      await step(() => ({ what: 'sent', providerId: '7', url: null, hash: 'h' }))
      expect((await deliveryCalled('findings')).status).toBe('SENT')
      expect((await ask(id)).text).not.toContain('still sent')
    },
  )

  it('a run that is never announced says so, and offers no command', async () => {
    await world.store.runs.cancel(runId, 'test', null)
    const { headline, actions } = await ask()
    expect(headline).toContain('before anything was shown (never_announced)')
    expect(actions.filter(({ command }) => command?.includes('deliveries'))).toEqual([])
  })

  it('a question by delivery id gives the same answer as its pull request', async () => {
    await step(sent)
    await world.store.runs.complete(completion(claimed), null)
    await step((name) => (name === 'anchor' ? { what: 'permanent', trouble } : sent(name)))
    const { id } = await deliveryCalled('anchor')
    const why = await ask(id)
    const { repo } = claimed.run ?? { repo: '' }
    expect(why).toMatchObject({ kind: 'delivery', subject: `${repo}#5`, query: id })
    expect(why.headline).toContain('The comment failed')
    expect(why.story.map(({ type }) => type)).toEqual([
      ...['run.claimed', 'delivery.sent', 'run.succeeded', 'delivery.failed'],
    ])
    expect((await ask(`${repo}#5`)).headline).toContain('The comment failed')
  })

  describe('the audit', () => {
    it('can be filtered by delivery', async () => {
      await step(sent)
      const { id } = await deliveryCalled('status')
      const page = { limit: 10, cursor: null }
      const { items } = await world.store.audit.list({ deliveryId: id }, page)
      expect(items.map(({ type, deliveryId }) => [type, deliveryId])).toEqual([
        ['delivery.sent', id],
      ])
      const { rows } = await world.store.audit.after(0, { deliveryId: id }, 10)
      expect(rows).toEqual(items)
    })
  })
}
