/**
 * Goal: `why` says what happened, correctly and in words that a tired person understands.
 * Method: webhooks go through the real intake, runs through the real verbs; the sentences are
 * compared word for word.
 */
import { describe, expect, it } from 'vitest'
import { explain } from '../../../src/audit/why.ts'
import type { GitHub } from '../../../src/github.ts'
import { sha } from '../claims.ts'
import { StoryWorld } from './story-world.ts'
import { TestSubject } from '../test-subject.ts'
import { day, hour, minute, useWorld, type OpenStore } from '../world.ts'

const short = (head: string): string => sha(head).slice(0, 7)
const commands = ({
  actions,
}: {
  readonly actions: readonly { readonly command: string | null }[]
}) => actions.flatMap(({ command }) => (command === null ? [] : [command]))

export function why(open: OpenStore): void {
  const world = useWorld(open)

  describe('about a pull request', () => {
    it('that waits for a worker, it says since when, until when, and what then', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const [run] = await story.runs()
      const why = await story.why(story.thread.toUpperCase())
      expect(why).toMatchObject({ kind: 'pull_request', subject: story.thread })
      expect(why.headline).toMatch(
        new RegExp(
          `^review of ${story.thread} at ${short('a')} is waiting for a worker since ` +
            String.raw`\d\d:\d\d:\d\d UTC; no worker took it yet\.$`,
        ),
      )
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
      ])
      expect(why.story.map(({ depth }) => depth)).toEqual([0, 1])
      expect(why.story[1]).toMatchObject({ type: 'run.claimed', runId: run?.id })
      const what = `a worker for review of ${short('a')}; without one it fails (no_worker)`
      expect(why.awaiting).toEqual([{ what, until: run?.dueAt }])
      expect(commands(why)).toEqual([`holdfast runs cancel ${run?.id}`])
      expect(why.text).toContain(why.headline)
      expect(why.text).toContain(`until `)
    })

    it('whose head moved, it says what caused what, and counts repeats', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const push = { action: 'synchronize', head: 'b', guid: crypto.randomUUID() }
      for (let times = 0; times < 4; times += 1) await story.send(push)
      const [b, a] = await story.runs()
      expect(await story.story()).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
        'mona pushed.',
        `review of ${short('b')} started and waits for a worker.`,
        `review of ${short('a')} was superseded by ${short('b')}.`,
        'GitHub sent this event again 3 times; nothing was done twice.',
      ])
      expect(await story.story(a?.id)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
        `review of ${short('a')} was superseded by ${short('b')}.`,
      ])
      const ofA = await story.why(a?.id)
      expect(ofA.headline).toContain(`was superseded by ${short('b')} at `)
      expect(commands(ofA)).toEqual([`holdfast why ${b?.id}`])
    })

    it('whose workers were lost, it says that no other worker came', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      await story.lease('w7')
      world().clock.move(2 * minute)
      await story.sweep()
      const lost = await story.why()
      expect(lost.headline).toMatch(
        /is waiting for a worker since .*; attempt 2 of 3, after 1 lost\./,
      )
      world().clock.move(2 * hour)
      await story.sweep()
      const why = await story.why()
      expect(why.headline).toMatch(
        / failed at .*: no worker took it within 1 hour \(no_worker\)\.$/,
      )
      const [run] = await story.runs()
      expect(why.story.slice(2).map(({ text }) => text)).toEqual([
        `Worker w7 took review of ${short('a')}.`,
        `Worker w7 was silent for too long; review of ${short('a')} waits for the next worker.`,
        `review of ${short('a')} failed (attempt 2): no worker took it within 1 hour (no_worker).`,
      ])
      expect(commands(why)).toEqual([`holdfast runs rerun ${run?.id}`])
    })

    it('that is worked on, it names the next heartbeat, the deadline and the rerun', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const held = await story.lease('w7')
      await story.store.runs.rerun(held.run.id, 'admin', null)
      const why = await story.why()
      expect(why.headline).toMatch(/ is being worked on by worker w7 since \d\d:\d\d:\d\d UTC\.$/)
      expect(why.awaiting).toEqual([
        {
          what:
            `the next heartbeat of worker w7 for review of ${short('a')}; without it, ` +
            'it waits for the next worker (attempt 1 of 3)',
          until: held.run.leaseExpiresAt,
        },
        {
          what: `the end of review of ${short('a')}; after this time it fails (timeout)`,
          until: held.run.deadlineAt,
        },
        {
          what:
            `the end of this round of review of ${short('a')}; then the requested rerun ` +
            'starts',
          until: null,
        },
      ])
      expect(commands(why)).toEqual([`holdfast runs cancel ${held.run.id}`])
      await story.complete(held)
      expect((await story.story()).slice(3)).toEqual([
        `The admin asked for review of ${short('a')} again; it starts when this round ends.`,
        `review of ${short('a')} finished: passed.`,
        `review of ${short('a')} started again (round 2) and waits for a worker, as ` +
          'somebody asked.',
      ])
    })

    it('that is a draft, it says why nothing started, and what starts it', async () => {
      const story = new StoryWorld(world())
      await story.send({ draft: true })
      await story.send({ action: 'labeled' })
      const why = await story.why()
      expect(why.headline).toMatch(
        /^No run was started for .*, because the pull request is a draft\.$/,
      )
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request: nothing was started, because the pull request is a draft.',
        'mona put a label on the pull request: nothing was started, because no run type listens ' +
          'to this event.',
      ])
      expect(why.actions).toEqual([
        { text: 'Mark the pull request ready for review on GitHub', command: null },
      ])
    })

    it('that was closed, it says so', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const { inboxId } = await story.send({ action: 'closed', sender: 'hubot' })
      const why = await story.why()
      expect(why.headline).toMatch(/ was cancelled at .*, because the pull request was closed\.$/)
      expect(why.story.slice(-2).map(({ text }) => text)).toEqual([
        'hubot closed the pull request.',
        `review of ${short('a')} was cancelled, because the pull request was closed.`,
      ])
      const closing = await story.why(inboxId)
      expect(closing.headline).toMatch(/\. It cancelled review of \w+ \(now cancelled\)\.$/)
      expect(closing.story).toEqual(why.story.slice(-2))
    })

    it('whose rule gave its own reason, it quotes the reason on one line', async () => {
      const when = () => 'not\n<b>today</b>'
      const story = new StoryWorld(world(), { review: { on: { pull_request: ['opened'] }, when } })
      await story.send({ head: 'a' })
      const why = await story.why()
      expect(why.headline).toMatch(/ was skipped at .* said “not ‹b›today‹\/b›”\.$/)
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} was skipped, because its rule (when) said “not ‹b›today‹/b›”.`,
      ])
    })

    it('whose sender has too low a role, it says that GitHub was asked again', async () => {
      let isAway = true
      const github: Partial<GitHub> = {
        ownAccount: () => Promise.resolve({ login: 'holdfast', id: 99, appId: 12, kind: 'app' }),
        roleOf: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve('read')),
      }
      const types = { review: { on: { pull_request: ['opened'] }, by: 'write' } } as const
      const story = new StoryWorld(world(), types, github)
      const { inboxId } = await story.send()
      const waiting = await story.why()
      expect(waiting.headline).toMatch(
        /\. Holdfast has not decided on it yet: GitHub could not be asked\.$/,
      )
      const [entry] = await story.webhooks()
      expect(waiting.awaiting).toEqual([
        {
          what:
            'the next try to decide on a webhook (GitHub could not be asked): ' +
            'mona opened the pull request',
          until: entry?.dueAt,
        },
      ])
      world().clock.move(minute)
      isAway = false
      await story.process()
      const refused = 'mona has the role read; write is needed'
      const why = await story.why(inboxId)
      expect(why).toMatchObject({ kind: 'webhook', subject: story.thread })
      expect(why.headline).toContain(`(${refused}).`)
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request.',
        'It could not be decided yet: GitHub could not be asked.',
        "Nothing was started, because its sender's role is too low for the run type review " +
          `(${refused}).`,
      ])
      expect(commands(why)).toEqual([`holdfast inbox replay ${inboxId}`])
    })

    it('of several run types, it names each, also the one whose rule failed', async () => {
      const on = { pull_request: ['opened', 'ready_for_review'] }
      const when = () => {
        throw new Error('boom')
      }
      const early = { on: { pull_request: ['opened'] } }
      const types = { review: early, docs: { ...early, when }, lint: { on } }
      const story = new StoryWorld(world(), types)
      const { inboxId } = await story.send({ head: 'a', draft: true })
      const why = await story.why()
      const broke = 'because the rule (when) of the run type docs failed (boom)'
      expect(why.headline).toMatch(/^review of .* no worker took it yet\. mona opened /)
      expect(why.headline).toContain(`. It could not be decided for docs, ${broke}.`)
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
        `docs: it could not be decided, ${broke}.`,
        'lint: nothing was started, because the pull request is a draft.',
      ])
      expect(commands(why)).toContain(`holdfast inbox replay ${inboxId}`)
      const fix = 'Fix "when" of the run type docs and restart'
      expect(why.actions).toContainEqual({ text: fix, command: null })
    })

    it('that programs claimed, it names repeats, a lost claimer and a late event', async () => {
      const subject = new TestSubject(world())
      const thread = `${subject.repo}#5`
      const one = `${subject.type} of ${short('one')}`
      await subject.claim('one', { action: 'opened', actor: 'token:tok_1' })
      for (let times = 0; times < 3; times += 1) await subject.claim('one')
      world().clock.move(3 * minute)
      const lost = await explain(world().store, thread)
      expect(lost.headline).toMatch(/, but its lease ended 2 minutes ago without a heartbeat\./)
      await subject.claim('one')
      await subject.claim('one')
      await subject.claim('two', { eventAt: 5 })
      await subject.claim('zero', { eventAt: 1 })
      const why = await explain(world().store, thread)
      expect(why.story.map(({ text }) => text)).toEqual([
        `tok_1 claimed ${one}.`,
        `test asked for ${one}, which already exists, so nothing was started (3 times).`,
        `test took ${one} over, because its holder was silent for too long (attempt 2).`,
        `test asked for ${one}, which already exists, so nothing was started.`,
        `test claimed ${subject.type} of ${short('two')}.`,
        `${one} was superseded by ${short('two')}.`,
        `Nothing was started for ${subject.type} of ${short('zero')}: a newer commit was known.`,
      ])
    })

    it('that is unknown, it answers not found, with what to check', async () => {
      const asked = explain(world().store, 'acme/unheard#9')
      await expect(asked).rejects.toMatchObject({
        code: 'nothing_known',
        message: expect.stringMatching(/^Nothing is known about acme\/unheard#9: no webhook/),
        hint: expect.stringContaining('holdfast doctor'),
      })
    })

    it('whose run was removed, it says so, and reports what is left', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const held = await story.lease('w7')
      await story.complete(held)
      world().clock.move(40 * day)
      const limits = {
        finishedMs: 30 * day,
        supersededMs: 7 * day,
        auditMs: 90 * day,
        eventMs: 7 * day,
      }
      while ((await story.store.upkeep.purge(limits, 'purge')).more);
      const why = await story.why()
      expect(why.headline).toBe(
        `review at ${short('a')} was removed, because it is past its retention; it was succeeded.`,
      )
      expect(why.story.at(-1)?.text).toMatch(
        /was removed, because it was past its retention; it was succeeded/,
      )
      const ofRun = await story.why(held.run.id)
      expect(ofRun.headline).toMatch(
        /^Run run_\w+ was removed, because it is past its retention; it was succ/,
      )
      expect(commands(ofRun)).toEqual([])
      world().clock.move(100 * day)
      while ((await story.store.upkeep.purge(limits, 'purge')).more);
      await expect(story.why(held.run.id)).rejects.toMatchObject({ code: 'run_not_found' })
    })
  })

  describe('about a webhook', () => {
    it('by its id or GUID, it says what it led to, and the state of that', async () => {
      const story = new StoryWorld(world())
      const guid = crypto.randomUUID()
      const { inboxId } = await story.send({ head: 'a', guid })
      const byGuid = await story.why(guid.toUpperCase())
      expect(byGuid.headline).toMatch(
        new RegExp(`^mona opened .*\\. It started review of ${short('a')} \\(now pending\\)\\.$`),
      )
      expect((await story.why(inboxId)).story).toEqual(byGuid.story)
    })

    it('that repeats an event under another GUID, it points to the first', async () => {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      const updated = new Date(story.store.now()).toISOString()
      const payload = {
        pull_request: {
          number: story.number,
          state: 'open',
          updated_at: updated,
          head: { sha: sha('a') },
          base: { sha: sha('main') },
        },
      }
      const { inboxId, decision } = await story.send({ head: 'a', payload })
      expect(decision).toBe('duplicate')
      const why = await story.why(inboxId)
      expect(why.headline).toMatch(/\. The same event had come before; nothing was done twice\.$/)
      expect(why.story.map(({ text }) => text)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
        'GitHub sent this event again; nothing was done twice.',
      ])
      expect(commands(why)).toEqual([])
    })

    it('that was replayed, it reports both decisions', async () => {
      const story = new StoryWorld(world())
      const { inboxId } = await story.send({ head: 'a' })
      world().clock.move(minute)
      await story.replay(inboxId)
      expect(await story.story(inboxId)).toEqual([
        'mona opened the pull request.',
        `review of ${short('a')} started and waits for a worker.`,
        'The admin asked Holdfast to decide this webhook again.',
        `review of ${short('a')} already exists, so nothing was started.`,
      ])
    })

    it('that is unknown, it answers not found; an invalid question is refused', async () => {
      const { store } = world()
      const unknown = { code: 'inbox_entry_not_found' }
      await expect(explain(store, crypto.randomUUID())).rejects.toMatchObject(unknown)
      await expect(explain(store, 'inb_0000')).rejects.toMatchObject(unknown)
      await expect(explain(store, 'run_0000')).rejects.toMatchObject({ code: 'run_not_found' })
      await expect(explain(store, 'del_0000')).rejects.toMatchObject({
        code: 'delivery_not_found',
      })
      await expect(explain(store, 'hello')).rejects.toMatchObject({ field: 'q' })
    })
  })

  describe('about a job', () => {
    it('in a queue, it says which run it waits for', async () => {
      const subject = new TestSubject(world(), { kind: 'job' })
      const first = await subject.claim('one')
      const second = await subject.claim('two', { lease: null })
      const why = await explain(world().store, second.run?.id ?? '')
      const ahead = `${subject.type} of ${subject.name}:one`
      const two = `${subject.type} of ${subject.name}:two`
      expect(why.headline).toBe(
        `${subject.type} of ${subject.name} (${subject.name}:two) is waiting in line behind ` +
          `${ahead} (${first.run?.id}), which is running.`,
      )
      expect(why.awaiting[0]).toEqual({
        what: `the end of ${ahead} (${first.run?.id}); then ${two} starts`,
        until: null,
      })
      expect(commands(why)).toEqual([`holdfast runs cancel ${second.run?.id}`])
      await subject.complete(first, 'failed')
      const whyAfter = await explain(world().store, second.run?.id ?? '')
      expect(whyAfter.story.map(({ text }) => text)).toEqual([
        `${two} waits in line behind another run.`,
        `${two} is next in line and waits for a worker.`,
      ])
    })
  })
}
